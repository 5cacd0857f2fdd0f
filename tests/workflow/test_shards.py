"""Jobs in shards: the tables of an undivided run, whatever the number and however often killed."""

import io
import signal

import psutil
import pyarrow.parquet as pq
import pytest
from held import held
from support import is_gone
from workflow.test_kills import jobs_of

from exparity.costs.finished import read_finished
from workflow import forked

pytestmark = pytest.mark.workflow

N_PARTS = 8  # 32 test examples, 4 in a part
TWO = {"slow": {"shards": 2}, "gradient": {}}


def tables(checkout) -> dict[str, bytes]:
    """Content of every explanations, scores and tests file, without its metadata."""
    found = {}
    for folder in ("explanations", "scores", "tests"):
        for path in sorted((checkout.results / folder).rglob("*.parquet")):
            sink = io.BytesIO()
            with pq.ParquetFile(path) as file:
                pq.write_table(file.read().replace_schema_metadata(None), sink)
            found[str(path.relative_to(checkout.results))] = sink.getvalue()
    return found


def test_shards_change_no_table(sharded, undivided_run):
    one = {"match": {"method": "gradient", "metric": "slow_drop"}, "metric": {"shards": 1}}
    copy = sharded(
        methods={"slow": {"shards": 3}, "gradient": {}},
        metrics={"slow_drop": {"shards": 3}, "gini": {}},
        overrides=[one],
    )
    assert copy.plan() == {
        "explain_shard": 3, "explain": 2, "evaluate_shard": 3, "evaluate": 4, "test": 4,
        "across_trainings": 1, "judge": 1, "adjusted_gaps": 1, "cost": 1, "report": 1,
    }  # fmt: skip
    copy.snakemake()
    assert tables(copy) == tables(undivided_run)
    assert len(tables(copy)) == 2 + 4 + 4
    assert copy.plan() == {}
    assert not list((copy.results / "shards").rglob("*.parquet"))
    logs = sorted(p.name for p in (copy.results / "logs").rglob("*.log"))
    benchmarks = sorted(p.stem for p in (copy.results / "benchmarks").rglob("*.tsv"))
    assert [name.removesuffix(".log") for name in logs] == benchmarks
    assert logs.count("1-of-3.log") == 2
    shards = [job for job in read_finished(copy.results).jobs if job.shard]
    assert len(shards) == 6
    assert all(job.seconds for job in shards)


def test_another_number_redoes_nothing(sharded):
    assert sharded(remove=False, methods=TWO).plan() == {}


def job_of(run: forked.Run) -> psutil.Process:
    """A run's running job of a shard, the process that computes and not its shell."""
    return next(job for job in jobs_of(run, "explain") if "--shard" in job.cmdline())


def test_a_killed_shard_repeats_one_part_at_most(sharded, undivided_run, tmp_path, monkeypatch):
    """Stopped twice before a part is on the disk: by KILL, and by TERM."""
    copy = sharded(methods=TWO)
    listed = tmp_path / "calls.txt"
    listed.touch()
    monkeypatch.setenv("SLOW_CALLS", str(listed))
    # The first shard has every other part.
    for part, number in (("00002", signal.SIGKILL), ("00006", signal.SIGTERM)):
        with held(f"slow/1-of-2.parquet.parts/{part}.part") as waiting:
            run = copy.start("--cores", "1")
            try:
                waiting.wait(run)
                job = job_of(run)
                below = psutil.Process(run.pid).children(recursive=True)
                job.send_signal(number)
                job.wait(timeout=60)
            finally:
                run.kill_all()
            assert all(map(is_gone, below)), "a job lives on"
        if number == signal.SIGTERM:
            logs = [p.read_text() for p in (copy.results / "logs/explain_shard").rglob("*.log")]
            assert any("12 of 16 examples are kept, the same command continues" in t for t in logs)
    monkeypatch.delenv("SLOW_CALLS")
    copy.snakemake("--until", "test")
    assert tables(copy) == tables(undivided_run)
    assert copy.plan("--until", "test") == {}
    calls = [line for line in listed.read_text().splitlines() if line.startswith("explain")]
    assert len(set(calls)) <= N_PARTS
    assert len(calls) <= N_PARTS + 2 + 2  # two probes, and a part each time
    left = [p.name for p in copy.results.rglob("*") if p.name.endswith((".part", ".parts", ".tmp"))]
    assert left == []
