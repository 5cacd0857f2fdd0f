"""CPU time and memory of the running process so far."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_MB = 1 << 20
_SHARE = 0.5
"""Of the memory that jobs have, divided by their cores: what a process may hold between jobs."""
_GROUPS = Path("/proc/self/cgroup")
_LIMITS = Path("/sys/fs/cgroup")
_cpu_seconds_before = 0.0


def begin_usage() -> None:
    """Count from now on, in a process that has done other work before."""
    global _cpu_seconds_before
    _cpu_seconds_before = time.process_time()
    with suppress(OSError):  # the peak covers all work where it cannot be reset
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def usage() -> dict[str, float]:
    """Return ``cpu_seconds`` of all threads and ``max_rss_mb``, the most memory held at once."""
    cpu_seconds = time.process_time() - _cpu_seconds_before
    return {"cpu_seconds": round(cpu_seconds, 3), "max_rss_mb": round(_peak_memory(), 1)}


def holds_more_than_its_share() -> bool:
    """Return whether this process holds more memory than other jobs can spare."""
    import psutil

    memory = min([psutil.virtual_memory().total, *_memory_limits()])
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else psutil.cpu_count() or 1
    return memory_held() > _SHARE * memory / cores


def _memory_limits() -> Iterator[int]:
    """Yield what a container or a batch system lets this process and its neighbours hold, in bytes.

    Every control group limits those below it (Linux, cgroups(7)).
    """
    if not _GROUPS.is_file():
        return
    for line in _GROUPS.read_text(encoding="utf-8").splitlines():
        _, controllers, group = line.split(":", 2)
        if not controllers:
            limit = _LIMITS / "memory.max"
        elif controllers == "memory":
            limit = _LIMITS / controllers / "memory.limit_in_bytes"
        else:
            continue
        inner = Path(group).relative_to("/")
        for outer in (inner, *inner.parents):
            with suppress(OSError, ValueError):  # not there, or "max"
                yield int((limit.parent / outer / limit.name).read_text(encoding="utf-8"))


def memory_held() -> int:
    """Return the resident memory of this process, in bytes."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def _peak_memory() -> float:
    """Return the peak of the resident memory, in MB."""
    # Not getrusage where there is another way: on Linux a process inherits the peak of the one
    # that started it, so that every job would seem to need what Snakemake does.
    if _STATUS.is_file():
        for line in _STATUS.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return int(value.split()[0]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / _MB if sys.platform == "darwin" else peak / 1024
