"""Analysis agreement: do trainings, and do methods, explain the same text alike, in every group?

Explanations that change with the training, or with the method, are of little use to the person that
a text is about. The analysis reads attributions that are there, and runs no model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from exparity.analyses import ExperimentView, StageResult, Table, analysis, fields
from exparity.analyses.agreement._pairwise import MEASURES, agreements
from exparity.analyses.agreement.section import findings
from exparity.artefacts.columns import record_columns
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Params, Range
from exparity.data.table import PreparedData, read_prepared
from exparity.stages.cell import read_all
from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.model_bias import is_collapsed
from exparity.stats.verdicts import JUDGED, judge
from exparity.types import FloatArray

Unit = Literal["token", "word"]
_RANDOM = "uniform_random"
_OPTIONS = ("alpha", "threshold", "confidence")
_OF_TEXTS = ("mean_a", "mean_b", "n_sets", "n_a", "n_b", "estimate", "pooled_sd", "d")
"""Columns of a comparison that do not take trainings for a sample."""


class Attribution(NamedTuple):
    """The attribution of one text.

    Attributes:
        tokens: what it is of: token ids, or the number of words.
        target: the class that it explains.
        scores: (t,) a value for each of them, without special tokens.
    """

    tokens: tuple[int, ...]
    target: int
    scores: FloatArray


@dataclass(frozen=True)
class Explained:
    """All attributions of a model on a dataset.

    Attributes:
        of: by seed, method and example.
        methods: ids of the methods, sorted.
        signed: those with a negative attribution somewhere.
        random: those that are random explanations.
    """

    of: Mapping[int, Mapping[str, Mapping[str, Attribution]]]
    methods: Sequence[str]
    signed: frozenset[str]
    random: frozenset[str]


def _job_options(
    experiment: ExperimentView,
    ids: Mapping[str, Any],
    *,
    top_share: Annotated[float, Range(above=0, at_most=1)] = 0.25,
    unit: Unit = "token",
) -> dict[str, Any]:
    """Take from the config how groups are compared, too."""
    if len(experiment.methods) < 2 and len(experiment.seeds) < 2:
        raise InputError("analyses.agreement: takes two methods or two seeds; name another one")
    statistics = experiment.statistics(dict(ids))
    options = {name: statistics[name] for name in _OPTIONS}
    return {"top_share": top_share, "unit": unit, "statistics": options}


@analysis(
    "agreement",
    level="model",
    reads=("data", "predictions", "explanations"),
    writes={
        "agreement": Table(
            fields(
                ("between", pa.string()),
                ("method_a", pa.string()),
                ("method_b", pa.string()),
                ("measure", pa.string()),
                ("unit", pa.string()),
                ("top_share", pa.float64()),
                ("mean_a", pa.float64()),
                ("mean_b", pa.float64()),
                *record_columns(CrossedTest).items(),
                *(
                    (name, pa.string(), True) if missing is None else (name, pa.float64())
                    for name, missing in JUDGED.items()
                ),
            ),
            keys=("between", "method_a", "method_b", "measure", "group_a", "group_b"),
        )
    },
    display="Agreement of explanations",
    job_options=_job_options,
    section=findings,
    memory_mb=4000,
)
def agreement_cell(
    data: Path,
    predictions: Sequence[Path],
    explanations: Sequence[Path],
    *,
    top_share: Annotated[float, Range(above=0, at_most=1)] = 0.25,
    unit: Unit = "token",
    statistics: Params,
) -> StageResult:
    """Measure how far attributions of one text agree over trainings and between methods.

    The agreement of two methods is judged as a metric is, over trainings and texts, corrected over
    all pairs and measures of the model. That over trainings, a mean over all pairs of them, is
    described: pairs of trainings are no sample. Attributions of different classes are not compared,
    and classifiers that predict one class are left out.

    Args:
        data: the data artefact.
        predictions: predictions artefacts, one per seed.
        explanations: explanations artefacts of one dataset and model; one per seed and method.
        top_share: share of a text's tokens that counts as its top.
        unit: what attributions are of: tokens, or words, to which those of tokens are summed.
        statistics: ``alpha``, ``threshold`` and ``confidence`` of the config's statistics.

    Raises:
        InputError: a file of another model or other data, or texts with other tokens from one
            training to the next.
    """
    prepared = read_prepared(data, "test")
    explained = _read(prepared.dataset, data, predictions, explanations, unit)
    examples = {e.example_id: i for i, e in enumerate(prepared.examples)}
    values = _Values(explained, examples, top_share)
    compared = [
        {"between": "methods", "method_a": a, "method_b": b, "measure": measure, **test}
        for a, b, measure, of_pair in values.between_methods()
        for test in _tests(prepared, of_pair, statistics)
    ]
    rows = list(judge(compared, (), alpha=statistics["alpha"]))
    rows += [
        {
            **{"between": "trainings", "method_a": method, "method_b": "", "measure": measure},
            **_described(test),
            "n_seeds": len(explained.of),
        }
        for method, measure, of_method in values.over_trainings()
        for test in _tests(prepared, of_method[None], statistics)
    ]
    asked = {"unit": unit, "top_share": top_share}
    ids = read_artefact(explanations[0], "explanations")[1]["wildcards"]
    return StageResult(
        [{**row, **asked} for row in rows],
        {name: ids[name] for name in ("dataset", "model")},
        prepared.compared,
    )


def _read(
    dataset: str, data: Path, predictions: Sequence[Path], explanations: Sequence[Path], unit: Unit
) -> Explained:
    """Read the attributions of every classifier that predicts more than one class."""
    collapsed, source = set(), (data, {"dataset": dataset})
    for table, metadata in read_all("predictions", predictions, source, over_seeds=True):
        if is_collapsed(table.column("predicted").to_pylist()):
            collapsed.add(metadata["wildcards"]["seed"])
    of: dict[int, dict[str, dict[str, Attribution]]] = defaultdict(dict)
    uses: dict[str, str] = {}
    signed = set()
    for table, metadata in read_all("explanations", explanations, source, over_seeds=True):
        ids = metadata["wildcards"]
        uses.setdefault(ids["method"], metadata["parameters"].get("use", ids["method"]))
        if ids["seed"] in collapsed:
            continue
        attributions = {r["example_id"]: _attribution(r, unit) for r in table.to_pylist()}
        of[int(ids["seed"])][ids["method"]] = attributions
        if any((one.scores < 0).any() for one in attributions.values()):
            signed.add(ids["method"])
    random = frozenset(method for method, use in uses.items() if use == _RANDOM)
    return Explained(dict(sorted(of.items())), sorted(uses), frozenset(signed), random)


def _attribution(row: Mapping[str, Any], unit: Unit) -> Attribution:
    words = np.array(row["word_ids"], dtype=np.int64)
    is_content = words >= 0
    scores = np.array(row["scores"], dtype=np.float64)[is_content]
    tokens = tuple(np.array(row["token_ids"])[is_content].tolist())
    if unit == "word":
        scores = np.bincount(words[is_content], weights=scores).astype(np.float64)
        tokens = (len(scores),)
    return Attribution(tokens, int(row["target"]), scores)


class _Values:
    """The agreement of attributions, text by text."""

    def __init__(self, explained: Explained, examples: Mapping[str, int], top_share: float) -> None:
        self._explained = explained
        self._examples = examples
        self._top_share = top_share

    def between_methods(self) -> Iterator[tuple[str, str, str, FloatArray]]:
        """Yield two methods, the measure and its (s, n) values; empty names are of all pairs."""
        explained, n = self._explained, len(self._examples)
        pairs = list(combinations(explained.methods, 2))
        values = {
            (measure, *pair): np.full((len(explained.of), n), np.nan)
            for measure in MEASURES
            for pair in pairs
            if measure != "sign" or explained.signed.issuperset(pair)
        }
        for s, by_method in enumerate(explained.of.values()):
            for example, place in self._examples.items():
                own = {m: of[example] for m, of in by_method.items() if example in of}
                for measure, matrix in self._agreements(example, list(own.values())).items():
                    for (i, a), (j, b) in combinations(enumerate(own), 2):
                        if (measure, a, b) in values:
                            values[measure, a, b][s, place] = matrix[i, j]
        for (measure, a, b), of_pair in values.items():
            yield a, b, measure, of_pair
        for measure in MEASURES:
            real = [
                of for (name, *pair), of in values.items()
                if name == measure and not explained.random.intersection(pair)
            ]  # fmt: skip
            if len(real) > 1:
                yield "", "", measure, _mean(np.stack(real))

    def over_trainings(self) -> Iterator[tuple[str, str, FloatArray]]:
        """Yield a method, the measure and its (n,) mean values over the pairs of trainings."""
        explained = self._explained
        for method in explained.methods:
            values = {measure: np.full(len(self._examples), np.nan) for measure in MEASURES}
            for example, place in self._examples.items():
                own = [of[method][example] for of in explained.of.values()
                       if example in of.get(method, {})]  # fmt: skip
                for measure, matrix in self._agreements(example, own).items():
                    values[measure][place] = _mean(matrix[np.triu_indices(len(own), 1)])
            for measure, of_method in values.items():
                if measure != "sign" or method in explained.signed:
                    yield method, measure, of_method

    def _agreements(
        self, example: str, attributions: Sequence[Attribution]
    ) -> dict[str, FloatArray]:
        """Return the agreement of every two attributions of a text; NaN of different classes."""
        if len(attributions) < 2:
            return {}
        if len({one.tokens for one in attributions}) > 1:
            raise InputError(
                f"agreement: example '{example}' has other tokens in another explanation; compare "
                "words instead, with `unit: word`, or explain it again"
            )
        found = agreements(np.stack([one.scores for one in attributions]), self._top_share)
        targets = np.array([one.target for one in attributions])
        return {
            measure: np.where(targets[:, None] == targets, matrix, np.nan)
            for measure, matrix in found.items()
        }


def _mean(values: FloatArray) -> Any:
    """Return the mean of what is defined along the first axis; NaN where nothing is."""
    counts = (~np.isnan(values)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=0) / counts


def _tests(
    data: PreparedData, values: FloatArray, options: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Yield the test of every two groups by (s, n) values; nothing where none is defined."""
    if np.isnan(values).all():
        return
    groups = [example.group for example in data.examples]
    sets = [example.match_id for example in data.examples]
    for test in crossed_tests(list(values), groups, data.groups, sets, **options):
        means = {
            name: float(_mean(values[:, np.equal(groups, group)].ravel()))
            for name, group in (("mean_a", test.group_a), ("mean_b", test.group_b))
        }
        yield {**means, **asdict(test)}


def _described(test: Mapping[str, Any]) -> dict[str, Any]:
    """Return a test without what takes trainings for a sample."""
    untested = asdict(CrossedTest(test["group_a"], test["group_b"]))
    return {**untested, **JUDGED, **{name: test[name] for name in _OF_TEXTS}}
