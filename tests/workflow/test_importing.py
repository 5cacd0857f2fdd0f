"""Explanations of another tool through the whole workflow, by the steps of docs/importing.md."""

import re
import shlex

import pytest
import yaml
from workflow.conftest import planned

import exparity
from exparity.artefacts.files import read_artefact
from exparity.artefacts.lineage import sha256_of
from exparity.cli import main

pytestmark = pytest.mark.workflow
METRICS = {"comprehensiveness": {}, "mass_accuracy": {}, "sensitivity": {"steps": 1}}
CELL = "pairs_all/bert_tiny/0"
SMALL = {"target": "predicted", "metrics": METRICS, "controls": {"random": {"draws": 0}}}


def block(page, language):
    return re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)[1]


def test_imported_explanations_score_as_those_they_were_made_from(
    checkout, repository, monkeypatch
):
    page = (repository / "docs" / "importing.md").read_text()
    monkeypatch.chdir(checkout.root)
    checkout.configure(**SMALL, methods={"gradient": {}})
    checkout.snakemake("--until", "explain")
    exec(compile(block(page, "python"), "importing.md", "exec"), {})
    methods = yaml.safe_load(block(page, "yaml"))["methods"]
    checkout.configure(**SMALL, methods=methods)
    plan = planned(checkout.snakemake().stderr)
    assert "finetune" not in plan
    assert (plan["explain"], plan["evaluate"]) == (1, 2 * len(METRICS) - 1)

    scores = exparity.read_results(checkout.results, "scores")
    of = {
        name: rows.set_index(["metric", "example_id"]).score
        for name, rows in scores.groupby("method")
    }
    assert set(of["gradient"].index.levels[0]) == set(METRICS)
    again = of["gradient"].drop("sensitivity")
    assert of["mine"].index.equals(again.index)
    assert of["mine"].to_numpy().tobytes() == again.to_numpy().tobytes()
    disparity = exparity.read_results(checkout.results, "disparity").query("quantity == 'score'")
    assert len(disparity) == 2 * len(METRICS) - 1
    html = (checkout.results / "report" / "index.html").read_text()
    assert html.count('<td class="n" data-metric="sensitivity">–</td>') == 1
    tables = list((checkout.results / "report" / "tables").glob("disparity-*.csv"))
    assert [len(path.read_text().splitlines()) for path in tables] == [1 + len(disparity)]

    written = checkout.results / "explanations" / CELL / "mine.parquet"
    table, metadata = read_artefact(written, "explanations")
    name = f"imports/{CELL.replace('/', '-')}.jsonl"
    assert metadata["files"] == {name: sha256_of(checkout.root / name)}
    assert metadata["parameters"]["params"] == {"path": name}

    # The command of the docs writes the same rows.
    command = shlex.split(
        block(page, "bash")
        .replace("\\\n", " ")
        .replace("bert_scratch", "bert_tiny")
        .replace("bios", "pairs_all")
    )
    command[command.index("--output") + 1] = "mine.parquet"
    assert main([*command[1:], "--target", "predicted", "--device", "cpu"]) == 0
    assert read_artefact(checkout.root / "mine.parquet", "explanations")[0].equals(table)
