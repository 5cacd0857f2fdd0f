"""Overview: settings of the run, how often groups differ, and cautions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.core.grouping import grouped
from exparity.data import dropped_rows
from exparity.report.context import Content, Context
from exparity.report.flags import meaning_of
from exparity.report.gather import Study
from exparity.report.picture import RANDOM_LINES, SIGNS, measured, picture_of
from exparity.report.provenance import (
    SETTLED,
    ArtefactOrigin,
    settings_of,
    versions,
)
from exparity.report.sections.disparity import matrices
from exparity.report.sections.findings import finding_words, numbers_of, one_training
from exparity.report.tables import MOST_PAIRS
from exparity.report.verdicts import (
    QUANTITIES,
    Counts,
    certainty,
    counts_of,
    is_random,
    legend,
    missed_line,
    run_of,
)
from exparity.stats import verdicts
from exparity.stats.informative import of_quantity
from exparity.stats.seeds import count_significant

_PACKAGES = ("torch", "transformers", "numpy", "scipy", "pyarrow")
_RUN_MODELS = ("finetune", "explain", "evaluate")


def missing_results(results: Path, grid: Mapping[str, Any]) -> list[str]:
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


def _warnings(context: Context, commits: int) -> list[str]:
    """Return the warnings about data, missing files and versions."""
    study = context.study
    cut = Counter[str]()
    for origin in context.origins:
        if origin.artefact == "explanations" and origin.facts.get("n_truncated"):
            name = "{model} on {dataset}".format(**origin.ids)
            cut[name] = max(cut[name], int(origin.facts["n_truncated"]))
    warnings = [
        f"{n} texts were longer than {name} can read and were cut."
        for name, n in sorted(cut.items())
    ]
    warnings += [
        f"{study.display('dataset', origin.ids['dataset'])}: "
        f"{dropped_rows(origin.facts['dropped'])}."
        for origin in context.origins
        if origin.artefact == "data" and "dropped" in origin.facts
    ]
    warnings += pieces_of_words(context.origins)
    undefined = sum(row["n_undefined"] for row in study.rows)
    if undefined:
        total = sum(row["n_examples"] for row in study.rows)
        warnings.append(
            f"{undefined:,} of {total:,} scores are undefined and left out of the tests."
        )
    warnings += missing_results(study.results, study.options)
    if commits > 1:
        warnings.append(
            f"The results were made with {commits} versions of the source code; see below."
        )
    return warnings


def pieces_of_words(origins: Sequence[ArtefactOrigin]) -> Iterator[str]:
    """Yield a sentence for each model that cuts words of one group into more tokens.

    Only where a metric scores tokens; those of a model's trainings are the same.
    """

    def cell(origin: ArtefactOrigin) -> tuple[str, str]:
        return origin.ids["dataset"], origin.ids["model"]

    of_tokens = {
        cell(origin)
        for origin in origins
        if origin.artefact == "scores"
        and (origin.facts["parameters"].get("params") or {}).get("unit") == "token"
    }
    means = {cell(o): o.facts["pieces_by_group"] for o in origins if "pieces_by_group" in o.facts}
    for dataset, model in sorted(means.keys() & of_tokens):
        numbers = (f"{mean:.2f} ({group})" for group, mean in means[dataset, model].items())
        yield (
            f"On {dataset}, {model} cuts a word into {', '.join(numbers)} tokens on average. A gap "
            "in a metric of tokens may be one of the tokenizer; with unit: word it is not."
        )


def _counts(study: Study) -> list[tuple[str, str, Counts]]:
    """Return the counts of verdicts for each pair of groups and for random explanations."""
    counted = []
    for dataset, rows in grouped(study.judged, itemgetter("dataset")).items():
        pairs = grouped(rows, itemgetter("group_a", "group_b"))
        parts = {f"{a} − {b}": of_pair for (a, b), of_pair in pairs.items()}
        if len(pairs) > MOST_PAIRS:
            parts = {f"{len(pairs)} pairs of groups": rows}
        for name, of in parts.items():
            counted += [(dataset, name, counts) for counts in counts_of(of)]
    return counted


def build(context: Context) -> Content:
    """Return the content of the section."""
    study = context.study
    panels = picture_of(study)
    judged = [row for row in study.judged if not is_random(row)]
    flags = Counter(flag for row in study.rows for flag in row["flags"])
    settings = {kind: settings_of(context.origins, kind) for kind in SETTLED}
    versioned = versions(context.origins)
    commits = versioned.get("commit", [])
    devices = {
        str(origin.facts.get("device") or "unknown")
        for origin in context.origins
        if origin.facts.get("stage") in _RUN_MODELS
    }
    return Content(
        values={
            "share": count_significant(
                study.rows,
                alpha=study.statistics["alpha"],
                random_rows=of_quantity(study.tests, "random_score"),
            ),
            "panels": panels,
            "matrices": matrices(context.tables),
            "starred": any(tile.size.endswith("*") for panel in panels for tile in panel.tiles()),
            "measured": measured(study) if study.rows else {},
            "random": RANDOM_LINES,
            "signs": SIGNS,
            "legend": legend(
                threshold=study.statistics["threshold"],
                of_one=one_training(study),
                run=run_of(judged),
            ),
            "counts": _counts(study),
            "verdicts": verdicts.VERDICTS,
            "quantities": QUANTITIES,
            "missed_line": missed_line,
            "run": run_of(judged),
            **finding_words(study, context.tables),
            "certainty": {
                dataset: certainty(
                    (row for row in judged if row["dataset"] == dataset),
                    study.statistics["threshold"],
                )
                for dataset in study.datasets
            },
            "cramers_v": {dataset: numbers_of(v) for dataset, v in study.dependence.items()},
            "total": next(iter(counts_of(judged)), None),
            "flags": [(flag, n, meaning_of(flag)) for flag, n in sorted(flags.items())],
            "warnings": _warnings(context, len(commits)),
            **{f"{kind}s": of_kind for kind, of_kind in settings.items()},
            "functions": {
                id: of.get("mask") for id, of in settings["model"].items() if "predict" in of
            },
            "versions": {k: versioned[k] for k in ("exparity", *_PACKAGES) if k in versioned},
            "commits": commits,
            "devices": sorted(devices),
            "config": {k: v for k, v in study.options.items() if k != "digest"},
        },
        unfolded=True,
    )
