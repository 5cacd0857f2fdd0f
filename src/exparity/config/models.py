"""Blocks and keys of the config, with their types, defaults and meaning.

Checks, the tables of the docs and the JSON schema for editors come from these classes. Models and
their training are described in :mod:`exparity.models.spec`, options of methods, metrics and the
like by their signatures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from annotated_types import MinLen
from pydantic import AfterValidator, WithJsonSchema, model_validator

from exparity.core import settings
from exparity.core.errors import did_you_mean, shown
from exparity.core.flags import Budget, Range, Seed
from exparity.core.settings import Controls, Report
from exparity.core.validation import DISTINCT, Open, Settings, Text
from exparity.data import DATASETS
from exparity.methods import METHODS, Explains
from exparity.metrics import METRICS
from exparity.models.catalogue import known_models
from exparity.models.placement import Placement
from exparity.models.spec import ModelSettings, TrainingSettings
from exparity.stats.multiplicity import FamilyId

LEFT_OUT: Any = None
"""Default of a key that may be left out, but not be null."""
MAX_ID = 64
"""Longest id in the config; ids become names of files."""


def _check_id(registered_ids: Callable[[], Iterable[str]], written: str) -> str:
    """Refuse text that is not an id, and suggest the registered one."""
    if re.fullmatch(r"[a-z][a-z0-9_]*", written) and len(written) <= MAX_ID:
        return written
    meant = re.sub(r"[^a-z0-9]+", "_", written.lower()).strip("_")
    hint = did_you_mean(meant, registered_ids())
    raise ValueError(
        f"{shown(written)} is not an id: use lower-case letters, digits and underscores, at most "
        f"{MAX_ID}" + (f"; {hint}" if hint.startswith("did you mean") else "")
    )


_ID = WithJsonSchema({"type": "string", "pattern": f"^[a-z][a-z0-9_]{{0,{MAX_ID - 1}}}$"})
Id = Annotated[str, AfterValidator(partial(_check_id, tuple)), _ID]
DatasetId = Annotated[str, AfterValidator(partial(_check_id, DATASETS.ids)), _ID]
ModelId = Annotated[str, AfterValidator(partial(_check_id, known_models)), _ID]
MethodId = Annotated[str, AfterValidator(partial(_check_id, METHODS.ids)), _ID]
MetricId = Annotated[str, AfterValidator(partial(_check_id, METRICS.ids)), _ID]
Size = Annotated[int, Range(at_least=2)] | None
Names = Annotated[Sequence[str], MinLen(1)]
NonEmpty = Annotated[str, Text(r"[\s\S]+", rule="name one, or leave it out")]


class Engine(Settings):
    """Use of the machine by jobs. Changing it reruns nothing.

    Attributes:
        device: device of model jobs: auto (the first GPU if there is one), cpu, cuda or cuda:N.
            cpu keeps a GPU free.
        shortcuts: leave out work that cannot reach the output: in the last layer, all positions
            but the one that the head reads; in the first, repeated projections of masked texts.
            1.2 to 2 times faster; scores differ by rounding alone. For BERT, RoBERTa, GPT-2 and
            OLA. Trainings have a key of their own, ``training.shortcuts``.
        token_budget: padded tokens per batch; null for a measured default, 2,048 on a CPU (8,192
            for models of 128 units or fewer) and up to 65,536 on a GPU. Lower it if memory is
            shared; batches that do not fit are halved anyway.
        device_map: for models that fit on no single device, how accelerate spreads their weights
            over GPUs, the CPU and the disk: auto, balanced, balanced_low_0 or sequential; null for
            one device.
        max_memory: most memory that weights take by device with ``device_map``, such as
            0=14GiB,cpu=60GiB; what does not fit stays on disk. null for what is free.
        max_calls: most texts that are sent to a function (``predict`` of a model): a run that would
            send more, by an estimate, is refused before it starts, and no job sends more; null for
            no bound.
    """

    device: Annotated[
        str,
        Text(r"auto|cpu|cuda(:[0-9]+)?", rule="use auto, cpu, cuda or cuda:N, such as cuda:0"),
    ] = "auto"
    shortcuts: bool = False
    token_budget: Budget | None = None
    device_map: Literal["auto", "balanced", "balanced_low_0", "sequential"] | None = None
    max_memory: str | None = None
    max_calls: Budget | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        Placement.read(self.device_map, self.max_memory)
        if self.device_map is not None and self.device != "auto":
            raise ValueError("engine.device: device_map says where weights go; leave one out")
        return self


class Named(Open):
    """An entry that names something registered, and sets its options.

    Attributes:
        use: the registered id.
    """

    use: str


class InstanceEntry(Open):
    """An entry of datasets, methods or metrics.

    Attributes:
        use: registered id that this entry is an instance of; the entry's own id if left out.
            Several entries can use one implementation with different settings.
        max_examples: size of a deterministic sample of the test split (whole matched sets,
            balanced by group), to save time; all examples if null. Not for datasets.
        datasets: datasets that this method or metric is used on; all if left out. A metric always
            skips datasets that lack what it needs. Not for datasets.
    """

    use: str = LEFT_OUT
    max_examples: Size = None
    datasets: Names = LEFT_OUT


class Changes(Open):
    """Changes of a method or metric in an override.

    Attributes:
        max_examples: size of the sample in matching cells; null for all examples.
    """

    max_examples: Size = None


class Model(ModelSettings):
    """An entry of models.

    Attributes:
        use: known model that this entry starts from, such as tinybert or gpt2; the entry's own id
            if left out. Keys of the entry win over it.
        training: training settings of this model; they win over the top level. Known schemes
            (bert_c, ...) have their published settings.
        debias: changes of the training data: the name of a recipe (us_cda, ...), the id of a
            registered intervention, ``use`` and its options, or a list of these, in order.
        datasets: datasets that this model is trained on; all if left out.
    """

    use: str = LEFT_OUT
    training: TrainingSettings = TrainingSettings()
    debias: str | Named | Annotated[Sequence[str | Named], MinLen(1)] = LEFT_OUT
    datasets: Names = LEFT_OUT


NOT_OF_SPEC = ("training", "datasets", "debias")
"""Keys of a model's entry that are no part of its ModelSpec."""


