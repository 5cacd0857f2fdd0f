"""Tool audit: are the explanations of one classifier as good for every group of a table's texts?"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, NamedTuple, TextIO

from exparity.artefacts import layout
from exparity.artefacts.files import atomic_path
from exparity.artefacts.lineage import failed_parts
from exparity.config.checks import check_results
from exparity.config.experiment import Experiment
from exparity.config.models import MAX_ID
from exparity.core.errors import ExparityError, IncompleteReport, InputError
from exparity.core.escaping import say, visible
from exparity.core.flags import Flag, Folder, Id, Range
from exparity.core.progress import Progress
from exparity.core.strict import read_yaml
from exparity.costs.calls import check_calls
from exparity.costs.planned import PlannedExamples
from exparity.data import dropped_rows, load_with_facts
from exparity.data.facts import DatasetFacts
from exparity.data.files import DataSource
from exparity.jobs.stop import stoppable
from exparity.models.families import FAMILIES
from exparity.models.heads import LABEL_WORDS, head_of, new_head
from exparity.report.context import Context
from exparity.report.failures import Failures
from exparity.report.gather import gather
from exparity.report.sections.findings import in_plain_words
from exparity.resources import workflow_file
from exparity.runs import CAUTION
from exparity.tools.detectable import check_samples, planned_samples

log = logging.getLogger(__name__)
_METHODS = ("gradient", "gradient_x_input", "integrated_gradients_x_input", "lime", "shap")
_QUICK_METHODS = ("gradient_x_input", "integrated_gradients_x_input", "occlusion")
_METHODS_OF_FUNCTIONS = ("occlusion", "lime_words", "shap")
_QUICK_OPTIONS: Mapping[str, Mapping[str, int]] = {
    "integrated_gradients_x_input": {"n_steps": 20},
    "lime_words": {"num_samples": 200},
    "shap": {"max_evals": 100},
}
"""Options of these methods with ``--quick``."""
_METRICS = (
    "forward_simulation",
    *("comprehensiveness", "sufficiency", "soft_comprehensiveness", "soft_sufficiency"),
    *("gini", "sparsity"),
)
_CORRECTNESS = ("mass_accuracy", "rationale_roc_auc")
"""Metrics for a table that marks the words that carry the label."""
_QUICK_METRICS = ("forward_simulation", "comprehensiveness", "sufficiency", "gini")
_QUICK_EXAMPLES = 200
_QUICK_DRAWS = 3
"""Random explanations of each text."""
_MANY = 5
"""Groups from which one asks for the worst."""
_NO_ID = re.compile("[^a-z0-9]+")
_MADE_BY = "Made by `exparity audit`"
"""Beginning of the configs that this tool may overwrite."""
_STEPS = re.compile(r"([\d,]+) of ([\d,]+) steps ")
_MOST = 40
"""Lines of a log that are printed where a run fails: from the first error on, or the last."""


def audit(
    *,
    table: Annotated[str, Flag(metavar="PATH")],
    table_revision: Annotated[str, Flag(metavar="COMMIT")] | None = None,
    checkpoint: Annotated[str, Flag(metavar="FOLDER")] | None = None,
    predict: Annotated[str, Flag(metavar="MODULE:FUNCTION")] | None = None,
    max_calls: Annotated[int, Range(at_least=1)] | None = None,
    price_per_text: Annotated[float, Range(at_least=0)] | None = None,
    revision: Annotated[str, Flag(metavar="COMMIT")] | None = None,
    device_map: str | None = None,
    max_memory: str | None = None,
    text: Annotated[str, Flag(metavar="COLUMN")] = "text",
    label: Annotated[str, Flag(metavar="COLUMN")] = "label",
    group: Annotated[Sequence[str], Flag(metavar="COLUMN")] = ("group",),
    id: Annotated[str, Flag(metavar="COLUMN")] | None = None,
    match: Annotated[str, Flag(metavar="COLUMN")] | None = None,
    rationale: Annotated[str, Flag(metavar="COLUMN")] | None = None,
    labels: Annotated[Sequence[str], Flag(metavar="CLASS")] = (),
    model_label: Annotated[str, Flag(metavar="NAME")] | None = None,
    prompt: Annotated[Sequence[str], Flag(metavar="TEMPLATE")] = (),
    word: Annotated[Sequence[str], Flag(metavar="CLASS=WORD")] = (),
    chat: bool = False,
    methods: Sequence[Id] = (),
    metrics: Sequence[Id] = (),
    max_examples: Annotated[int, Range(at_least=2)] | None = None,
    drop_incomplete: bool = False,
    quick: bool = False,
    results: Folder | None = None,
    cores: Annotated[str, Flag(metavar="N")] = "all",
    dry_run: bool = False,
) -> None:
    """Audit a classifier: are its explanations as good for every group of a table's texts?

    Every row is predicted, explained and scored with the weights as they are, and compared between
    groups, beside random explanations. The report opens with a plain summary. The run is an
    ordinary one; its config stays in the results folder.
    Example: ``exparity audit --table reviews.csv --checkpoint ./my_checkpoint --text review
    --label stars --group region --quick``

    Args:
        table: CSV, TSV, JSON or Parquet, with a text, a label and a group in each row; a path, or
            ``hf://datasets/OWNER/NAME/FILE`` of the Hugging Face Hub; with ``*`` in it, several.
        table_revision: commit of a table of the Hub, 40 digits.
        checkpoint: the classifier: a folder, or the id of a repository of the Hugging Face Hub.
        predict: the classifier, instead of a checkpoint: a function from a list of texts to their
            probabilities, such as ``mine:predict`` for ``predict`` in ``mine.py`` of this folder;
            ``labels`` name its columns.
        max_calls: most texts that are sent to the function: an audit that would send more, by an
            estimate, is refused before it starts; no bound if None.
        price_per_text: what the function takes for a text, in any currency: say before the run what
            all texts cost.
        revision: commit of the checkpoint's repository.
        device_map: ``auto`` spreads the weights of a model that fits on no single device over GPUs,
            the CPU and the disk.
        max_memory: most memory that weights take by device with ``device_map``, such as
            ``0=14GiB,cpu=60GiB``.
        text: column of the texts.
        label: column of the true classes; for a checkpoint with several labels, such as toxic and
            insult, the column of 0 and 1 of one label.
        group: column of the protected attribute, or several with ``+`` between them for groups at
            their intersections, such as ``gender+race``. Several values make as many comparisons,
            each computed anew.
        id: column of an id, which no two rows share.
        match: column of the matched set, of texts that differ in the group alone.
        rationale: column of a 0 or 1 per word, for the words that carry the label; explanations are
            then compared with them.
        labels: the classes in the order of the outputs, for a function, or a checkpoint that does
            not name them.
        model_label: the label of the model to audit, for a checkpoint with several; the one that
            the column is named after if None.
        prompt: prompt with {text} in it, for a causal language model; each of several is a run, and
            verdicts are over all runs.
        word: word that answers the prompts for a class, with the blank before it, such as
            ``bad= bad``; one for each class.
        chat: put prompts into the chat template of the checkpoint's tokenizer.
        methods: explanation methods; see ``exparity list``.
        metrics: quality metrics; see ``exparity list``.
        max_examples: most texts to explain, equally many of each group; all if None.
        drop_incomplete: leave out rows without text, class or group, and show their number.
        quick: an answer in minutes: three methods and metrics, 200 texts at most, no figures.
        results: folder of the results; ``results/audit_TABLE_CHECKPOINT`` if None.
        cores: CPU cores.
        dry_run: check everything, write the config unless there is one, and list the jobs.
    """
    _check_classifier(checkpoint, predict, labels, prompt, device_map, max_calls, price_per_text)
    options = _given(
        **{"path": table, "revision": table_revision, "text": text, "label": label, "id": id},
        **{"match": match, "rationale": rationale, "drop_incomplete": drop_incomplete},
        test_share=1,
    )
    read = _Table.read(table, options, group, labels)
    prompts = _prompts(prompt, word, read.classes)
    if predict:
        audited = _Audited({"predict": predict, "classes": list(labels)}, labels)
    else:
        entry = _given(checkpoint=checkpoint, revision=revision, training={"epochs": 0})
        entry |= _given(head=LABEL_WORDS, chat=chat) if prompts.words else {}
        audited = _matched(entry, read, label, model_label, prompts.words, in_order=bool(labels))
    scope = _Scope(quick, methods, metrics, max_examples)
    machine = _given(device_map=device_map, max_memory=max_memory, max_calls=max_calls)
    results = results or Path("results", f"audit_{read.id}_{audited.id}")
    config = _config(results, read, audited, prompts, scope, machine)
    _run(config, results, cores, dry_run=dry_run, price_per_text=price_per_text)


def _check_classifier(
    checkpoint: str | None,
    predict: str | None,
    labels: Sequence[str],
    prompts: Sequence[str],
    device_map: str | None,
    max_calls: int | None,
    price_per_text: float | None,
) -> None:
    """Refuse flags that name no classifier, or more than one, or are for another kind."""
    if predict:
        if device_map is not None:
            raise InputError("--device-map: is for models; a function has no weights to spread")
        if checkpoint or prompts:
            raise InputError("--predict: leave out --checkpoint and --prompt beside it")
        if not labels:
            raise InputError("--predict: name its columns, in order, with --labels")
    elif not checkpoint or max_calls or price_per_text is not None:
        raise InputError("name the classifier with --checkpoint, or a function with --predict")


@dataclass(frozen=True)
class _Table:
    """The table, with a dataset of the config for each column of groups."""

    path: str
    options: Mapping[str, object]  # of all its datasets
    columns: Sequence[str]  # of groups, several with + between them for intersections
    facts: Sequence[DatasetFacts]  # of each dataset

    @classmethod
    def read(
        cls,
        path: str,
        options: Mapping[str, object],
        columns: Sequence[str],
        labels: Sequence[str],
    ) -> _Table:
        """Read the table once for each column, and say how many rows each leaves out."""
        distinct = [*dict.fromkeys(columns)]
        facts = []
        for column in distinct:
            settings = {**options, **_given(labels=list(labels)), "group": _parts(column)}
            _, read = load_with_facts("table", DataSource(Path()), settings, name=path)
            if read.dropped:
                say(f"{path} by {column}: {dropped_rows(read.dropped)}")
            facts.append(read)
        return cls(path, options, distinct, facts)

    @property
    def id(self) -> str:
        """What the ids of its datasets begin with."""
        return _as_id(Path(self.path).stem, "table")

    @property
    def dataset_ids(self) -> list[str]:
        """An id for each dataset; no two have one."""
        if len(self.columns) == 1:
            return [self.id]
        names = [f"{self.id}_{column}" for column in self.columns]
        ids = [_as_id(name, "table") for name in names]
        if len({*ids}) == len(ids):
            return ids
        return [_as_id(name, "table", exact=True) for name in names]

    @property
    def classes(self) -> Sequence[str]:
        """The classes of its texts."""
        return self.facts[0].labels

    def datasets(self, classes: Sequence[str]) -> dict[str, object]:
        """Return the entries of the config, with the classes in the order of the outputs."""
        options = {**self.options, "labels": list(classes)}
        columns = zip(self.dataset_ids, self.columns, strict=True)
        return {
            dataset: {"use": "table", **options, "group": _parts(column)}
            for dataset, column in columns
        }


def _parts(column: str) -> str | list[str]:
    """Return the columns that a flag names: a list of those of an intersection."""
    return column.split("+") if "+" in column else column


@dataclass(frozen=True)
class _Audited:
    """The classifier, as an entry of the config's models."""

    entry: Mapping[str, object]
    classes: Sequence[str]  # in the order of its outputs
    shortens: bool = False  # whether the engine may leave out work

    @property
    def is_function(self) -> bool:
        """Whether it is a function of texts."""
        return "predict" in self.entry

    @property
    def names(self) -> Sequence[str]:
        """Module and name of a function, or the last parts of a checkpoint's path."""
        return _name_of(str(self.entry["predict" if self.is_function else "checkpoint"]))

    @property
    def id(self) -> str:
        """Its id among the models."""
        return _as_id("_".join(self.names), "model")

    @property
    def title(self) -> str:
        """What the title of the report calls it."""
        name = str(self.entry["predict"]) if self.is_function else "/".join(self.names)
        return f"{name} ({self.entry['label']})" if "label" in self.entry else name


