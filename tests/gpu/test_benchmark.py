"""benchmarks/gpu.py walks all its parts, keeps what it has, and fills the page on performance."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.fake_cuda


@pytest.fixture
def gpu(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import gpu

    return gpu


@pytest.mark.exhaustive
def test_a_dry_run_walks_every_part_and_fills_the_page(gpu, repository, tmp_path):
    output, page = tmp_path / "gpu.jsonl", tmp_path / "page.md"
    command = [sys.executable, repository / "benchmarks" / "gpu.py", "--dry-run", "--minutes", "30"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "--output", output], check=True, env=environment, capture_output=True)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert list(dict.fromkeys(row["part"] for row in rows)) == list(gpu.PARTS)
    # A CPU has no such kernels of attention.
    lacking = [row for row in rows if "not_measured" in row]
    assert {row["part"] for row in lacking} <= {"bits"}
    assert all("attention" in row["work"] for row in lacking)
    ran = {(row["kind"], row["id"]) for row in rows if row["part"] == "costs"}
    assert ran == {
        *(("method", id) for id in gpu.methods_that_run()),
        *(("metric", id) for id in gpu.metrics_that_run()),
    }
    compared = [row for row in rows if row["part"] == "bits" and row["work"] == "training"]
    assert [row["compared"] for row in compared] == ["again", "resumed after a kill"]
    assert [row["largest"] for row in compared] == [0, 0]
    page.write_text("before\n<!-- gpu -->\nold\n<!-- end -->\nafter\n")
    gpu.write(page, [output])
    text = page.read_text()
    assert "old" not in text
    assert all(f"`{part}`:" in text for part in gpu.PARTS)
    assert text.count("measured seconds a text") == 3


def test_the_page_holds_the_estimates_that_the_command_writes(gpu, repository, tmp_path):
    written = (repository / "docs" / "performance.md").read_text()
    page = tmp_path / "page.md"
    page.write_text(written)
    gpu.write(page, [])
    assert page.read_text() == written
