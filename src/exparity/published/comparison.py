"""All of our results beside one published study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError
from exparity.published.agreement import Agreement, Correlation, agreements, correlations
from exparity.published.claims import ClaimResult, Settings, recount
from exparity.published.matching import Match, match_cells, match_names
from exparity.published.study import PublishedStudy, load_study
from exparity.published.trained import (
    BiasMatch,
    ModelNote,
    ModelSource,
    match_bias,
    model_sources,
    note_on,
)


@dataclass(frozen=True)
class Comparison:
    """Our results beside a published study.

    Attributes:
        study: the study.
        matches: our cells beside its cells.
        left_out: (kind, our id) without a published counterpart.
        models: how our models differ from the published ones beside them.
        agreements: how often we decide as the study did.
        correlations: rank correlations of mean d.
        claims: the study's statements, counted again.
        bias: our model bias beside the published one.
    """

    study: PublishedStudy
    matches: Sequence[Match]
    left_out: Sequence[tuple[str, str]]
    models: Sequence[ModelNote]
    agreements: Sequence[Agreement]
    correlations: Sequence[Correlation]
    claims: Sequence[ClaimResult]
    bias: Sequence[BiasMatch]

    @property
    def published_cells(self) -> int:
        """Return how many of the published cells have a counterpart of ours."""
        return len({match.theirs.key for match in self.matches})

    @property
    def examples(self) -> str:
        """Return how many examples a test of ours used, as a number or a range."""
        sizes = {match.n_examples for match in self.matches}
        return " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))

    @property
    def stand_ins(self) -> list[ModelNote]:
        """Return the models that are known not to be as published."""
        return [note for note in self.models if note.as_published is False]

    @property
    def not_published(self) -> str:
        """Return what could not be compared, by kind, in one line."""
        kinds: dict[str, list[str]] = {}
        for kind, id in self.left_out:
            kinds.setdefault(kind, []).append(id)
        return "; ".join(f"{kind} {', '.join(ids)}" for kind, ids in kinds.items())


def compare_results(
    results: Path,
    rows: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    *,
    study: str = "dhaini2025",
    models: Mapping[str, str] | None = None,
) -> Comparison:
    """Put the results of a grid beside a published study.

    Args:
        results: folder of all results.
        rows: rows of the disparity artefact.
        options: the report's options, as in that artefact's metadata; what is missing is taken
            from the rows.
        study: id of the study.
        models: our model ids to published ones, for models with other ids.

    Returns:
        The comparison; its ``matches`` are empty where nothing of ours was published.

    Raises:
        InputError: unknown study or model, or a damaged bias artefact.
    """
    published = load_study(study)
    names = match_names(rows, published, options, models or {})
    matches, left_out = match_cells(rows, published, names)
    used = {match.ids[:2] for match in matches}
    cells = sorted({(row["dataset"], row["model"], row["seed"]) for row in rows})
    trained = [
        {"dataset": dataset, "model": model, "seed": seed}
        for dataset, model, seed in cells
        if (dataset, model) in used
    ]
    sources = model_sources(results, trained)
    notes = [note_on(id, names["model"][id], source, published) for id, source in sources.items()]
    return Comparison(
        study=published,
        matches=matches,
        left_out=left_out,
        models=notes,
        agreements=agreements(matches),
        correlations=correlations(matches),
        claims=recount(published, matches, notes, _settings(matches, options, sources)),
        bias=match_bias(results, trained, published, names),
    )


def nothing_to_compare(comparison: Comparison) -> InputError:
    """Return the error that says why no cell could be compared."""
    study = comparison.study
    return InputError(
        f"no result has a counterpart in {study.id}: not there are {comparison.not_published}; "
        f"it has datasets {', '.join(study.names('dataset'))} and models "
        f"{', '.join(study.names('model'))} (`--map MODEL=PUBLISHED` for models with other names)"
    )


def _settings(
    matches: Sequence[Match], options: Mapping[str, Any], sources: Mapping[str, ModelSource]
) -> Settings:
    statistics = options.get("statistics", {})
    scratch = {match.ids[1] for match in matches if match.theirs.scratch}
    return {
        **{name: [statistics[name]] for name in ("alpha", "threshold") if name in statistics},
        "seeds": [match.ours.total for match in matches],
        "scratch_epochs": [e for model in sorted(scratch) for e in sources[model].epochs],
    }
