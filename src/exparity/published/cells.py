"""Our cells beside the published ones, and how far they agree.

Cells share models and examples, so that they are not independent: no interval is given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from exparity.artefacts.grid import Grid
from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.published.shares import Claim, RunShares, claims_of, run_shares
from exparity.published.study import Key, PublishedStudy, Value, check_models, load_study
from exparity.stats.informative import of_quantity
from exparity.stats.rank_correlation import rank_correlation
from exparity.stats.seeds import count_seeds, majority

IDS = ("dataset", "model", "method", "metric")
WHOSE = ("ours", "published")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Agreement:
    """Agreement of our decisions with the study's, over the cells with a published id in common.

    Attributes:
        question: ``significant`` in most seeds, ``direction`` where both are significant,
            ``considerable``, or ``effect``, the mean d.
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
    """Our cells beside those of a published study.

    Attributes:
        study: the study.
        left_out: ids of ours that the study lacks, in words.
        matches: a row for each cell of ours with a published one; :mod:`exparity.published.output`
            has the columns. Both are counted as the study counts.
        agreements: the answers to every question.
    """

    study: PublishedStudy
    left_out: Sequence[str]
    matches: Sequence[Row]
    agreements: Sequence[Agreement]

    @cached_property
    def shares(self) -> Sequence[RunShares]:
        """Shares of significant and of considerable runs, ours and published."""
        return run_shares(self.study, self.matches)

    @cached_property
    def claims(self) -> Sequence[Claim]:
        """What the study's text says of such shares."""
        return claims_of(self.study, self.matches)

    @property
    def published_cells(self) -> int:
        """Return how many of the published cells have a counterpart of ours."""
        return len({tuple(match[kind] for kind in IDS) for match in self.matches})

    @property
    def examples(self) -> str:
        """Return how many examples a test of ours used, as a number or a range."""
        sizes = {match["n_examples"] for match in self.matches}
        return " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))


