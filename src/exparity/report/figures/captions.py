"""What each figure shows, in words: for the page, and to start a caption of a paper from."""

from __future__ import annotations

from exparity.report.figures.distributions import TAILS, WHISKERS
from exparity.report.gather import Study
from exparity.report.tables import Table


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _seeds(study: Study) -> str:
    n = len(study.seeds)
    return f"{n} seed{'s' if n != 1 else ''}"


def _examples(table: Table) -> str:
    """Return how many examples of each group were tested."""
    parts = []
    for key, group in (("n_a", table.group_a), ("n_b", table.group_b)):
        counts = sorted({row[key] for rows in table.tests.values() for row in rows})
        text = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        parts.append(f"{text} {group}")
    return " and ".join(parts)


def disparity_caption(study: Study, table: Table) -> str:
    """Return the caption of a disparity table."""
    s = study.statistics
    return (
        f"Disparity on {study.display('dataset', table.dataset)}, {_seeds(study)}, "
        f"{_examples(table)} test examples. Upper number: Cohen’s d, {table.group_a} − "
        f"{table.group_b}, mean over the seeds with a significant difference (Mann–Whitney U, "
        f"p ≤ {s['alpha']:g}, not corrected), over all seeds where there is none. Lower number: "
        "significant seeds of those tested. Cells with a significant seed are coloured: blue where "
        f"{table.group_a} scores higher, orange where {table.group_b} does. Bold: |d| ≥ "
        f"{s['threshold']:g}. Star: a test is flagged. Arrows point to better values."
    )


def effects_caption(study: Study, table: Table) -> str:
    """Return the caption of the effect sizes."""
    s = study.statistics
    line = (
        f"from the lowest to the highest end of the seeds’ {_percent(s['confidence'])} intervals"
        if len(study.seeds) > 1
        else f"{_percent(s['confidence'])} interval"
    )
    return (
        f"Effect sizes on {study.display('dataset', table.dataset)}, {_seeds(study)}, "
        f"{_examples(table)} test examples. Mark: mean Cohen’s d over all seeds, filled if "
        f"most of them are significant (Mann–Whitney U, p ≤ {s['alpha']:g}, not corrected). Ticks: "
        f"seeds. Line: {line}, cut at the end of the axis. Grey: |d| < {s['threshold']:g}. Arrows "
        "beside metrics point to better values."
    )


def distributions_caption(study: Study, dataset: str, metric: str, *, log: bool) -> str:
    """Return the caption of one metric's scores."""
    s = study.statistics
    counts = (
        " Above: seeds with a significant difference of those tested (Mann–Whitney U, "
        f"p ≤ {s['alpha']:g}), bold where |d| ≥ {s['threshold']:g}."
        if len(study.declared(dataset).groups) == 2
        else ""
    )
    return (
        f"{study.display('metric', metric)} on {study.display('dataset', dataset)} by "
        f"{study.declared(dataset).attribute}, scores of {_seeds(study)} together"
        f"{', on a logarithmic axis' if log else ''}. Violins are densities from the "
        f"{_percent(TAILS[0])} to the {_percent(TAILS[1])} quantile, each as wide as any other. "
        f"Boxes: quartiles and median; whiskers: {_percent(WHISKERS[0])} and "
        f"{_percent(WHISKERS[1])} quantiles.{counts}"
    )


def significance_caption(study: Study, *, controls: bool) -> str:
    """Return the caption of the shares of significant tests."""
    s = study.statistics
    return (
        f"Share of {len(study.rows)} tests that are significant (p ≤ {s['alpha']:g}, not "
        "corrected), with exact 95 % intervals (Clopper–Pearson) that take tests for independent, "
        "which those of one test set are not."
        + (
            " Beside it the permutation control, the same tests with group labels permuted; it "
            "should lie at α."
            if controls
            else ""
        )
    )


def bias_caption(study: Study, dataset: str) -> str:
    """Return the caption of model bias."""
    return (
        f"Model bias on the test split of {study.display('dataset', dataset)} by "
        f"{study.declared(dataset).attribute}: mean over {_seeds(study)} (mark) and each seed "
        "(tick). Axes do not start at zero. A prediction difference compares the probability of "
        "the true class."
    )
