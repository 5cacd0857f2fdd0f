"""Pages of made-up studies, and how they open in a browser.

``PYTHONPATH=tests python -m report.pages PAGE ...`` prints the size of each page, its height, and
medians of five openings: CPU seconds until all controls work, seconds until the first paint.
"""

import shutil
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from made_up import GROUPS, Analyses, config, make_study, options_of

from exparity.stages.report import report
from exparity.tools.cost import cost


def page_of(results: Path, options: dict) -> Path:
    """Report on a results folder, within it, and return the page."""
    page = results / "report" / "index.html"
    report(results, page, options)
    return page


def page_with_analyses(results: Path, settings: dict) -> Path:
    """Return the page of a study to whose first dataset all analyses and the costs are added."""
    made = Analyses(
        results,
        tuple(settings["models"]),
        "data_0",
        tuple(settings["methods"]),
        "comprehensiveness",
    )
    options = options_of(settings)
    options["analyses"] |= made.make().analyses
    cost(results)
    return page_of(results, options)


def make_page(folder: Path, pairs: int, groups: Sequence[str] = GROUPS, **counts: int) -> Path:
    """Write a study whose grid has these counts, and return its page, made without figures."""
    settings = {**config(**counts), "report": {"figures": False}}
    make_study(folder, settings, pairs=pairs, groups=groups)
    cost(folder)
    return page_of(folder, options_of(settings))


def open_once(browser, page: Path) -> tuple[int, float, float]:
    """Return a page's height in pixels, CPU seconds until controls work, and time to first paint.

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
    painted = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    paint = window.wait_for_function(painted).json_value()
    window.context.close()
    return height, busy, paint / 1000


def main(pages: Sequence[str]) -> None:
    """Print how each page opens."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = {"executable_path": shutil.which("chromium"), "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)
        for page in map(Path, pages):
            openings = [open_once(browser, page.resolve()) for _ in range(5)]
            height, busy, paint = map(statistics.median, zip(*openings, strict=True))
            print(f"{page}: {page.stat().st_size:,} bytes, {height:.0f} pixels, ", end="")
            print(f"controls after {busy:.2f} s of CPU time, first paint after {paint:.2f} s")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
