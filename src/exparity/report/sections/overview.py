"""Overview: settings of the run, how often groups differ, and cautions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from exparity.artefacts import layout
from exparity.artefacts.grid import Grid
from exparity.core.grouping import grouped
from exparity.report.cautions import numbers_of
from exparity.report.conclusions import conclusions_of
from exparity.report.conclusions.sources import sources_plot
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.levels import level_panels
from exparity.report.picture import RANDOM_LINES, SIGNS, measured, picture_of
from exparity.report.provenance import (
    SETTLED,
    ArtefactOrigin,
    dropped_rows_of,
    settings_of,
    versions,
)
from exparity.report.sections.disparity import matrices
from exparity.report.sections.findings import finding_words
from exparity.report.tables import MOST_PAIRS
from exparity.report.verdicts import (
    QUANTITIES,
    Counts,
    certainty,
    counts_of,
    is_foreseen,
    labels_of,
    legend,
    meaning_of,
    missed_line,
    told_flags,
)
from exparity.report.witnesses import witness_tables
from exparity.stats import verdicts
from exparity.stats.seeds import of_quantity, significant_share
from exparity.stats.verdicts import RANKS

_PACKAGES = ("torch", "transformers", "numpy", "scipy", "pyarrow")
_RUN_MODELS = ("finetune", "explain", "evaluate")
_MOST_TILES = 24
"""Comparisons whose tiles are shown at once; more are folded, since the answers come first."""


def missing_results(results: Path, grid: Grid) -> list[str]:
    """Return a sentence per artefact about missing files of the grid."""
    missing: dict[str, list[Path]] = {}
    for artefact, ids in layout.report_inputs(grid):
        path = results / layout.path_of(artefact, ids)
        if not path.is_file():
            missing.setdefault(artefact, []).append(path)
    return [
        f"{len(paths):,} {artefact} {'file is' if len(paths) == 1 else 'files are'} missing, such "
        f"as {paths[0]}: the report is incomplete until snakemake has made them again."
        for artefact, paths in missing.items()
    ]


def _warnings(context: Context, commits: int) -> Iterator[str]:
    """Yield the warnings about data, missing files and versions."""
    study = context.study
    cut = Counter[str]()
    for origin in context.origins:
        if origin.artefact == "explanations" and origin.n_cut_texts:
            name = f"{origin.model} on {origin.dataset}"
            cut[name] = max(cut[name], origin.n_cut_texts)
    for name, n in sorted(cut.items()):
        yield f"{n} texts were longer than {name} can read and were cut."
    for dataset, dropped in dropped_rows_of(context.origins):
        yield f"{study.display('dataset', dataset)}: {dropped}."
    yield from pieces_of_words(context.origins)
    undefined = _counted(study, "n_undefined")
    total = _counted(study, "n_examples")
    if undefined:
        yield f"{undefined:,} of {total:,} scores are undefined and left out of the tests."
    yield from missing_results(study.results, study.grid)
    if commits > 1:
        yield f"The results were made with {commits} versions of the source code; see below."


def _counted(study: Study, number: str) -> int:
    """Return a number of scores over all tests; of several groups, each is in a test per other."""
    total = 0.0
    for test in study.rows:
        n_groups = len(study.declared(test.dataset).groups)
        total += getattr(test, number) / (n_groups - 1)
    return round(total)


def pieces_of_words(origins: Sequence[ArtefactOrigin]) -> Iterator[str]:
    """Yield a sentence for each model that cuts words of one group into more tokens.

    Only where a metric scores tokens; those of a model's trainings are the same.
    """
    cell = attrgetter("dataset", "model")
    with_tokens = {
        cell(origin)
        for origin in origins
        if origin.artefact == "scores" and origin.options.get("unit") == "token"
    }
    means = {cell(origin): origin.pieces_by_group for origin in origins if origin.pieces_by_group}
    for dataset, model in sorted(means.keys() & with_tokens):
        numbers = (f"{mean:.2f} ({group})" for group, mean in means[dataset, model].items())
        yield (
            f"On {dataset}, {model} cuts a word into {', '.join(numbers)} tokens on average. A gap "
            "in a metric of tokens may be one of the tokenizer; with unit: word it is not."
        )


def _counts(study: Study) -> list[tuple[str, str, Counts]]:
    """Return the counts of verdicts for each pair of groups and for random explanations."""
    counted = []
    for dataset, rows in grouped(study.judged, attrgetter("dataset")).items():
        parts = grouped(rows, lambda row: " − ".join(row.groups))
        if len(parts) > MOST_PAIRS:
            parts = {f"{len(parts)} pairs of groups": rows}
        for name, members in parts.items():
            counted += [(dataset, name, counts) for counts in counts_of(members)]
    return counted


def build(context: Context) -> Content:
    """Return the content of the section."""
    study = context.study
    return Content(
        values={
            **_answers(context),
            **_judgements(study),
            **finding_words(study, context.tables),
            **_about_the_run(context),
        },
        unfolded=True,
    )


def _answers(context: Context) -> dict[str, object]:
    """Return the variables on the answers and the pictures beside them."""
    study = context.study
    panels = picture_of(study)
    return {
        "conclusions": conclusions_of(context),
        "levels": level_panels(study),
        "sources": sources_plot(study),
        "witness_tables": witness_tables(study),
        "panels": panels,
        "most_tiles": _MOST_TILES,
        "matrices": matrices(context.tables),
        "starred": any(tile.size.endswith("*") for panel in panels for tile in panel.tiles()),
        "measured": measured(study) if study.rows else None,
        "random": RANDOM_LINES,
        "signs": SIGNS,
        "labels_of": labels_of,
    }


def _judgements(study: Study) -> dict[str, object]:
    """Return the variables on verdicts and how many cells have each."""
    threshold = study.statistics.threshold
    alpha = study.statistics.alpha
    judged = [row for row in study.judged if not row.is_random]
    by_dataset = grouped(judged, attrgetter("dataset"))
    totals = counts_of(judged)
    random_rows = of_quantity(study.tests, "random_score")
    flags = Counter(flag for test in study.rows for flag in test.flags)
    return {
        "significant": significant_share(study.rows, alpha=alpha),
        "significant_by_random": significant_share(random_rows, alpha=alpha),
        "legend": legend(threshold=threshold, single=study.one_training, run=study.run),
        "counts": _counts(study),
        "verdicts": verdicts.VERDICTS,
        "quantities": QUANTITIES,
        "missed_line": missed_line,
        "certainty": {d: certainty(by_dataset.get(d, ())) for d in study.datasets},
        "cramers_v": {d: numbers_of(v) for d, v in study.dependence.items()},
        "total": next(iter(totals), None),
        "totals": [counts for counts in totals if counts.quantity in RANKS],
        "foreseen": is_foreseen(judged),
        "flags": [(flag, n, meaning_of(flag)) for flag, n in sorted(flags.items())],
        "verdict_flags": told_flags(row for row in judged if row.stands),
    }


def _about_the_run(context: Context) -> dict[str, object]:
    """Return the variables on settings, versions and devices, and the warnings."""
    settings = {f"{kind}s": settings_of(context.origins, kind) for kind in SETTLED}
    versioned = versions(context.origins)
    commits = versioned.get("commit", [])
    devices = {
        str(origin.facts.get("device") or "unknown")
        for origin in context.origins
        if origin.facts.get("stage") in _RUN_MODELS
    }
    models = settings_of(context.origins, "model")
    return {
        **settings,
        "functions": {
            name: options.get("mask") for name, options in models.items() if "predict" in options
        },
        "versions": {k: versioned[k] for k in ("exparity", *_PACKAGES) if k in versioned},
        "commits": commits,
        "devices": sorted(devices),
        "warnings": list(_warnings(context, len(commits))),
        "config": context.study.grid.as_json(),
    }
