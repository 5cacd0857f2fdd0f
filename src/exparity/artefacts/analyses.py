"""Facts of an analysis, and the registry of analyses: folders of :mod:`exparity.analyses`.

Stages that are made unasked, such as the verdicts of every study, declare themselves in the same
way. The registry is here, so that the table of artefacts knows what is made; implementations are
imported on first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from exparity.artefacts.columns import Column, Export, fields
from exparity.artefacts.ids import Ids
from exparity.core.registry import Entry, Registry
from exparity.core.settings import Controls, StudyStatistics
from exparity.core.validation import Settings, options_of

LEVELS = ("experiment", "dataset", "model", "seed", "metric")
"""One artefact for the whole experiment, or one each: dataset, × model, × seed, × metric."""
OF_JOB = ("metric_id", "machine")
"""Keyword-only arguments that the command line fills in, so that they are no options."""
_Statistic = Literal["alpha", "threshold", "ddof", "confidence", "resamples", "family"]


Options = dict[str, Any]
"""Options that the result of a job depends on, as JSON values."""


class Call(TypedDict):
    """An implementation with its options, as a job that calls it depends on them."""

    use: str
    params: dict[str, object]
    digest: str
    files: NotRequired[dict[str, str]]


class InstanceView(Protocol):
    """A named use of an implementation; :class:`exparity.config.instances.Instance` is one."""

    @property
    def id(self) -> str:
        """Id in the config."""

    @property
    def entry(self) -> Entry[Any]:
        """The implementation."""

    @property
    def params(self) -> Mapping[str, object]:
        """Options as the config has them, without defaults."""

    @property
    def known_groups(self) -> tuple[str, ...]:
        """Groups of a dataset as its facts declare them; empty where its options or rows decide."""

    def call(self, where: str) -> Call:
        """Return its options and its code."""

    def call_with_files(self, where: str) -> Call:
        """Return its options, its code and the content of its files."""


class SpecView(Protocol):
    """What a model is; :class:`exparity.models.spec.ModelSpec` says it."""

    @property
    def init(self) -> str:
        """Whether it starts from scratch or is pretrained."""

    @property
    def predict(self) -> str | None:
        """Function that it is, of a model that is given."""

    @property
    def checkpoint(self) -> str | None:
        """Where it starts from."""

    @property
    def revision(self) -> str | None:
        """Commit of a checkpoint on the Hub."""


class ModelView(Protocol):
    """A model of the config; :class:`exparity.config.resolved.ResolvedModel` is one."""

    @property
    def spec(self) -> SpecView:
        """What it is."""


class ConfigView(Protocol):
    """Settings that an analysis needs; :class:`exparity.config.models.Config` has them."""

    target: Literal["predicted", "label"]
    examples: Literal["all", "correct"]
    precision: str
    data_dir: str
    controls: Controls
    statistics: StudyStatistics


class ExperimentView(Protocol):
    """Answers of an experiment that an analysis needs for the options of a job.

    :class:`exparity.config.experiment.Experiment` gives them, which knows this package.
    """

    seeds: list[int]

    @property
    def config(self) -> ConfigView:
        """The config."""

    @property
    def datasets(self) -> Mapping[str, InstanceView]:
        """Its datasets."""

    @property
    def generators(self) -> Mapping[str, InstanceView]:
        """Generators of counterfactuals by dataset."""

    @property
    def methods(self) -> Mapping[str, InstanceView]:
        """Its methods."""

    @property
    def metrics(self) -> Mapping[str, InstanceView]:
        """Its metrics."""

    @property
    def models(self) -> Mapping[str, ModelView]:
        """Its models."""

    @property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """Each (dataset, model) that is trained."""

    def metrics_that_need(self, needs: str, dataset: str | None = None) -> list[str]:
        """Return the metrics that compute with something, such as ``rationale``."""

    def applying(self, kind: str, dataset: str) -> list[str]:
        """Return the methods or metrics that a dataset is explained with or scored by."""

    def finetune_options(self, dataset: str, model: str, seed: int) -> Options:
        """Return what a checkpoint depends on."""

    def evaluate_options(self, **cell: str | int) -> Options:
        """Return what scores depend on."""

    def most_explained(self, ids: Mapping[str, str | int]) -> int | None:
        """Return the largest sample of test texts that a method explains."""


CHANCE_IS_ZERO = "zero"
"""Skill of metrics by which explanations at random have 0; not that of ``loo_correlation``."""


def smallest_sample(*sizes: int | None) -> int | None:
    """Return the smallest of some samples of texts by their sizes, where None is all texts."""
    return min((size for size in sizes if size is not None), default=None)


def where_methods_compete(
    experiment: ExperimentView, ids: Ids, **settings: Any
) -> dict[str, object] | None:
    """Return the options of a job that compares methods: none where there are fewer than two."""
    return dict(settings) if len(experiment.methods) > 1 else None


def metrics_that_foresee(experiment: ExperimentView, dataset: str) -> list[str]:
    """Return the metrics of a dataset that ask how well explanations foresee the classifier.

    Explanations at random have 0 by them, so that they need no limits. ``loo_correlation`` reads
    foresight too, and is not among them.
    """
    asking = experiment.metrics_that_need("foresight", dataset)
    by_zero = experiment.metrics_that_need(CHANCE_IS_ZERO, dataset)
    return [metric for metric in by_zero if metric in asking]


def metrics_with_limits(experiment: ExperimentView, dataset: str) -> list[str]:
    """Return the metrics of a dataset that take units, where their limits are searched.

    Without a wish of the config, that is where no metric comes first that needs no limits.
    """
    controls = experiment.config.controls
    searches = controls.reference.enabled
    if searches is None:
        searches = not metrics_that_foresee(experiment, dataset)
    if not (searches and controls.random.draws):
        return []
    return experiment.metrics_that_need("removal", dataset)


@dataclass(frozen=True)
class Findings:
    """Section of an analysis in the report.

    Attributes:
        values: what its template is given, beside ``study``.
        tables: what is downloaded; without rows a table is left out.
    """

    values: Mapping[str, Any]
    tables: Sequence[Export] = ()


class Table:
    """Form of an artefact.

    Args:
        columns: its columns beside the ids of its level, as :func:`fields` takes them.
        keys: columns that its rows are sorted by.
        ids: further ids that its rows carry, such as ``method`` and ``metric``.
    """

    def __init__(self, *columns: Column, keys: tuple[str, ...], ids: tuple[str, ...] = ()) -> None:
        self.columns = fields(*columns)
        self.keys = keys
        self.ids = ids


@dataclass(frozen=True)
class AnalysisFacts:
    """Facts of an analysis.

    Attributes:
        level: what there is one job of; see :data:`LEVELS`.
        reads: artefacts that it reads, in the order of the function's inputs. One that there are
            several of at its level is given as a sequence of paths.
        writes: artefacts that it makes, by name, each a folder below the results.
        needs: parts of a dataset without which it is left out: ``groups``, and ``rationale``, marks
            of the words that carry the label, or ``raters``, such marks of several people, whose
            groups it compares; see :mod:`exparity.config.instances`.
        metric_needs: artefacts that it reads of some metrics alone, or for them: those with this
            ``needs`` or ``skill``.
        display: its name for people.
        runs_model: whether it runs the model, and so needs a GPU.
        always: whether it is made unasked; else where ``analyses`` names it.
        memory_mb: memory of a job.
        minutes: time that a job is given; None to estimate it from the passes that the job makes,
            which :func:`exparity.costs.calls.passes_of` counts.
        statistics: keys of the config's statistics that are options of the job: each by its name,
            or together in ``statistics`` where the function takes that. ``analyses`` cannot set
            them.
        job_options: called as ``job_options(experiment, ids, **settings)`` with the block of the
            config, defaults included; see :class:`ExperimentView`. Its keyword-only arguments are
            the config's options; with ``**settings`` in their place, or without ``job_options``,
            the function's own options are. Returns the options of the job of these ids, or None
            where the analysis does not apply. Among the options, ``digest`` is that of code that
            the config chooses; the job does not get it.
        caution: called as ``caution(experiment, **settings)`` with the block of the config; returns
            what a plan has to warn of, or None.
        section: called as ``section(rows, study)``; returns the :class:`Findings`, None
            if there is nothing to say. If there is none, the report has no section of it.
        template: the section's template: a file beside the function's, or the text itself.
    """

    level: Literal["experiment", "dataset", "model", "seed", "metric"]
    reads: tuple[str, ...]
    writes: Mapping[str, Table]
    needs: tuple[str, ...] = ("groups",)
    metric_needs: Mapping[str, str] = field(default_factory=dict)
    display: str = ""
    runs_model: bool = False
    always: bool = False
    memory_mb: int = 2000
    minutes: int | None = 30
    statistics: tuple[_Statistic, ...] = ()
    job_options: Callable[..., Mapping[str, object] | None] | None = None
    caution: Callable[..., str | None] | None = None
    section: Callable[..., Findings | None] | None = None
    template: str = "section.html.j2"

    @property
    def artefact(self) -> str:
        """The first artefact that it makes, which its section is of."""
        return next(iter(self.writes))

    @property
    def levels(self) -> tuple[str, ...]:
        """The ids that each of its artefacts has one of."""
        return LEVELS[1 : LEVELS.index(self.level) + 1]

    @property
    def target(self) -> tuple[str, ...]:
        """The ids that say where it applies; it is made for every seed."""
        return tuple(level for level in self.levels if level != "seed")


_STAGES = (
    "bias",
    "compare",
    "controls",
    "counterfactuals",
    "foresee",
    "judge",
    "raters",
    "reliance",
)
"""Modules of what is made unasked, beside the stages that have rules of their own."""
ANALYSES: Registry[AnalysisFacts] = Registry(
    "analysis",
    "exparity.analyses",
    AnalysisFacts,
    lambda entry: config_options(entry),
    also=[f"exparity.stages.{name}" for name in _STAGES],
)


@cache
def inputs_of(function: Callable[..., Any]) -> Mapping[str, bool]:
    """Return the inputs of an analysis by name, and whether each is several files."""
    written = ("output", *getattr(function, "further", ()))
    return {
        name: "Sequence" in str(parameter.annotation)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY and name not in written
    }


@cache
def shortcuts_of(function: Callable[..., object]) -> frozenset[str]:
    """Return the inputs of an analysis that save passes and change no result."""
    parameters = inspect.signature(function).parameters.values()
    return frozenset(p.name for p in parameters if "Shortcut" in str(p.annotation))


@cache
def arguments_of(function: Callable[..., Any]) -> Sequence[str]:
    """Return the keyword-only arguments of an analysis."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]


def config_options(entry: Entry[AnalysisFacts]) -> type[Settings]:
    """Return what ``analyses.<id>`` of a config may say."""
    facts = entry.facts
    described = facts.job_options or entry.function
    kinds = [parameter.kind for parameter in inspect.signature(described).parameters.values()]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        described = entry.function
    study_options = ("statistics", *facts.statistics) if facts.statistics else ()
    return options_of(described, without=(*OF_JOB, *study_options))


def analysis_making(artefact: str) -> Entry[AnalysisFacts] | None:
    """Return the analysis that makes an artefact, None if none does."""
    entries = map(ANALYSES.get, ANALYSES.ids())
    return next((entry for entry in entries if artefact in entry.facts.writes), None)
