"""Analysis agreement: do trainings, and do methods, explain the same text alike, in every group?

Explanations that change with the training, or with the method, are of little use to the person that
a text is about. The analysis reads attributions that are there, and runs no model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from exparity.analyses import ExperimentView, StageResult, Table, analysis, fields
from exparity.analyses.agreement._pairwise import MEASURES, agreements
from exparity.analyses.agreement.section import findings
from exparity.artefacts.columns import record_columns
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
    """The attribution of one text, without special tokens.

    Attributes:
        tokens: what it is of: token ids, or the number of words.
        target: the class that it explains.
        scores: (t,) a value for each of them.
    """

    tokens: tuple[int, ...]
    target: int
    scores: FloatArray


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
    options = experiment.config.statistics.model_dump(include={*_OPTIONS})
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
    source, collapsed = (data, {"dataset": prepared.dataset}), set()
    for table, metadata in read_all("predictions", predictions, source, over_seeds=True):
        if is_collapsed(table.column("predicted").to_pylist()):
            collapsed.add(metadata["wildcards"]["seed"])
    uses: dict[str, str] = {}
    of: dict[int, dict[str, Mapping[str, Attribution]]] = defaultdict(dict)
    for table, metadata in read_all("explanations", explanations, source, over_seeds=True):
        ids = metadata["wildcards"]
        uses[ids["method"]] = metadata["parameters"].get("use", ids["method"])
        if ids["seed"] not in collapsed:
            rows_of_method = table.to_pylist()
            attributions = {row["example_id"]: _attribution(row, unit) for row in rows_of_method}
            of[ids["seed"]][ids["method"]] = attributions
    values = _Values(of, uses, [example.example_id for example in prepared.examples], top_share)
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
            "n_seeds": len(of),
        }
        for method, measure, of_method in values.over_trainings()
        for test in _tests(prepared, of_method[None], statistics)
    ]
    asked = {"unit": unit, "top_share": top_share}
    return StageResult(
        [{**row, **asked} for row in rows],
        {name: ids[name] for name in ("dataset", "model")},
        prepared.compared,
    )


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
    """The agreement of attributions, text by text.

    Args:
        of: attributions by seed, method and example.
        uses: what each method is an instance of.
        examples: (n,) ids.
        top_share: share of a text's tokens that counts as its top.
    """

    def __init__(
        self,
        of: Mapping[int, Mapping[str, Mapping[str, Attribution]]],
        uses: Mapping[str, str],
        examples: Sequence[str],
        top_share: float,
    ) -> None:
        self._of = [by_method for _, by_method in sorted(of.items())]
        self._methods, self._examples, self._top_share = sorted(uses), examples, top_share
        self._random = {method for method, use in uses.items() if use == _RANDOM}
        self._signed = {
            method
            for by_method in self._of
            for method, attributions in by_method.items()
            if any((one.scores < 0).any() for one in attributions.values())
        }

    def between_methods(self) -> Iterator[tuple[str, str, str, FloatArray]]:
        """Yield two methods, the measure and its (s, n) values; empty names are of all pairs."""
        values = {
            (measure, *pair): np.full((len(self._of), len(self._examples)), np.nan)
            for measure in MEASURES
            for pair in combinations(self._methods, 2)
            if measure != "sign" or self._signed.issuperset(pair)
        }
        for s, by_method in enumerate(self._of):
            for place, example in enumerate(self._examples):
                found = ((m, by_method.get(m, {}).get(example)) for m in self._methods)
                own = {method: one for method, one in found if one is not None}
                for measure, matrix in self._agreements(example, list(own.values())).items():
                    for (i, a), (j, b) in combinations(enumerate(own), 2):
                        if (measure, a, b) in values:
                            values[measure, a, b][s, place] = matrix[i, j]
        for (measure, a, b), of_pair in values.items():
            yield a, b, measure, of_pair
        for measure in MEASURES:
            real = [
                of
                for (name, *pair), of in values.items()
                if name == measure and self._random.isdisjoint(pair)
            ]
            if len(real) > 1:
                yield "", "", measure, _mean(np.stack(real))

    def over_trainings(self) -> Iterator[tuple[str, str, FloatArray]]:
        """Yield a method, the measure and its (n,) mean values over the pairs of trainings."""
        for method in self._methods:
            values = {measure: np.full(len(self._examples), np.nan) for measure in MEASURES}
            trained = [of[method] for of in self._of if method in of]
            for place, example in enumerate(self._examples):
                own = [of[example] for of in trained if example in of]
                for measure, matrix in self._agreements(example, own).items():
                    values[measure][place] = _mean(matrix[np.triu_indices(len(own), 1)])
            for measure, of_method in values.items():
                if measure != "sign" or method in self._signed:
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
