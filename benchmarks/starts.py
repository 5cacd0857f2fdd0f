"""Sample what a start of Snakemake spends its CPU time on, by the nearest frame of ours or its own.

Usage: python benchmarks/starts.py [OPTIONS OF SNAKEMAKE], in the folder of a run
"""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

_INTERVAL = 0.004  # seconds of CPU time
_IMPORTING = "importlib._bootstrap"
Seen = Counter[tuple[str, str]]


def sampling(seen: Seen) -> Callable[[int, FrameType | None], None]:
    """Return a handler that counts whose code is at work, and whether it imports."""

    def look(_: int, frame: FrameType | None) -> None:
        owner = ""
        work = "its work"
        while frame is not None:
            name = frame.f_code.co_filename
            if not owner and ("/exparity/" in name or name.endswith(".smk")):
                owner = "exparity"
            elif not owner and "/snakemake" in name:
                owner = "Snakemake"
            if _IMPORTING in name:
                work = "imports"
            frame = frame.f_back
        seen[owner or "Python", work] += 1

    return look


def main() -> None:
    """Run Snakemake, and print seconds on the standard error output."""
    seen: Seen = Counter()
    signal.signal(signal.SIGPROF, sampling(seen))
    signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
    with suppress(SystemExit):
        from snakemake.cli import main as snakemake  # its imports count

        snakemake(sys.argv[1:])
    signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() / seen.total()
    for (owner, work), count in seen.most_common():
        print(f"{seconds * count:7.2f} s  {owner}: {work}", file=sys.stderr)


if __name__ == "__main__":
    main()