class _Prompts(NamedTuple):
    """How a language model is asked: prompts, and the word that answers them for each class."""

    templates: Sequence[str]
    words: Mapping[str, str]

    def blocks(self, dataset_ids: Sequence[str]) -> dict[str, object]:
        """Return the blocks of the config on prompts; each prompt is a run."""
        if not self.words:
            return {}
        prompts = {"templates": list(self.templates), "words": self.words}
        seeds = [*range(len(self.templates))]
        return {"prompts": dict.fromkeys(dataset_ids, prompts), "seeds": seeds}


class _Scope(NamedTuple):
    """How much is asked: what the flags name, or what is usual."""

    quick: bool
    methods: Sequence[Id]
    metrics: Sequence[Id]
    max_examples: int | None

    def method_block(self, *, is_function: bool) -> dict[str, object]:
        """Return the methods with their options."""
        for_models = _QUICK_METHODS if self.quick else _METHODS
        usual = _METHODS_OF_FUNCTIONS if is_function else for_models
        examples = self.max_examples or (_QUICK_EXAMPLES if self.quick else None)
        options = _given(max_examples=examples)
        shortened = _QUICK_OPTIONS if self.quick else {}
        return {
            # options that make a usual method quick are not for one that a flag names beside it
            name: {**(shortened.get(name, {}) if name in usual else {}), **options}
            for name in self.methods or usual
        }

    def metric_block(self, *, has_rationale: bool) -> dict[str, object]:
        """Return the metrics."""
        usual = _QUICK_METRICS if self.quick else _METRICS
        correctness = _CORRECTNESS if has_rationale else ()
        return {name: {} for name in self.metrics or (*usual, *correctness)}

    def controls(self) -> dict[str, object]:
        """Return what explanations are compared with: the searched reference, or random ones."""
        if self.quick:
            return {"random": {"draws": _QUICK_DRAWS}}
        return {"reference": {"enabled": True}}


