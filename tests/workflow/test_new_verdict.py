"""A verdict of one's own: one row of data, in the DAG, the results, the page and the terminal."""

import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from support import TINY

pytestmark = pytest.mark.workflow

LEVELLED = """    Verdict(
        "levelled",
        "Levelled out",
        "The gaps of {run}s cancel each other out.",
        "The gaps of {n_seeds} {run}s cancel each other out (d = {d:+.2f}).",
        "This classifier has hardly a gap (d = {d:+.2f}).",
        "good",
        is_gap=False,
        favours=False,
        settles=False,
        holds=lambda p, alpha: p.p_mean > 0.5,
    ),
"""


def test_one_row_is_all_it_takes(checkout):
    source = checkout.root / "src" / "exparity" / "stats" / "verdicts.py"
    text = source.read_text()
    last = '    Verdict(\n        "undecided",'
    assert text.count(last) == 1
    source.write_text(text.replace(last, LEVELLED + last))
    size = {**TINY["models"]["bert_tiny"]["size"], "hidden_size": 32, "intermediate_size": 64}
    checkout.configure(
        datasets={"pairs_all": {"n_pairs": 160}},
        models={"bert_tiny": {**TINY["models"]["bert_tiny"], "size": size}},
        methods={"gradient": {}},
        training={"epochs": 10, "learning_rate": 0.005, "batch_size": 16},  # it is no collapsed one
    )
    checkout.snakemake()

    rows = pq.read_table(checkout.results / "verdicts.parquet").to_pylist()
    assert "levelled" in {row["verdict"] for row in rows}
    for row in rows:
        expected = row["p_mean_bh"] > 0.5 and row["p_small_bh"] > 0.05
        assert (row["verdict"] == "levelled") == expected
    page = (checkout.results / "report" / "index.html").read_text()
    assert "Levelled out" in page
    assert "has hardly a gap" in page
    shown = subprocess.run(
        [sys.executable, "-m", "exparity", "show", "results"],
        cwd=checkout.root, env=checkout.environment, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert "levelled" in shown.stdout
