"""Pages of made-up studies, and how they open in a browser."""

from pathlib import Path

from made_up import GROUPS, config, make_study, options_of

from exparity.stages.report import report
from exparity.tools.cost import cost

SIZES = {
    "large": ({"datasets": 4, "models": 6, "seeds": 5}, 160),
    "many": ({"datasets": 1, "models": 1, "seeds": 1, "methods": 2, "metrics": 2}, 6),
}
"""Grids, and their matched sets: one of 5,040 tests, one of five groups."""


def make_page(folder: Path, size: str) -> Path:
    """Write a study of one of :data:`SIZES` and return its page, made without figures."""
    counts, pairs = SIZES[size]
    settings = {**config(**counts), "report": {"figures": False}}
    if not (folder / "results" / "cost.parquet").is_file():
        groups = [f"group {i}" for i in range(5)] if size == "many" else GROUPS
        make_study(folder / "results", settings, pairs=pairs, groups=groups)
        cost(folder / "results")
    page = folder / "report" / "index.html"
    report(folder / "results", page, options_of(settings))
    return page


def open_once(browser, page: Path) -> tuple[int, float]:
    """Return how high a page is in pixels, and the CPU seconds until all controls work.

    It opens in a window of 1280 × 900 pixels, with everything folded that is folded at first.
    """
    window = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    client = window.context.new_cdp_session(window)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    window.goto(page.as_uri())
    window.wait_for_selector("html[data-ready]", state="attached")
    metrics = client.send("Performance.getMetrics")["metrics"]
    busy = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    height = window.evaluate("document.documentElement.scrollHeight")
    window.context.close()
    return height, busy
