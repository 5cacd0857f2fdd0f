"""Our cells beside the published ones, and how far they agree.

Cells share models and examples, so that they are not independent: no interval is given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from exparity.artefacts.grid import Grid
from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.published.matches import CellMatch
from exparity.published.shares import Claim, RunShares, claims_of, run_shares
from exparity.published.study import Key, PublishedStudy, Value, check_models, load_study
from exparity.stats.rank_correlation import rank_correlation
from exparity.stats.seeds import SeedTest, count_seeds, majority, of_quantity

IDS = ("dataset", "model", "method", "metric")


class _OurIds(NamedTuple):
    """Our ids of a cell."""

    dataset: str
    model: str
    method: str
    metric: str


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
        matches: each cell of ours beside its published one.
        agreements: the answers to every question.
    """

    study: PublishedStudy
    left_out: Sequence[str]
    matches: Sequence[CellMatch]
    agreements: Sequence[Agreement]

    @cached_property
    def shares(self) -> Sequence[RunShares]:
        """Shares of significant and of considerable runs, ours and published."""
        return run_shares(self.study, self.matches)

    @cached_property
    def claims(self) -> Sequence[Claim]:
        """Shares by the study's text."""
        return claims_of(self.study, self.matches)

    @property
    def published_cells(self) -> int:
        """Return how many of the published cells have a counterpart of ours."""
        return len({attrgetter(*IDS)(match) for match in self.matches})

    @property
    def examples(self) -> str:
        """Return how many examples a test of ours used, as a number or a range."""
        sizes = {match.n_examples for match in self.matches}
        return " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))


def compare_results(
    tests: Sequence[SeedTest],
    grid: Grid,
    *,
    study: str = "dhaini2025",
    models: Mapping[str, str] | None = None,
) -> CellComparison:
    """Put the results of a grid beside a published study.

    Significance is decided with the study's α and considerable effects with its threshold,
    whatever our config says.

    Args:
        tests: rows of the disparity artefact.
        grid: that of the run; an id that it lacks is its own registered id.
        study: id of the study.
        models: our model ids to published ones, for models with other ids.

    Returns:
        The comparison; its ``matches`` are empty where nothing of ours was published.

    Raises:
        InputError: unknown study or model.
    """
    published = load_study(study)
    scores = of_quantity(tests, "score")
    names = _names(scores, published, grid)
    check_models(models or {}, published.names("model"), {test.model for test in scores})
    names["model"].update(models or {})
    cells: dict[Key, dict[_OurIds, list[SeedTest]]] = defaultdict(lambda: defaultdict(list))
    left_out: dict[str, set[str]] = defaultdict(set)
    for test in scores:
        sign = published.sign(test.group_a, test.group_b)
        ids = _OurIds(test.dataset, test.model, test.method, test.metric)
        key = Key(*(names[kind].get(our_id, "") for kind, our_id in zip(IDS, ids, strict=True)))
        unknown = {
            kind: our_id for kind, our_id in ids._asdict().items() if our_id not in names[kind]
        }
        if not sign:
            unknown["groups"] = f"{test.group_a} and {test.group_b}"
        elif not unknown and key not in published.cells:
            unknown["model"] = f"{test.model} on {test.dataset}"
        for kind, name in unknown.items():
            left_out[kind].add(name)
        if not unknown:
            significant = test.p <= published.facts.alpha  # False where p is NaN
            as_published = replace(test, cohens_d=sign * test.cohens_d, significant=significant)
            cells[key][ids].append(as_published)
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


def _names(
    tests: Sequence[SeedTest], study: PublishedStudy, grid: Grid
) -> dict[str, dict[str, str]]:
    """Return the published id of each of our ids, by kind.

    An id has one if its instance uses the published id and is called so, or is the only one that
    uses it.
    """
    names: dict[str, dict[str, str]] = {}
    registered = (grid.datasets, grid.models, grid.methods, grid.metrics)
    for kind, uses in zip(IDS, registered, strict=True):
        ours = dict.fromkeys(getattr(test, kind) for test in tests)
        used = {our_id: uses.get(our_id) or our_id for our_id in ours}
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


def _match(ids: _OurIds, tests: Sequence[SeedTest], theirs: Value, threshold: float) -> CellMatch:
    """Return one of our cells, counted as the study counts, beside the published one."""
    ours = count_seeds(tests, threshold)
    return CellMatch(
        dataset=theirs.key.dataset,
        model=theirs.key.model,
        method=theirs.key.method,
        metric=theirs.key.metric,
        our_dataset=ids.dataset,
        our_model=ids.model,
        our_method=ids.method,
        our_metric=ids.metric,
        significant_ours=ours.significant,
        significant_published=theirs.significant,
        total_ours=ours.total,
        total_published=theirs.runs,
        direction_ours=ours.direction,
        direction_published=None if theirs.mean is None else int(np.sign(theirs.mean)),
        mean_d_ours=ours.mean_d,
        mean_d_published=theirs.mean,
        sd_d_published=theirs.sd,
        considerable_ours=ours.considerable,
        considerable_published=theirs.considerable,
        n_examples=min(test.n_examples for test in tests),
        flags=" ".join(ours.flags),
        table=theirs.table,
        effect_table=theirs.effect_table,
        effect_label=theirs.effect_label,
    )


def agreements(matches: Sequence[CellMatch]) -> list[Agreement]:
    """Ask every question of all cells, and of the cells of each dataset, model, method, metric."""
    parts = [("all", "", matches)]
    for by in IDS:
        parts += [(by, group, part) for group, part in grouped(matches, attrgetter(by)).items()]
    return [answer for part in parts for answer in _answers(*part)]


def _answers(by: str, group: str, matches: Sequence[CellMatch]) -> Iterator[Agreement]:
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
    effects = [
        (match.mean_d_ours, match.mean_d_published)
        for match in matches
        if match.significant_ours
        and match.mean_d_ours is not None
        and match.mean_d_published is not None
    ]
    rho = rank_correlation(*zip(*effects, strict=True)).correlation if effects else math.nan
    yield Agreement("effect", by, group, len(effects), rho=None if math.isnan(rho) else rho)


def _decisions(match: CellMatch) -> dict[str, tuple[bool, bool]]:
    """Return our decision and the study's by question, without those that one cannot answer."""
    majorities = (
        majority(match.significant_ours, match.total_ours),
        majority(match.significant_published, match.total_published),
    )
    decisions = {"significant": majorities}
    if all(majorities) and match.direction_ours and match.direction_published:
        signs = (match.direction_ours > 0, match.direction_published > 0)
        decisions |= {"direction": signs}
    if match.considerable_published is not None:
        decisions |= {"considerable": (match.considerable_ours, match.considerable_published)}
    return decisions