def _config(
    results: Path,
    table: _Table,
    audited: _Audited,
    prompts: _Prompts,
    scope: _Scope,
    machine: Mapping[str, object],
) -> dict[str, object]:
    """Return the config of an audit; ``machine`` are options of the engine."""
    has_rationale = bool(table.options.get("rationale"))
    has_many_groups = max(len(facts.groups) for facts in table.facts) >= _MANY
    analyses = {"correctness": has_rationale, "worst_group": has_many_groups}
    shortens = audited.shortens and "device_map" not in machine
    return {
        "title": f"Audit of {audited.title} on {Path(table.path).name}"[:200],
        "results": str(results),
        "datasets": table.datasets(audited.classes),
        "models": {audited.id: audited.entry},
        **prompts.blocks(table.dataset_ids),
        "methods": scope.method_block(is_function=audited.is_function),
        "metrics": scope.metric_block(has_rationale=has_rationale),
        "analyses": {name: {} for name, is_chosen in analyses.items() if is_chosen},
        "controls": scope.controls(),
        "engine": {"shortcuts": shortens, **machine},
        "report": {"figures": not scope.quick},
    }


def _given(**settings: Any) -> dict[str, object]:
    """Return the settings that have a value."""
    return {key: value for key, value in settings.items() if value not in (None, False, [])}


