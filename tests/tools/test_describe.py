"""The crate of a results folder: every file that it names exists, as it describes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exparity.artefacts.files import read_artefact, write_artefact
from exparity.cli import main
from exparity.core.errors import InputError
from exparity.stages.prepare import prepare
from exparity.tools.describe import describe

CELL = {"dataset": "pairs_all", "model": "m", "seed": 0}
KEY = {"example_id": "1", "group": "male", "match_id": None}


@pytest.fixture
def results(tmp_path) -> Path:
    """Data, predictions and a checkpoint's folder, and something that is no result."""
    folder = tmp_path / "results"
    prepare(folder / "data" / "pairs_all.parquet", use="pairs_all", params={"n_pairs": 10})
    predicted = {**KEY, "label": 0, "probabilities": [0.75, 0.25], "predicted": 0}
    place = folder / "predictions" / "pairs_all" / "m" / "0.parquet"
    write_artefact(
        place, "predictions", [predicted], CELL, stage="finetune", parameters={}, seconds=2.0
    )
    (folder / "models" / "pairs_all" / "m" / "0").mkdir(parents=True)
    (folder / "grid.json").write_text("{}")
    (folder / "notes.txt").write_text("mine")
    return folder


def crate(results: Path, **options) -> dict[str, dict]:
    """The entities of the crate of a folder, by id."""
    describe(results, **options)
    content = json.loads((results / "ro-crate-metadata.json").read_text())
    assert content["@context"] == "https://w3id.org/ro/crate/1.1/context"
    entities = {entity["@id"]: entity for entity in content["@graph"]}
    assert len(entities) == len(content["@graph"])
    return entities


def ids(references) -> set[str]:
    return {reference["@id"] for reference in references}


def test_a_crate_holds_every_result_and_nothing_else(results):
    entities = crate(results)
    files = {"data/pairs_all.parquet", "predictions/pairs_all/m/0.parquet", "grid.json"}
    assert ids(entities["./"]["hasPart"]) == {*files, "models/pairs_all/m/0/"}
    for name in files:
        assert int(entities[name]["contentSize"]) == (results / name).stat().st_size
    assert entities["ro-crate-metadata.json"]["about"] == {"@id": "./"}


def test_every_reference_leads_to_an_entity(results):
    entities = crate(results)

    def check(value):
        if isinstance(value, list):
            for one in value:
                check(one)
        elif isinstance(value, dict) and set(value) == {"@id"}:
            assert value["@id"] in entities or value["@id"].startswith(("http", "https")), value

    for entity in entities.values():
        for value in entity.values():
            check(value)


def test_actions_say_what_made_what_of_what(results):
    entities = crate(results)
    actions = [entity for entity in entities.values() if entity["@type"] == "CreateAction"]
    prepared, trained = sorted(actions, key=lambda action: action["name"], reverse=True)
    assert prepared["name"] == "exparity prepare: 1 artefacts"
    assert ids(trained["object"]) == ids(prepared["result"]) == {"data/pairs_all.parquet"}
    assert ids(trained["result"]) == {"predictions/pairs_all/m/0.parquet"}
    assert trained["startTime"] <= trained["endTime"] <= entities["./"]["datePublished"]
    facts = read_artefact(results / "data" / "pairs_all.parquet", "data")[1]
    tool = entities[prepared["instrument"]["@id"]]
    assert tool["softwareVersion"] == facts["version"]
    assert facts["commit"] in tool["description"]


def test_terms_are_those_that_are_given_or_those_of_the_data(results):
    assert "terms of the data: pairs_all: MIT" in crate(results)["./"]["license"]
    assert crate(results, licence="CC-BY-4.0")["./"]["license"] == "CC-BY-4.0"


def test_data_of_an_unknown_dataset_have_no_terms(results):
    path = results / "data" / "pairs_all.parquet"
    table, facts = read_artefact(path, "data")
    more = {name: facts[name] for name in ("attribute", "groups", "labels", "display")}
    write_artefact(
        path, "data", table, {"dataset": "pairs_all"}, stage="prepare",
        parameters={"use": "of_a_plugin"}, extra=more,
    )  # fmt: skip
    assert "pairs_all: not stated" in crate(results)["./"]["license"]


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="no results there; run snakemake first"):
        describe(tmp_path)
    assert main(["describe", str(tmp_path)]) == 2
    assert list(tmp_path.iterdir()) == []