class StudyStatistics(settings.StudyStatistics):
    """Comparison of groups.

    Attributes:
        family: ids that tests must share to be one family, over which p-values are corrected (Holm,
            Benjamini–Hochberg): [dataset, model] corrects each model's table by itself, [] all
            tests at once.
    """

    family: Annotated[Sequence[FamilyId], DISTINCT] = ("dataset",)


class Prompts(Settings):
    """Prompts for models with head label_words, for one dataset.

    Attributes:
        templates: prompts, each with {text} once, used verbatim, line ends included. Do not end
            them with a blank, which belongs to the words. Seed k uses template k.
        words: the word that answers a prompt, by class, with the blank that precedes it in a text.
            The first token of a word counts.
        absent: text of one token for masked tokens and baselines; if None, ``...`` if it is one
            token of the tokenizer, and otherwise its unknown or padding token.
        calibrate: term that is added to the logits of the classes: nothing (none), or minus the
            logarithm of their mean probability on texts without content (content_free) or on
            training texts (prior).
        system: system message before the user's message, in chats.
    """

    templates: Annotated[
        Sequence[
            Annotated[str, Text(r"[\s\S]*\{text\}[\s\S]*", rule="write {text} where the text goes")]
        ],
        MinLen(1),
    ]
    words: Annotated[Mapping[str, str], MinLen(2)]
    absent: NonEmpty | None = None
    calibrate: Literal["none", "content_free", "prior"] = "none"
    system: str | None = None


Ids = str | Names


class Match(Settings):
    """Ids of cells.

    Attributes:
        dataset: dataset ids.
        model: model ids.
        seed: seeds.
        method: method ids.
        metric: metric ids.
    """

    dataset: Ids = LEFT_OUT
    model: Ids = LEFT_OUT
    seed: int | Annotated[Sequence[int], MinLen(1)] = LEFT_OUT
    method: Ids = LEFT_OUT
    metric: Ids = LEFT_OUT


class Override(Settings):
    """Settings for some cells of the grid.

    Attributes:
        match: ids that a cell must have, each a single id or a list; keys that are left out match
            everything.
        training: training settings of matching cells.
        method: method options (and max_examples) of matching cells.
        metric: metric options (and max_examples) of matching cells.
    """

    match: Match
    training: TrainingSettings = TrainingSettings()
    method: Changes = Changes()
    metric: Changes = Changes()