def _run(
    config: Mapping[str, object],
    results: Path,
    cores: str,
    *,
    dry_run: bool,
    price_per_text: float | None,
) -> None:
    """Check a config, write and run it, and print the findings."""
    path = results / "config.yaml"
    is_ours = path.is_file() and path.read_bytes().startswith(f"# {_MADE_BY}".encode())
    if path.exists() and not is_ours:
        raise InputError(
            f"{path}: was not written by `exparity audit`, which would overwrite it; name another "
            "folder with --results"
        )
    if is_ours:
        _check_same(config, path)
    experiment = Experiment.from_mapping(config)
    check_results(experiment)
    samples = planned_samples(experiment, PlannedExamples(experiment))
    check_samples(samples, experiment.config.statistics.alpha)
    if price_per_text is not None:
        for line in check_calls(experiment, price_per_text):
            say(line)
    if dry_run and path.exists():
        with NamedTemporaryFile(dir=results, prefix=".dry-run-", suffix=".yaml") as file:
            _write_config(config, Path(file.name), path)
            run_workflow(Path(file.name), cores, dry_run=True)
        say(f"{path} is as it was: a dry run replaces no config")
        return
    _write_config(config, path, path)
    run_workflow(path, cores, dry_run=dry_run)
    say(f"{path} is the config; its first lines have the command that runs it again")
    if not dry_run:
        _say_what_was_found(experiment)
        page = results / layout.path_of("page", {})
        say(f"Open {page} in a browser")
        if failed := failed_parts(page):
            raise IncompleteReport(f"{page} lacks parts that failed: {failed}")


