"""All of our results beside one published study."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.published.agreement import Agreement, agreements
from exparity.published.gaps import our_gaps
from exparity.published.matching import MatchedCell, check_map, match_cells, match_names
from exparity.published.study import PublishedStudy, load_study
from exparity.stats.informative import of_quantity


@dataclass(frozen=True)
class GapMatch:
    """One gap of ours beside the published one, both first minus second of the study's groups.

    Ids are published ones; standard deviations are None of one run. ``note`` says what to know
    before comparing.
    """

    dataset: str
    model: str
    method: str
    metric: str
    class_name: str
    ours: float | None
    ours_sd: float | None
    runs: int
    theirs: float | None
    theirs_sd: float | None
    table: str
    note: str


@dataclass(frozen=True)
class Comparison:
    """Our results beside a published study: cells of a grid, or gaps of classifiers.

    ``left_out`` is what of ours was not published.
    """

    study: PublishedStudy
    left_out: Sequence[str]
    matches: Sequence[MatchedCell] = ()
    gaps: Sequence[GapMatch] = ()
    agreements: Sequence[Agreement] = ()

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
    rows: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    *,
    study: str = "dhaini2025",
    models: Mapping[str, str] | None = None,
) -> Comparison:
    """Put the results of a grid beside a published study.

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
    names = match_names(rows, published, options, models or {})
    matches, left_out = match_cells(rows, published, names)
    kinds = grouped(left_out, itemgetter(0)).items()
    return Comparison(
        study=published,
        left_out=[f"{kind} {', '.join(id for _, id in ids)}" for kind, ids in kinds],
        matches=matches,
        agreements=agreements(matches),
    )


def compare_gaps(
    results: Path,
    study: str,
    models: Mapping[str, str],
    runs: Collection[tuple[str, ...]] | None = None,
) -> Comparison:
    """Put the bias of our classifiers beside a published study.

    Args:
        results: folder of all results.
        study: id of the study.
        models: our model ids to published ones, for models from other checkpoints.
        runs: dataset, model and seed of the classifiers to compare; all there are if None.

    Raises:
        InputError: unknown study or model, or a damaged artefact.
    """
    published = load_study(study)
    check_map(models, None, sorted({key.model for key in published.values} | {"zari"}))
    ours, left_out = our_gaps(results, published, models, runs)
    mixed = {id for id, facts in published.facts["metrics"].items() if facts.get("mixed")}
    gaps = [
        GapMatch(
            *key,
            *(own.mean, own.sd, own.runs),
            *(theirs.mean, theirs.sd, theirs.table),
            published.facts["mixed"] if key.metric in mixed else "",
        )
        for key, theirs in published.values.items()
        if (own := ours.get(key))
    ]
    return Comparison(published, left_out, gaps=gaps)


def nothing_to_compare(comparison: Comparison) -> InputError:
    """Return the error that says why no cell could be compared."""
    study, missing = comparison.study, "; ".join(comparison.left_out)
    return InputError(
        f"no result has a counterpart in {study.id}, which has not {missing}; "
        f"it has datasets {', '.join(study.names('dataset'))} and models "
        f"{', '.join(study.names('model'))} (`--map MODEL=PUBLISHED` for models with other names)"
    )
