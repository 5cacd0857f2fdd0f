"""Analysis agreement: do trainings, and do methods, explain the same text alike, in every group?

Explanations that change with the training, or with the method, are of little use to the person that
a text is about. The analysis reads attributions that are there, and runs no model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses.agreement.section import MEASURES, findings
from exparity.artefacts.columns import Row, records
from exparity.artefacts.ids import Ids
from exparity.core.errors import InputError
from exparity.core.flags import Params, Range
from exparity.core.settings import Statistics
from exparity.core.validation import read_settings
from exparity.data.table import read_prepared
from exparity.methods.facts import RANDOM
from exparity.quantities.inputs import model_of, read_all
from exparity.stats.crossed import CrossedTest, crossed_gaps
from exparity.stats.model_bias import is_collapsed
from exparity.stats.samples import GroupedTexts
from exparity.stats.verdicts import JUDGED, JUDGED_COLUMNS, judge
from exparity.types import FloatArray

Unit = Literal["token", "word"]
_FEWEST = 3
"""Tokens below which two attributions have no correlation to speak of."""
_OF_TEXTS = {
    *("group_a", "group_b", "n_sets", "n_a", "n_b"),
    *("mean_a", "mean_b", "estimate", "pooled_sd", "d"),
}
_UNTESTED = {k: v for k, v in {**vars(CrossedTest("", "")), **JUDGED}.items() if k not in _OF_TEXTS}
"""Columns of a comparison that take trainings for a sample, as without a test."""


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


Explained = Mapping[str, Attribution]
"""Attributions by one method in one training, by example."""
Agreements = Callable[[Sequence[Explained]], dict[str, FloatArray]]
"""Function of v explanations that returns (n, v, v) agreements, by measure."""


def _job_options(experiment: ExperimentView, ids: Ids, **settings: Any) -> dict[str, object]:
    """Refuse a config in which nothing is explained twice."""
    if len(experiment.methods) < 2 and len(experiment.seeds) < 2:
        raise InputError("analyses.agreement: takes two methods or two seeds; name another one")
    return settings


@analysis(
    "agreement",
    level="model",
    reads=("data", "predictions", "explanations"),
    writes={
        "agreement": Table(
            "between method_a method_b measure unit: string",
            "top_share: float64",
            CrossedTest,
            *JUDGED_COLUMNS,
            keys=("between", "method_a", "method_b", "measure", "group_a", "group_b"),
        )
    },
    display="Agreement of explanations",
    statistics=("alpha", "threshold", "confidence"),
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

    The agreement of two methods is judged like a metric, over trainings and texts, and corrected
    over all pairs and measures of the model. The agreement of trainings is a mean over all pairs of
    them, and is not tested: pairs of trainings are no sample. Attributions of different classes are
    not compared, and classifiers that predict one class are left out.

    Args:
        data: the data artefact.
        predictions: predictions artefacts, one per seed.
        explanations: explanations artefacts of one dataset and model; one per seed and method.
        top_share: share of a text's tokens that counts as its top.
        unit: part of a text with one attribution; a word has the sum of its tokens'.
        statistics: ``alpha``, ``threshold`` and ``confidence`` of the config's statistics.

    Raises:
        InputError: a file of another model or other data, or texts with other tokens from one
            training to the next.
    """
    prepared = read_prepared(data, "test")
    source = data, {"dataset": prepared.dataset}
    collapsed = {
        metadata.ids.seed
        for table, metadata in read_all("predictions", predictions, source, over=("seed",))
        if is_collapsed(table.column("predicted").to_pylist())
    }
    uses: dict[str, str] = {}
    by_seed: dict[int, dict[str, Explained]] = defaultdict(dict)
    for table, metadata in read_all("explanations", explanations, source, over=("seed",)):
        method = metadata.ids.method
        seed = metadata.ids.seed
        uses[method] = metadata.use or method
        if seed not in collapsed:
            by_seed[seed][method] = {
                row.example_id: row.attribution(unit) for row in records(_Explanation, table)
            }
    trainings = [by_method for _, by_method in sorted(by_seed.items())]
    examples = [example.example_id for example in prepared.examples]
    settings = read_settings(Statistics, statistics, "statistics")
    texts = GroupedTexts.of(
        [example.group for example in prepared.examples],
        prepared.groups,
        [example.match_id for example in prepared.examples],
    )
    agreements_of = partial(_agreements, examples=examples, top_share=top_share)

    def tests_of(kind: str, compared: Iterable[tuple[dict[str, str], FloatArray]]) -> list[Row]:
        return [
            {"between": kind, **pair, "unit": unit, "top_share": top_share, **asdict(test)}
            for pair, values in compared
            for test in (
                [] if np.isnan(values).all() else crossed_gaps(list(values), texts, settings)
            )
        ]

    between_methods = tests_of("methods", _between_methods(trainings, uses, agreements_of))
    over_trainings = tests_of("trainings", _over_trainings(trainings, uses, agreements_of))
    rows: list[Row] = [*judge(between_methods, (), alpha=settings.alpha)]
    rows += [{**row, **_UNTESTED, "n_seeds": len(by_seed)} for row in over_trainings]
    return StageResult(rows, model_of(metadata), prepared.compared)


