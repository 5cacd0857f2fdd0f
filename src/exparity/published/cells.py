"""Our cells beside the published ones, and how far they agree.

Cells share models and examples, so that they are not independent: no interval is given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.errors import InputError
from exparity.published.study import Key, PublishedStudy, Value, check_models, load_study
from exparity.stats.informative import of_quantity
from exparity.stats.rank_correlation import rank_correlation
from exparity.stats.seeds import SeedCounts, count_seeds

IDS = ("dataset", "model", "method", "metric")
Row = Mapping[str, Any]
Decisions = tuple[int, int]


@dataclass(frozen=True)
class MatchedCell:
    """One of our cells, counted as the study counts, beside the published one.

    ``ids`` are ours of dataset, model, method and metric; ``n_examples`` the fewest of a test.
    """

    ids: tuple[str, ...]
    ours: SeedCounts
    n_examples: int
    theirs: Value


@dataclass(frozen=True)
class Agreement:
    """Agreement of our decisions with the study's, over the cells with a published id in common.

    Attributes:
        question: what is decided; see :data:`QUESTIONS`. ``effect`` is the mean d.
        by, group: kind and value of that id; ``all`` and empty for all cells.
        n, agree: cells in which both can be asked, and those in which both decide alike.
        share: their share; None if n is 0.
        expected: share expected by chance: of two independent deciders with these rates.
        kappa: Cohen's kappa, (share − expected) / (1 − expected); None where chance alone agrees
            always.
        rho: of ``effect``, Spearman's rank correlation over the cells with a significant seed in
            both; None below three cells or where one side is constant.
    """

    question: str
    by: str
    group: str
    n: int
    agree: int | None = None
    share: float | None = None
    expected: float | None = None
    kappa: float | None = None
    rho: float | None = None


@dataclass(frozen=True)
class CellComparison:
    """Our cells beside those of a published study; ``left_out`` is what of ours it has not."""

    study: PublishedStudy
    left_out: Sequence[str]
    matches: Sequence[MatchedCell]
    agreements: Sequence[Agreement]

    @property
    def published_cells(self) -> int:
        """Return how many of the published cells have a counterpart of ours."""
        return len({match.theirs.key for match in self.matches})

    @property
    def examples(self) -> str:
        """Return how many examples a test of ours used, as a number or a range."""
        sizes = {match.n_examples for match in self.matches}
        return " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))


def compare_results(
    rows: Sequence[Row],
    options: Mapping[str, Any],
    *,
    study: str = "dhaini2025",
    models: Mapping[str, str] | None = None,
) -> CellComparison:
    """Put the results of a grid beside a published study.

    Significance is decided with the study's α and considerable effects with its threshold,
    whatever our config says.

    Args:
        rows: rows of the disparity artefact.
        options: the grid of the run; what is missing is taken from the rows.
        study: id of the study.
        models: our model ids to published ones, for models with other ids.

    Returns:
        The comparison; its ``matches`` are empty where nothing of ours was published.

    Raises:
        InputError: unknown study or model.
    """
    published, rows = load_study(study), of_quantity(rows, "score")
    names = _names(rows, published, options)
    check_models(models or {}, published.names("model"), {row["model"] for row in rows})
    names["model"].update(models or {})
    cells: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    left_out: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        pair = row["group_a"], row["group_b"]
        sign = {published.groups: 1, published.groups[::-1]: -1}.get(pair, 0)
        unknown = {kind: row[kind] for kind in IDS if row[kind] not in names[kind]}
        if not sign:
            unknown["groups"] = " and ".join(pair)
        for kind, id in unknown.items():
            left_out[kind].add(id)
        if not unknown:
            significant = row["p"] <= published.facts["alpha"]  # False where p is NaN
            test = {**row, "cohens_d": sign * row["cohens_d"], "significant": significant}
            cells[tuple(row[kind] for kind in IDS)].append(test)
    matches = []
    for ids, tests in cells.items():
        theirs = published.cells.get(
            Key(*(names[kind][id] for kind, id in zip(IDS, ids, strict=True)))
        )
        if theirs is None:
            left_out["model"].add(f"{ids[1]} on {ids[0]}")
            continue
        ours = count_seeds(tests, published.facts["threshold"])
        matches.append(MatchedCell(ids, ours, min(test["n_examples"] for test in tests), theirs))
    order = {key: position for position, key in enumerate(published.cells)}
    matches.sort(key=lambda match: (order[match.theirs.key], match.ids))
    named = [f"{kind} {', '.join(sorted(ids))}" for kind, ids in sorted(left_out.items())]
    return CellComparison(published, named, matches, agreements(matches))


def nothing_to_compare(comparison: CellComparison) -> InputError:
    """Return the error that says why no cell could be compared."""
    study, missing = comparison.study, "; ".join(comparison.left_out)
    return InputError(
        f"no result has a counterpart in {study.id}, which has not {missing}; "
        f"it has datasets {', '.join(study.names('dataset'))} and models "
        f"{', '.join(study.names('model'))} (`--map MODEL=PUBLISHED` for models with other names)"
    )


def _names(
    rows: Sequence[Row], study: PublishedStudy, options: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """Return which of our ids stand for a published one, by kind.

    An id does if its instance uses the published id and is called so, or is the only one that uses
    it.
    """
    names: dict[str, dict[str, str]] = {}
    for kind in IDS:
        known = dict(options.get(f"{kind}s") or {})
        used = {row[kind]: known.get(row[kind]) or row[kind] for row in rows}
        users = {name: [id for id, of in used.items() if of == name] for name in study.names(kind)}
        names[kind] = {
            name if name in ids else ids[0]: name
            for name, ids in users.items()
            if name in ids or len(ids) == 1
        }
    return names


def _significant(match: MatchedCell) -> Decisions | None:
    return match.ours.in_most_seeds, match.theirs.in_most_seeds


def _direction(match: MatchedCell) -> Decisions | None:
    """Compare signs of mean d where both call the cell significant and print a sign."""
    theirs = match.theirs.mean
    if _significant(match) != (True, True) or not theirs or not match.ours.direction:
        return None
    return match.ours.direction > 0, theirs > 0


def _considerable(match: MatchedCell) -> Decisions | None:
    theirs = match.theirs.considerable
    return None if theirs is None else (match.ours.considerable, theirs)


QUESTIONS: dict[str, Callable[[MatchedCell], Decisions | None]] = {
    "significant": _significant,
    "direction": _direction,
    "considerable": _considerable,
}


def agreements(matches: Sequence[MatchedCell]) -> list[Agreement]:
    """Ask every question of all cells, and of the cells of each dataset, model, method, metric."""
    answers = []
    for by, group, chosen in _groups(matches):
        for question, ask in QUESTIONS.items():
            decisions = [d for d in map(ask, chosen) if d is not None]
            if decisions or by == "all":
                answers.append(_agreement(question, by, group, decisions))
        effects = [
            (match.ours.mean_d, match.theirs.mean)
            for match in chosen
            if match.ours.significant and None not in (match.ours.mean_d, match.theirs.mean)
        ]
        rho = rank_correlation(*zip(*effects, strict=True)).correlation if effects else math.nan
        answers.append(
            Agreement("effect", by, group, len(effects), rho=None if math.isnan(rho) else rho)
        )
    return answers


def _groups(matches: Sequence[MatchedCell]) -> Iterator[tuple[str, str, list[MatchedCell]]]:
    yield "all", "", list(matches)
    for place, by in enumerate(IDS):
        for group in dict.fromkeys(match.theirs.key[place] for match in matches):
            yield by, group, [match for match in matches if match.theirs.key[place] == group]


def _agreement(question: str, by: str, group: str, decisions: Sequence[Decisions]) -> Agreement:
    n = len(decisions)
    agree = sum(ours == theirs for ours, theirs in decisions)
    if not n:
        return Agreement(question, by, group, n, agree)
    ours, theirs = (sum(map(bool, side)) for side in zip(*decisions, strict=True))
    expected = (ours * theirs + (n - ours) * (n - theirs)) / n**2
    kappa = None if expected == 1 else (agree / n - expected) / (1 - expected)
    return Agreement(question, by, group, n, agree, agree / n, expected, kappa)
