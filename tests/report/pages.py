"""Pages of made-up studies, and how they open in a browser.

``python tests/report/pages.py FOLDER`` writes two studies there, of the size of the default
experiment and of 5,040 tests, makes their reports, and says what that took and how they open.
"""

import shutil
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where it runs as a command

from made_up import GROUPS, config, make_study, options_of

from exparity.stages.report import report
from exparity.tools.cost import cost

SIZES = {
    "demo": ({"datasets": 2, "models": 2, "seeds": 3}, 24),
    "large": ({"datasets": 4, "models": 6, "seeds": 5}, 160),
    "nine": ({"datasets": 1, "models": 1, "seeds": 1, "methods": 2, "metrics": 2}, 6),
}
"""Grids, and their matched sets: the default experiment, one of 5,040 tests, one of 9 groups."""


@dataclass(frozen=True)
class Opened:
    """How a page opens in a window of 1280 × 900 pixels.

    Attributes:
        height: of the whole page with everything folded that is folded at first, in pixels.
        busy: CPU time of the page's main thread until all controls work, in seconds.
        elapsed: wall time until then, in seconds.
    """

    height: int
    busy: float
    elapsed: float


def make_page(folder: Path, size: str) -> Path:
    """Write a study of one of :data:`SIZES` and return its page, made without figures."""
    counts, pairs = SIZES[size]
    settings = {**config(**counts), "report": {"figures": False}}
    if not (folder / "results" / "cost.parquet").is_file():
        groups = [f"group {i}" for i in range(9)] if size == "nine" else GROUPS
        make_study(folder / "results", settings, pairs=pairs, groups=groups)
        cost(folder / "results")
    page = folder / "report" / "index.html"
    report(folder / "results", page, options_of(settings))
    return page


def open_once(browser, page: Path) -> Opened:
    """Open a page in a window of its own."""
    window = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    client = window.context.new_cdp_session(window)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    window.goto(page.as_uri())
    ready = window.wait_for_selector("html[data-ready]", state="attached")
    metrics = client.send("Performance.getMetrics")["metrics"]
    busy = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    height = window.evaluate("document.documentElement.scrollHeight")
    elapsed = int(ready.get_attribute("data-ready")) / 1000
    window.context.close()
    return Opened(height, busy, elapsed)


def main(folder: Path) -> None:
    """Make a page of each size, and say what it took and how it opens."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for size in SIZES:
            start = time.process_time()
            page = make_page(folder / size, size)
            spent = time.process_time() - start
            opened = [open_once(browser, page) for _ in range(9)]
            busy, elapsed = (
                statistics.median(getattr(one, name) for one in opened)
                for name in ("busy", "elapsed")
            )
            print(
                f"{size}: {page.stat().st_size / 1e6:.1f} MB, study and page made in {spent:.0f} s "
                f"of CPU; {opened[0].height:,} pixels high; interactive after {busy:.2f} s of CPU, "
                f"{elapsed:.2f} s in all: {page}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