def compare_results(
    rows: Sequence[Row],
    grid: Grid,
    *,
    study: str = "dhaini2025",
    models: Mapping[str, str] | None = None,
) -> CellComparison:
    """Put the results of a grid beside a published study.

    Significance is decided with the study's α and considerable effects with its threshold,
    whatever our config says.

    Args:
        rows: rows of the disparity artefact.
        grid: that of the run; an id that it lacks is its own registered id.
        study: id of the study.
        models: our model ids to published ones, for models with other ids.

    Returns:
        The comparison; its ``matches`` are empty where nothing of ours was published.

    Raises:
        InputError: unknown study or model.
    """
    published = load_study(study)
    rows = of_quantity(rows, "score")
    names = _names(rows, published, grid)
    check_models(models or {}, published.names("model"), {row["model"] for row in rows})
    names["model"].update(models or {})
    cells: dict[Key, dict[tuple[str, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    left_out: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        sign = published.sign(row["group_a"], row["group_b"])
        ids = tuple(row[kind] for kind in IDS)
        key = Key(*(names[kind].get(our_id, "") for kind, our_id in zip(IDS, ids, strict=True)))
        unknown = {kind: row[kind] for kind in IDS if row[kind] not in names[kind]}
        if not sign:
            unknown["groups"] = f"{row['group_a']} and {row['group_b']}"
        elif not unknown and key not in published.cells:
            unknown["model"] = f"{row['model']} on {row['dataset']}"
        for kind, name in unknown.items():
            left_out[kind].add(name)
        if not unknown:
            significant = row["p"] <= published.facts.alpha  # False where p is NaN
            test = {**row, "cohens_d": sign * row["cohens_d"], "significant": significant}
            cells[key][ids].append(test)
    matches = [
        _match(ids, cells[key][ids], theirs, published.facts.threshold)
        for key, theirs in published.cells.items()
        for ids in sorted(cells.get(key, ()))
    ]
    named = [f"{kind} {', '.join(sorted(ids))}" for kind, ids in sorted(left_out.items())]
    return CellComparison(published, named, matches, agreements(matches))


def nothing_to_compare(comparison: CellComparison) -> InputError:
    """Return the error that says why no cell could be compared."""
    study = comparison.study
    missing = "; ".join(comparison.left_out)
    return InputError(
        f"no result has a counterpart in {study.id}, which lacks {missing}; "
        f"it has datasets {', '.join(study.names('dataset'))} and models "
        f"{', '.join(study.names('model'))} (`--map MODEL=PUBLISHED` for models with other names)"
    )


def _names(rows: Sequence[Row], study: PublishedStudy, grid: Grid) -> dict[str, dict[str, str]]:
    """Return the published id of each of our ids, by kind.

    An id has one if its instance uses the published id and is called so, or is the only one that
    uses it.
    """
    names: dict[str, dict[str, str]] = {}
    registered = (grid.datasets, grid.models, grid.methods, grid.metrics)
    for kind, known in zip(IDS, registered, strict=True):
        used = {row[kind]: known.get(row[kind]) or row[kind] for row in rows}
        users = {
            name: [our_id for our_id, published in used.items() if published == name]
            for name in study.names(kind)
        }
        names[kind] = {
            name if name in ids else ids[0]: name
            for name, ids in users.items()
            if name in ids or len(ids) == 1
        }
    return names


def _match(
    ids: Sequence[str], tests: Sequence[Row], theirs: Value, threshold: float
) -> dict[str, Any]:
    """Return one of our cells, counted as the study counts, beside the published one."""
    ours = count_seeds(tests, threshold)
    return {
        **theirs.key._asdict(),
        **{f"our_{kind}": our_id for kind, our_id in zip(IDS, ids, strict=True)},
        **{f"{name}_ours": value for name, value in vars(ours).items()},
        "significant_published": theirs.significant,
        "total_published": theirs.runs,
        "direction_published": None if theirs.mean is None else int(np.sign(theirs.mean)),
        "mean_d_published": theirs.mean,
        "sd_d_published": theirs.sd,
        "considerable_published": theirs.considerable,
        "n_examples": min(test["n_examples"] for test in tests),
        "flags": " ".join(ours.flags),
        **{name: getattr(theirs, name) for name in ("table", "effect_table", "effect_label")},
    }


def agreements(matches: Sequence[Row]) -> list[Agreement]:
    """Ask every question of all cells, and of the cells of each dataset, model, method, metric."""
    parts = [("all", "", matches)]
    for by in IDS:
        parts += [(by, group, part) for group, part in grouped(matches, itemgetter(by)).items()]
    return [answer for part in parts for answer in _answers(*part)]


def _answers(by: str, group: str, matches: Sequence[Row]) -> Iterator[Agreement]:
    decisions = [_decisions(match) for match in matches]
    for question in ("significant", "direction", "considerable"):
        both = [answers[question] for answers in decisions if question in answers]
        n = len(both)
        agree = sum(ours == theirs for ours, theirs in both)
        if n:
            ours, theirs = map(sum, zip(*both, strict=True))
            expected = (ours * theirs + (n - ours) * (n - theirs)) / n**2
            kappa = None if expected == 1 else (agree / n - expected) / (1 - expected)
            yield Agreement(question, by, group, n, agree, agree / n, expected, kappa)
        elif by == "all":
            yield Agreement(question, by, group, n, agree)
    both_means = (
        [match[f"mean_d_{side}"] for side in WHOSE]
        for match in matches
        if match["significant_ours"]
    )
    effects = [means for means in both_means if None not in means]
    rho = rank_correlation(*zip(*effects, strict=True)).correlation if effects else math.nan
    yield Agreement("effect", by, group, len(effects), rho=None if math.isnan(rho) else rho)


def _decisions(match: Row) -> dict[str, tuple[bool, ...]]:
    """Return our decision and the study's by question, without those that one cannot answer."""
    most = tuple(majority(match[f"significant_{side}"], match[f"total_{side}"]) for side in WHOSE)
    signs = tuple(match[f"direction_{side}"] for side in WHOSE)
    decisions = {"significant": most}
    if all(most) and all(signs):
        decisions["direction"] = tuple(sign > 0 for sign in signs)
    if match["considerable_published"] is not None:
        decisions["considerable"] = tuple(match[f"considerable_{side}"] for side in WHOSE)
    return decisions