class Config(Settings):
    """Configuration of an exparity experiment.

    It names the data, the classifiers that are trained on them, the methods that explain these, and
    the metrics that score the explanations. An unknown key is an error, at every level.

    Attributes:
        title: title of the report.
        study: preset for all settings that the config leaves out: those of the text or of the
            public code of the published study (Dhaini et al. 2025), the sample counts of GECOBench
            (Wilming et al. 2024), the options of the ferret library (Attanasio et al. 2023), or
            exparity's own defaults.
        results: folder of all results. Give each study its own, so that studies do not overwrite
            each other. A relative path starts where Snakemake runs.
        data_dir: folder of the raw files of datasets; missing files are downloaded to it. Studies
            may share it.
        download: whether jobs may download missing raw files and checkpoints. With auto they may,
            but not within a SLURM job, whose node may have no network; `snakemake fetch` gets all
            beforehand. With false, a missing file is an error that says how to get it.
        plugins: modules with additions of your own, such as datasets, methods or metrics: paths to
            Python files, relative to where Snakemake runs, or importable module names.
        seeds: one training run per dataset and model for each seed, with its explanations.
            Differences between groups vary with training; a gap seen with one seed alone may be
            chance. `exparity plan` shows what a number of seeds can detect; choose it beforehand.
        target: class whose output is explained and whose probability faithfulness refers to. The
            label asks why the right class; predicted asks why the model's own answer.
        explains: function of the logits that methods of logits explain: the target's logit; its
            log_odds, the target's logit less the log of the sum of the others' exponentials; or
            ``{against: CLASS}``, the target's logit less that of one class. With auto it is log
            odds for classes that are words of a language model, of whose logits only differences
            count, and the logit otherwise. The option of a method wins.
        examples: test examples that are explained: all, or those the model classifies correctly. If
            one group is misclassified more often, errors and explanation quality mix; comparing
            both settings shows how much.
        precision: arithmetic of explaining and evaluating wherever only probabilities are needed
            (LIME, SHAP, comprehensiveness, ...). bf16 is faster on recent GPUs and coarser; fp16 is
            for GPUs without bf16, such as a V100, and runs a text in fp32 if it is too coarse.
            Keep it the same for everything you compare.
        gradient_precision: arithmetic of methods and metrics that take gradients. With bf16, models
            fit whose weights and activations would not in fp32.
        engine: use of the machine by jobs. Changing it reruns nothing.
        datasets: datasets by id. Each entry may name a registered dataset with ``use`` (by default
            the id itself) and set that dataset's options; several versions of one dataset are
            several ids.
        models: models by id. Each entry may name a known model with ``use`` (by default the id
            itself, if it is one) and set whatever differs from it.
        counterfactuals: generators of examples of another group, by dataset: the id of a
            registered generator, or ``use`` and its options. Interventions use these examples, and
            the artefact ``counterfactuals`` holds them.
        prompts: prompts for models with head label_words, by dataset: the text replaces {text} in a
            template, and the next word names its class. Seed k uses template k: each run has one
            prompt.
        encoder: checkpoint that the known training schemes (bert_c, bert_ce, bert_cef, bert_cefaf,
            ola_cea) start from instead of the published BERT: a folder or a Hub id. A small one
            makes the benchmark run on a laptop. An entry with a ``checkpoint`` of its own keeps
            that.
        training: settings of fine-tuning; those of a model or an override win.
        methods: explanation methods by id. Each entry may name a registered method with ``use``, a
            sample size with ``max_examples``, and set that method's options. Without methods and
            metrics, classifiers are trained and measured, and nothing is explained.
        metrics: quality metrics by id. Each entry may name a registered metric with ``use``, a
            sample size with ``max_examples``, and set that metric's options.
        statistics: settings of the comparison of groups.
        report: content of the report.
        controls: checks of the pipeline itself.
        analyses: measurements beside the grid of tests, each only if it is named here, with its
            options. Most need datasets that mark the words that carry the label, and leave out the
            others.
        overrides: settings for some cells of the grid; later entries win. ``training`` cannot
            depend on method or metric, and ``method`` not on metric.
    """

    title: Annotated[str, Text(longest=200, rule="use at most 200 characters")] = (
        "Explanation quality by group"
    )
    study: Literal["default", "text", "code", "gecobench", "ferret"] = "default"
    results: Annotated[
        str,
        Text(
            r"(?!-)(?!/+$)(?!.*\.\.)[^~{}]+",
            longest=200,
            rule="use at most 200 characters, not '..', '~', '{' or '}', no '-' at the beginning, "
            "and not '/' alone",
        ),
    ] = "results"
    data_dir: NonEmpty = "data"
    download: Literal["auto", True, False] = "auto"
    plugins: Sequence[
        Annotated[
            str,
            Text(
                r"[^:]+",
                rule="a path cannot hold ':', which separates the plug-ins where jobs learn of "
                "them",
            ),
        ]
    ] = ()
    seeds: Annotated[Sequence[Seed], MinLen(1), DISTINCT] = (0,)
    target: Literal["label", "predicted"] = "label"
    explains: Explains = "auto"
    examples: Literal["all", "correct"] = "all"
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    gradient_precision: Literal["fp32", "bf16"] = "fp32"
    engine: Engine = Engine()
    datasets: Annotated[Mapping[DatasetId, InstanceEntry | None], MinLen(1)]
    models: Annotated[Mapping[ModelId, Model | None], MinLen(1)]
    counterfactuals: Mapping[Id, str | Named] = {}
    prompts: Mapping[Id, Prompts] = {}
    encoder: NonEmpty | None = None
    training: TrainingSettings = TrainingSettings()
    methods: Mapping[MethodId, InstanceEntry | None]
    metrics: Mapping[MetricId, InstanceEntry | None]
    statistics: StudyStatistics = StudyStatistics()
    report: Report = Report()
    controls: Controls = Controls()
    analyses: Mapping[Id, Mapping[str, object] | None] = {}
    overrides: Sequence[Override] = ()