@dataclass(frozen=True)
class _Explanation:
    """A row of explanations."""

    example_id: str
    target: int
    token_ids: list[int]
    word_ids: list[int]
    scores: list[float]

    def attribution(self, unit: Unit) -> Attribution:
        """Return it without special tokens, with a value for each unit."""
        words = np.array(self.word_ids, dtype=np.int64)
        is_content = words >= 0
        scores = np.array(self.scores, dtype=np.float64)[is_content]
        tokens = tuple(np.array(self.token_ids)[is_content].tolist())
        if unit == "word":
            scores = np.bincount(words[is_content], weights=scores).astype(np.float64)
            tokens = (len(scores),)
        return Attribution(tokens, int(self.target), scores)


def _between_methods(
    trainings: Sequence[Mapping[str, Explained]], uses: Mapping[str, str], agreements_of: Agreements
) -> Iterator[tuple[dict[str, str], FloatArray]]:
    """Yield two methods and a measure, and their (s, n) values; empty names are of all pairs."""
    methods = sorted(uses)
    by_training = [
        agreements_of([explained.get(method, {}) for method in methods]) for explained in trainings
    ]
    signed = [_is_signed(trainings, method) for method in methods]
    for measure in MEASURES:
        real = []
        for (i, a), (j, b) in combinations(enumerate(methods), 2):
            if measure != "sign" or (signed[i] and signed[j]):
                values = np.array([matrices[measure][:, i, j] for matrices in by_training])
                yield {"method_a": a, "method_b": b, "measure": measure}, values
                if RANDOM not in (uses[a], uses[b]):
                    real.append(values)
        if len(real) > 1:
            yield {"method_a": "", "method_b": "", "measure": measure}, _mean(np.stack(real))


def _over_trainings(
    trainings: Sequence[Mapping[str, Explained]], uses: Mapping[str, str], agreements_of: Agreements
) -> Iterator[tuple[dict[str, str], FloatArray]]:
    """Yield a method and a measure, and its (1, n) mean values over the pairs of trainings."""
    pairs = np.triu_indices(len(trainings), 1)
    for method in sorted(uses):
        signed = _is_signed(trainings, method)
        explained = [by_method.get(method, {}) for by_method in trainings]
        for measure, matrices in agreements_of(explained).items():
            if measure != "sign" or signed:
                values = _mean(matrices[:, *pairs], axis=1)
                yield {"method_a": method, "method_b": "", "measure": measure}, values[None]


def _is_signed(trainings: Iterable[Mapping[str, Explained]], method: str) -> bool:
    """Return whether some attribution by a method is negative."""
    return any(
        (attribution.scores < 0).any()
        for by_method in trainings
        for attribution in by_method.get(method, {}).values()
    )


def _agreements(
    explained: Sequence[Explained], examples: Sequence[str], top_share: float
) -> dict[str, FloatArray]:
    """Return (n, v, v) agreements of v explanations of each text, by measure.

    They are NaN where one is missing, or where both explain different classes.
    """
    v = len(explained)
    agreement = {measure: np.full((len(examples), v, v), np.nan) for measure in MEASURES}
    for n, example in enumerate(examples):
        present = [i for i, by_example in enumerate(explained) if example in by_example]
        attributions = [explained[i][example] for i in present]
        if len({attribution.tokens for attribution in attributions}) > 1:
            raise InputError(
                f"agreement: example '{example}' has other tokens in another explanation; compare "
                "words instead, with `unit: word`, or explain it again"
            )
        if len(attributions) > 1:
            targets = np.array([attribution.target for attribution in attributions])
            same_target = targets[:, None] == targets
            scores = np.stack([attribution.scores for attribution in attributions])
            for measure, matrix in agreements(scores, top_share).items():
                places = np.ix_(present, present)
                agreement[measure][n][places] = np.where(same_target, matrix, np.nan)
    return agreement


def _mean(values: FloatArray, axis: int = 0) -> Any:
    """Return the mean of what is defined along an axis; NaN where nothing is."""
    counts = (~np.isnan(values)).sum(axis=axis)
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=axis) / counts


def agreements(scores: FloatArray, top_share: float) -> dict[str, FloatArray]:
    """Return how far every two attributions of one text agree, by measure.

    ``spearman`` is the rank correlation of sizes, ties sharing their mean rank. ``top_overlap`` is
    the share that two attributions have in common of their k = max(1, round(top_share · t)) largest
    sizes, the first of equal ones. ``sign`` is the share of these common ones whose sign is the
    same (Krishna et al. 2022, arXiv:2202.01602, where k is a number of features).

    Args:
        scores: (v, t) attributions, a row each.
        top_share: share of the tokens that counts as the top.

    Returns:
        (v, v) values by measure: in [−1, 1], [0, 1] and [0, 1]. NaN with fewer than three tokens,
        where an attribution has the same size everywhere or is undefined, and of signs where two
        have no token in common.
    """
    from scipy.stats import rankdata

    v, t = scores.shape
    if t < _FEWEST:
        return {measure: np.full((v, v), np.nan) for measure in MEASURES}
    sizes = np.abs(scores)
    is_defined = np.ptp(sizes, axis=1) > 0  # False where one is NaN, too
    k = max(1, round(top_share * t))
    top = np.zeros((v, t))
    np.put_along_axis(top, np.argsort(-sizes, axis=1, kind="stable")[:, :k], 1.0, axis=1)
    above = top * (scores > 0)
    below = top * (scores < 0)
    common = top @ top.T
    with np.errstate(divide="ignore", invalid="ignore"):
        agreement = {
            "spearman": np.corrcoef(rankdata(sizes, axis=1)).reshape(v, v),
            "top_overlap": common / k,
            "sign": (above @ above.T + below @ below.T) / common,
        }
    for matrix in agreement.values():
        matrix[~is_defined, :] = matrix[:, ~is_defined] = np.nan
    return agreement