def _say_what_was_found(experiment: Experiment) -> None:
    study = gather(Path(experiment.results), experiment.grid)
    with Failures().caught("The summary"):
        for line in in_plain_words(Context(study, Path(experiment.results) / "report")):
            say(line)


def _prompts(templates: Sequence[str], words: Sequence[str], classes: Sequence[str]) -> _Prompts:
    """Return the prompts and the word of each class; none of other classifiers."""
    if not templates and not words:
        return _Prompts([], {})
    if not (templates and words):
        raise InputError("a language model needs --prompt and --word; give both")
    parted = [word.partition("=") for word in words]
    word_by_class = {name: text for name, _, text in parted}
    if (
        set(word_by_class) != set(classes)
        or len(word_by_class) < len(words)
        or not all(word_by_class.values())
    ):
        raise InputError(
            f"--word {' '.join(words)}: write CLASS=WORD, once for each class of the data: "
            f"{', '.join(classes)}"
        )
    return _Prompts(templates, word_by_class)


def _matched(
    entry: Mapping[str, object],
    table: _Table,
    column: str,
    model_label: str | None,
    words: Mapping[str, str],
    *,
    in_order: bool,
) -> _Audited:
    """Return a checkpoint that was found to fit the table, with its classes in order."""
    # Only now: importing transformers takes longer than reading most tables.
    from exparity.models.checkpoints import load_config
    from exparity.models.class_names import in_order_of_outputs, output_names, require_order

    name = str(entry["checkpoint"])
    facts = table.facts[0]
    classes = facts.labels
    revision = entry.get("revision")
    pretrained = load_config(name, None if revision is None else str(revision))
    shortens = pretrained.model_type in FAMILIES
    if words:
        new_head(LABEL_WORDS).require(name, pretrained)
        return _Audited(entry, list(words))
    head = head_of(pretrained)
    outputs = output_names(pretrained.id2label)
    if model_label or pretrained.problem_type == "multi_label_classification":
        names = {str(label).casefold(): str(label) for label in pretrained.id2label.values()}
        head.label = names.get((model_label or column).casefold(), model_label)
    elif not head.keeps_outputs(pretrained) and outputs is not None and not in_order:
        head.require(name, pretrained)
        classes = in_order_of_outputs(outputs, classes, f"checkpoint {name}")
    elif not head.keeps_outputs(pretrained) and facts.labels_sorted:
        remedy = f"--labels {' '.join(classes)}"
        require_order(pretrained.id2label, classes, f"checkpoint {name}", remedy)
    head.require(name, pretrained, classes)
    return _Audited({**entry, **_given(label=head.label)}, classes, shortens)


def _name_of(checkpoint: str) -> Sequence[str]:
    """Return module and name of a function, or the last part of a path that is not a number."""
    module, colon, function = checkpoint.rpartition(":")
    if colon and not Path(checkpoint).is_dir():
        return [Path(module).stem if module.endswith(".py") else module.split(".")[-1], function]
    parts = Path(checkpoint).resolve().parts if Path(checkpoint).is_dir() else (checkpoint,)
    return parts[-2:] if parts[-1].isdecimal() else [Path(parts[-1]).name]


