"""Tables in Markdown, printed or between the marks of a page, and runs of the workflow."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryFile
from typing import Any, TypeVar

import numpy as np

Setting = TypeVar("Setting")
Result = TypeVar("Result")
ROOT = Path(__file__).resolve().parents[1]


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    lines = [" | ".join(_cell(row.get(name)) for name in rows[0]) for row in rows]
    head = f"| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}"
    return "\n".join([head, *(f"| {line} |" for line in lines)])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def add_together(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`both_of_a_pair` takes."""
    parser.add_argument(
        "--together", action="store_true", help="run a pair at the same time, on a core each"
    )


def both_of_a_pair(
    runs: Sequence[Callable[[], Result]], number: int, *, together: bool
) -> tuple[Result, Result]:
    """Return what two calls return, whose order or cores are exchanged in every other pair.

    Args:
        runs: one call of the version before, and one of the version after.
        number: of the pair, from 0.
        together: run both at the same time; each, and all processes that it starts, on one core.
    """
    order = (0, 1) if number % 2 == 0 else (1, 0)
    if together:
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            sys.exit("--together takes two cores")

        def on_core(run: Callable[[], Result], place: int) -> Result:
            os.sched_setaffinity(0, {cores[place]})  # of this thread alone
            return run()

        with ThreadPoolExecutor(2) as pool:
            before, after = pool.map(on_core, runs, order)
        return before, after
    results = {place: runs[place]() for place in order}
    return results[0], results[1]


def ratios(
    pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]],
) -> list[dict[str, str | float | None]]:
    """Return the rows of a table of what pairs have measured, before and after."""
    rows: list[dict[str, str | float | None]] = []
    for name in pairs[0][1]:
        before = [pair[0].get(name, 0.0) for pair in pairs]
        after = [pair[1].get(name, 0.0) for pair in pairs]
        shares = [new / old for old, new in zip(before, after, strict=True) if old]
        rows.append(
            {
                "What": name,
                "before": mean(before),
                "after": mean(after),
                "median ratio of a pair": median(shares) if shares else None,
                "least and largest ratio": f"{min(shares):.2f} to {max(shares):.2f}"
                if shares
                else None,
            }
        )
    return rows


def write_between_marks(page: Path, mark: str, text: str) -> None:
    """Replace what a page has between ``<!-- mark -->`` and ``<!-- end -->``."""
    block = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    renewed = block.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page.read_text("utf-8"))
    page.write_text(renewed, encoding="utf-8")


def simulation_parser(
    description: str | None, settings: Mapping[str, Setting], *, runs: int, texts: int = 150
) -> argparse.ArgumentParser:
    """Return a parser of the options that :func:`simulated_means` takes, and their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--texts", type=int, default=texts)
    parser.add_argument("--only", choices=settings, nargs="*", default=[*settings])
    return parser


def simulated_means(
    settings: Mapping[str, Setting],
    run: Callable[[Setting, int, np.random.Generator], Mapping[str, Any]],
    options: argparse.Namespace,
    *,
    digits: int,
) -> None:
    """Print the mean of the runs of each setting that is named, and all of them as a table.

    ``options`` are the ``runs`` of a setting, their ``texts``, and ``only`` settings of such names.
    A setting draws the same numbers whichever others are named.
    """
    import pandas as pd  # not where the GPU is measured

    table = {}
    for number, (name, setting) in enumerate(settings.items()):
        if name not in options.only:
            continue
        rng = np.random.default_rng(number)
        rows = [run(setting, options.texts, rng) for _ in range(options.runs)]
        table[name] = pd.DataFrame(rows).mean()
        print(name, table[name].round(digits).to_dict(), flush=True)
    print(pd.DataFrame(table).T.round(digits).to_string())


def measured(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, float]:
    """Return what a process prints, and the CPU seconds that it takes with those it waits for.

    Other processes may run at the same time. One that fails ends this one.
    """
    new_file = partial(TemporaryFile, "w+", encoding="utf-8", errors="replace")
    with new_file() as output, new_file() as errors:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read()
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{shlex.join(command)} failed:\n{printed[-2000:]}{errors.read()[-2000:]}")
    return printed, used.ru_utime + used.ru_stime


def workflow_of(checkout: Path, folder: Path, config: Path, *flags: str) -> float:
    """Run the workflow of a checkout in a folder, and return its CPU seconds."""
    command = [
        *(sys.executable, "-m", "snakemake", "--quiet", "all", "--directory", str(folder)),
        *("--snakefile", str(checkout / "Snakefile")),
        *("--profile", str(checkout / "profiles" / "default")),
        *("--configfile", str(config.resolve()), *flags),
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["PYTHONPATH"] = str(checkout / "src")  # another checkout may be installed
    return measured(command, environment)[1]
