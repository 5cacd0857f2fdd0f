"""Analysis attribution_difference: explanations of matched sets to differences word by word.

Words of one sentence share its attribution, so that a matched set counts once. Wilming et al. 2024
(figures 7 and 8) test the differences of all words as one sample, as does the option ``pooled``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from exparity.analyses import StageResult, Table, analysis
from exparity.analyses.attribution_difference.section import findings
from exparity.artefacts.columns import records
from exparity.artefacts.ids import Ids
from exparity.core.flags import Range
from exparity.core.grouping import grouped
from exparity.data.table import read_prepared
from exparity.explanations import Explanation
from exparity.metrics import Attribution, word_arrays
from exparity.quantities.explained import ExplainedText
from exparity.quantities.inputs import Lookup, cell_of, read_all
from exparity.stats.effect import d_z
from exparity.stats.multiplicity import holm
from exparity.stats.rank_tests import signed_rank
from exparity.types import Example, FloatArray

log = logging.getLogger(__name__)
Sets = Mapping[str, Mapping[str, Example]]


class WordPair(NamedTuple):
    """A word of the rationale in both members of a matched set, and its shares of attribution."""

    set_id: str
    word_a: str
    word_b: str
    value_a: float
    value_b: float


@dataclass(frozen=True)
class WordDifference:
    """The difference of a word's attribution between the members of matched sets.

    Attributes:
        word_a, word_b: the word in the first and the second member, lower-cased; empty for all.
        n_sets, n_words: matched sets and words.
        mean_a, mean_b: mean share of the attribution in each, over the sets.
        mean_difference: first minus second.
        mean_absolute_difference: mean size of the differences, over the words.
        d_z: paired effect size over the sets.
        p: p-value of the signed-rank test over the sets; NaN of too few.
        p_holm: the same, corrected by Holm over the words.
        p_pooled: that of all words as one sample; NaN if it is left out.
    """

    word_a: str
    word_b: str
    n_sets: int
    n_words: int
    mean_a: float
    mean_b: float
    mean_difference: float
    mean_absolute_difference: float
    d_z: float
    p: float
    p_holm: float
    p_pooled: float


def attribution_differences(
    pairs: Iterable[WordPair], *, min_sets: int = 6, pooled: bool = False
) -> list[WordDifference]:
    """Compare the attribution of words between the members of matched sets.

    Within a set the occurrences of a word are averaged, so that sets are the observations.

    Args:
        pairs: words of the rationale; those with a value that is not finite are left out.
        min_sets: fewest sets that a test is made for; fewer than six cannot be significant at 5 %.
        pooled: whether to test the words as one sample, too, each of them an observation.

    Returns:
        The differences of all words together, then of each word, the most frequent first; none if
        there are no pairs.
    """
    kept = [pair for pair in pairs if np.isfinite(pair.value_a + pair.value_b)]
    if not kept:
        return []
    words = grouped(kept, lambda pair: (pair.word_a.lower(), pair.word_b.lower()))
    by_word = [
        _compared(*word, part, min_sets=min_sets, pooled=pooled) for word, part in words.items()
    ]
    by_word.sort(key=lambda word: (-word.n_sets, word.word_a, word.word_b))
    corrected = holm([word.p for word in by_word]).tolist()
    return [
        _compared("", "", kept, min_sets=min_sets, pooled=pooled),
        *(replace(word, p_holm=p) for word, p in zip(by_word, corrected, strict=True)),
    ]


def _compared(
    word_a: str, word_b: str, pairs: Sequence[WordPair], *, min_sets: int, pooled: bool
) -> WordDifference:
    """Return the difference of a word, or of all words, which is not corrected."""
    values = np.array([(pair.value_a, pair.value_b) for pair in pairs])  # (words, 2)
    by_set = grouped(range(len(pairs)), lambda i: pairs[i].set_id).values()
    means = np.array([values[places].mean(axis=0) for places in by_set])  # (sets, 2)
    differences: FloatArray = means[:, 0] - means[:, 1]
    p = float(signed_rank(differences)) if len(means) >= min_sets else np.nan
    word_differences: FloatArray = values[:, 0] - values[:, 1]
    p_pooled = np.nan
    if pooled and len(word_differences) >= min_sets:
        p_pooled = float(signed_rank(word_differences))
    return WordDifference(
        word_a,
        word_b,
        n_sets=len(means),
        n_words=len(pairs),
        mean_a=float(means[:, 0].mean()),
        mean_b=float(means[:, 1].mean()),
        mean_difference=float(differences.mean()),
        mean_absolute_difference=float(np.abs(word_differences).mean()),
        d_z=float(d_z(differences)) if len(means) > 1 else np.nan,
        p=p,
        p_holm=p,
        p_pooled=p_pooled,
    )


@analysis(
    "attribution_difference",
    level="seed",
    reads=("data", "explanations"),
    writes={
        "attribution_differences": Table(
            "group_a group_b: string",
            WordDifference,
            keys=("method", "group_a", "group_b", "word_a", "word_b"),
            ids=("method",),
        )
    },
    needs=("groups", "rationale"),
    display="Attribution within matched sets",
    memory_mb=4000,
    minutes=10,
    section=findings,
)
def attribution_difference_cell(
    data: Path,
    explanations: Sequence[Path],
    *,
    attribution: Attribution = "absolute",
    min_sets: Annotated[int, Range(at_least=1)] = 6,
    pooled: bool = False,
) -> StageResult:
    """Compare the attribution of the rationale's words between the members of matched sets.

    Each text's attributions are summed to words and divided by their sum. Words at the same place
    of two members are compared, where either text marks the word; members with another number of
    words are left out.

    Args:
        data: the data artefact.
        explanations: explanations artefacts of one dataset, model and seed; one per method.
        attribution: what counts of each token; see :mod:`exparity.metrics`.
        min_sets: fewest matched sets that a word is tested with.
        pooled: whether the words of all sets are also tested as one sample, as by Wilming et al.
            (2024, figure 8). Words of one set depend on each other, so that this finds too much.

    Raises:
        InputError: a file of another trained classifier or other data.
    """
    prepared = read_prepared(data, "test")
    examples = Lookup(data, "test example", ((e.example_id, e) for e in prepared.examples))
    sets = {match: {e.group: e for e in members} for match, members in prepared.sets.items()}
    rows: list[dict[str, object]] = []
    ids = Ids()
    unaligned: set[str] = set()
    same_dataset = data, {"dataset": prepared.dataset}
    for table, metadata in read_all("explanations", explanations, same_dataset):
        ids = cell_of(metadata)
        values = _word_values(records(ExplainedText, table), examples, attribution)
        for a, b in combinations(prepared.groups, 2):
            pairs = _pairs(sets, a, b, values, unaligned)
            compared = {"method": metadata.ids.method, "group_a": a, "group_b": b}
            rows += [
                {**compared, **asdict(difference)}
                for difference in attribution_differences(pairs, min_sets=min_sets, pooled=pooled)
            ]
    if not rows:
        log.warning("%s: no two explained texts are a matched set; nothing is compared", data)
    if unaligned:
        log.warning("%d matched sets left out: other numbers of words", len(unaligned))
    notes = {"unaligned_sets": len(unaligned)}
    return StageResult(rows, ids, {**prepared.compared, "notes": notes})


def _word_values(
    rows: Sequence[ExplainedText],
    examples: Mapping[str, Example],
    attribution: Attribution,
) -> dict[str, FloatArray]:
    """Return (w,) shares of the attribution that words hold, by example; NaN where all are zero."""
    explanations = [
        Explanation(
            text=examples[row.example_id].text,
            special_mask=np.array(row.word_ids) < 0,
            # Here only for the number of words, so that those that were cut away count.
            rationale=[0] * len(examples[row.example_id].all_words),
            target=row.target,
            tokens=row.tokens,
            scores=np.array(row.scores, dtype=np.float64),
            word_ids=np.array(row.word_ids, dtype=np.int64),
        )
        for row in rows
    ]
    if not explanations:
        return {}
    scores = word_arrays(explanations, attribution)[0]
    with np.errstate(invalid="ignore"):
        shares = scores / scores.sum(axis=1, keepdims=True)
    return {row.example_id: share for row, share in zip(rows, shares, strict=True)}


def _pairs(
    sets: Sets, a: str, b: str, values: Mapping[str, FloatArray], unaligned: set[str]
) -> Iterator[WordPair]:
    """Yield the words of the rationale that the members of two groups have at the same place."""
    for match, members in sets.items():
        pair = [members[group] for group in (a, b) if group in members]
        if len(pair) < 2 or any(member.example_id not in values for member in pair):
            continue
        if len({(len(member.words), len(member.all_words)) for member in pair}) > 1:
            unaligned.add(match)
            continue
        words = zip(*(member.all_words for member in pair), strict=True)
        blank = (0,) * len(pair[0].all_words)
        marks = zip(*(member.rationale or blank for member in pair), strict=True)
        shares = zip(*(values[member.example_id].tolist() for member in pair), strict=True)
        # Shares of the texts of a batch are padded to the longest.
        for word_pair, marked, share_pair in zip(words, marks, shares, strict=False):
            if any(marked):
                yield WordPair(match, *word_pair, *share_pair)