def _as_id(name: str, otherwise: str, *, exact: bool = False) -> str:
    """Return an id like a name, with a digest if it is shortened or has other than ASCII letters.

    Names that differ in case and punctuation alone have one id unless it is to be exact.
    """
    slug = _NO_ID.sub("_", name.lower()).strip("_")
    if not slug or not slug[0].isalpha():  # such as a name in Chinese
        slug = "_".join(filter(None, (otherwise, slug)))
    if name.isascii() and len(slug) <= MAX_ID and not exact:
        return slug
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{slug[: MAX_ID - 9]}_{digest}"


def _check_same(config: Mapping[str, Any], path: Path) -> None:
    """Refuse to replace the audit of another table or classifier, whose names have one id."""
    written = read_yaml(path)
    for block, key in (("datasets", "path"), ("models", "checkpoint"), ("models", "predict")):
        before = {entry.get(key) for entry in written.get(block, {}).values()}
        now = {entry.get(key) for entry in config.get(block, {}).values()}
        if before != now and None not in before | now:
            raise InputError(
                f"{path}: is of the audit of {', '.join(sorted(before))}, and not of "
                f"{', '.join(sorted(now))}; name another folder with --results"
            )


def _flags(configfile: Path, cores: str) -> list[str]:
    """Return the flags of Snakemake that run a config."""
    snakefile = str(workflow_file("Snakefile"))
    return ["--snakefile", snakefile, "--configfile", str(configfile), "--cores", cores]


def _write_config(config: Mapping[str, object], path: Path, place: Path) -> None:
    """Write a config that says how to run it from its place."""
    import yaml

    header = (
        f"{_MADE_BY}, which writes it anew. To run it as it is, or changed, from the "
        f"same folder:\n  {shlex.join(['snakemake', *_flags(place, 'all')])}"
    )
    comment = "".join(f"# {visible(line)}\n" for line in header.splitlines())
    plain = json.loads(json.dumps(config))  # lists that entries share would be written as anchors
    body = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    with atomic_path(path) as temporary:
        temporary.write_text(comment + body, encoding="utf-8")


def run_workflow(configfile: Path, cores: str, *, dry_run: bool = False) -> None:
    """Run the workflow here, on a config in its results folder; progress goes to standard error.

    A page that lacks a part is no failure of the run: it says so itself.
    """
    command = [sys.executable, "-m", "snakemake", "--quiet", "rules", *_flags(configfile, cores)]
    if dry_run:
        # Its output is no answer of the tool, and goes to standard error as well.
        if subprocess.run([*command, "--dry-run"], stdout=2, check=False).returncode:
            raise ExparityError("the dry run failed; see above")
        return
    path = configfile.parent / "logs" / "snakemake.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    log.info("running; all that Snakemake says goes to %s", visible(path))
    with path.open("w", encoding="utf-8") as file:
        failed = _logged(command, file)
    if failed not in (0, IncompleteReport.exit_code):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        first = next((i for i, line in enumerate(lines) if "rror" in line), len(lines) - _MOST)
        end = "".join(lines[max(0, first) :][:_MOST])
        print(visible(end, keep="\n\t"), file=sys.stderr)
        raise ExparityError(f"the run failed; see above and {path}")


def _number(text: str) -> int:
    """Return a number that Snakemake writes with commas."""
    return int(text.replace(",", ""))


def _logged(command: Sequence[str], file: TextIO) -> int:
    """Run a command with its output in a file, tell progress, and return its exit status.

    A TERM of this process, and Ctrl-C, end the command in order.
    """
    is_main = threading.current_thread() is threading.main_thread()  # which alone gets signals
    with (
        stoppable() if is_main else nullcontext(),
        Progress(None, "running", "jobs") as progress,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        try:
            for line in process.stdout or ():
                file.write(line)
                file.flush()
                if steps := _STEPS.match(line):
                    done, total = steps.groups()
                    progress.expect(_number(total))
                    progress.advance(_number(done) - progress.done)
                elif line.startswith("exparity: " if not progress.done else CAUTION):
                    print(visible(line.rstrip()), file=sys.stderr)
        except BaseException:
            process.terminate()
            file.writelines(process.stdout or ())  # until its jobs have saved what is finished
            raise
    return process.returncode
