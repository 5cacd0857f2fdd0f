"""Snakemake's ``benchmark:`` counts the processes below a job; its worker is below the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


def name_of(client: int) -> str:
    """Return the name of the process that works for a client."""
    return f"warm {client}"  # Linux keeps 15 characters


def count_workers(server: int) -> None:
    """Have the benchmarks that this process takes count each job's worker with the job."""
    import psutil
    from snakemake.benchmark import BenchmarkTimer

    class Job(psutil.Process):
        def children(self, recursive: bool = False) -> list[psutil.Process]:
            own = super().children(recursive)
            names = {name_of(process.pid) for process in (self, *own)}
            return [*own, *_named(server, names)]

    begin = BenchmarkTimer.__init__

    def begin_with_workers(self: BenchmarkTimer, *arguments: object, **options: object) -> None:
        begin(self, *arguments, **options)
        self.main = Job(self.main.pid)

    BenchmarkTimer.__init__ = begin_with_workers


def _named(server: int, names: set[str]) -> list[psutil.Process]:
    """Return the workers of the server with one of these names."""
    import psutil

    workers = []
    try:
        for worker in psutil.Process(server).children():
            if worker.name() in names:
                workers.append(worker)
    except psutil.NoSuchProcess:  # it ended meanwhile, or the server was killed
        pass
    return workers
