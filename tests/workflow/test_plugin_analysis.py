"""An analysis of the user's own, in one file: in the DAG, the results and the report."""

from __future__ import annotations

import csv

import pyarrow.parquet as pq
import pytest
from support import N_METHODS, N_METRICS, TINY

pytestmark = pytest.mark.workflow

PLUGIN = '''"""How long the texts of groups are, and how many tests there are."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from exparity.analyses import Export, Findings, analysis, fields
from exparity.artefacts.files import read_artefact, write_artefact


def say(rows, study, options):
    columns = pa.schema({"dataset": pa.string(), "group": pa.string(), "texts": pa.int64()})
    return Findings({"rows": rows}, [Export("lengths", "Long texts", columns, rows)])


@analysis(
    "length",
    level="dataset",
    reads=("data",),
    artefact="lengths",
    columns=fields(("group", pa.string()), ("texts", pa.int64())),
    keys=("group",),
    section=say,
    template="<p class=lengths>{% for r in rows %}{{ r.group }} {{ r.texts }};{% endfor %}</p>",
)
def length(data: Path, output: Path, *, at_least: int = 1) -> None:
    """Count the texts of each group that are long.

    Args:
        data: the data artefact.
        output: the lengths artefact to write.
        at_least: fewest words of a long text.
    """
    table, metadata = read_artefact(data, "data")
    groups = [row["group"] for row in table.to_pylist() if len(row["words"]) >= at_least]
    rows = [{"group": group, "texts": groups.count(group)} for group in set(groups)]
    write_artefact(
        output, "lengths", rows, metadata["wildcards"], stage="length",
        parameters={"at_least": at_least},
    )


@analysis(
    "test_count",
    level="experiment",
    reads=("tests",),
    artefact="test_counts",
    columns=fields(("tests", pa.int64())),
    keys=("tests",),
)
def test_count(tests: Sequence[Path], output: Path) -> None:
    """Count the tests.

    Args:
        tests: all of them.
        output: the artefact to write.
    """
    rows = [{"tests": len(tests)}]
    write_artefact(output, "test_counts", rows, {}, stage="test_count", parameters={})
'''


def test_one_file_and_the_config_are_all_it_takes(finished):
    (finished.root / "mine.py").write_text(PLUGIN)
    analyses = {"length": {"at_least": 2}, "test_count": None}
    finished.configure(plugins=["mine.py"], analyses=analyses)
    assert finished.plan() == {"length": 1, "test_count": 1, "cost": 1, "report": 1}
    finished.snakemake()
    assert finished.plan() == {}
    counted = pq.read_table(finished.results / "lengths" / "pairs_all.parquet").to_pylist()
    assert {row["group"]: row["texts"] for row in counted} == {"female": 40, "male": 40}
    (row,) = pq.read_table(finished.results / "test_counts.parquet").to_pylist()
    assert row["tests"] == N_METHODS * N_METRICS
    page = (finished.results / "report" / "index.html").read_text()
    assert '<section id="length"' in page
    assert "female 40;male 40;" in page
    with (finished.results / "report" / "tables" / "lengths.csv").open() as file:
        assert {row["group"]: row["texts"] for row in csv.DictReader(file)} == {
            "female": "40", "male": "40"
        }  # fmt: skip
    finished.configure(plugins=["mine.py"], analyses={**analyses, "length": {"at_least": 3}})
    assert finished.plan() == {"length": 1, "cost": 1, "report": 1}
    finished.configure(plugins=["mine.py"], analyses={"length": {"at_leats": 3}})
    run = finished.snakemake("-n", check=None)
    assert "unknown key 'analyses.length.at_leats'; did you mean 'at_least'" in run.stderr
    assert set(TINY["datasets"]) == {"pairs_all"}
