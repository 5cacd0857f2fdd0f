"""Pages of made-up studies, and how they open in a browser."""

from collections.abc import Sequence
from pathlib import Path

from made_up import GROUPS, Grid, config, make_study, options_of

from exparity.stages.report import report
from exparity.tools.cost import cost


def page_of(results: Path, options: dict) -> Path:
    """Report on a results folder, within it, and return the page."""
    page = results / "report" / "index.html"
    report(results, page, options)
    return page


def page_with_analyses(results: Path, settings: dict) -> Path:
    """Return the page of a study to whose first dataset all analyses and the costs are added."""
    grid = Grid(
        results,
        tuple(settings["models"]),
        "data_0",
        tuple(settings["methods"]),
        "comprehensiveness",
    )
    options = options_of(settings)
    options["analyses"] |= grid.make().analyses
    cost(results)
    return page_of(results, options)


def make_page(folder: Path, pairs: int, groups: Sequence[str] = GROUPS, **counts: int) -> Path:
    """Write a study whose grid has these counts, and return its page, made without figures."""
    settings = {**config(**counts), "report": {"figures": False}}
    make_study(folder, settings, pairs=pairs, groups=groups)
    cost(folder)
    return page_of(folder, options_of(settings))


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
