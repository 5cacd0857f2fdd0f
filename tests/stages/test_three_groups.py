"""Three groups, three classes and matched triplets, from a raw file to tests."""

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support import CPU

from exparity.artefacts.files import read_artefact
from exparity.artefacts.lineage import sha256_of
from exparity.stages.bias import bias_model
from exparity.stages.compare import compare_model
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.explain import explain_cell
from exparity.stages.finetune import finetune_cell
from exparity.stages.prepare import prepare

GENDERS = ("male", "female", "neutral")
TARGETS = {"male": 1, "female": 0, "neutral": 2}
SUBJECTS = {"male": "He", "female": "She", "neutral": "They"}
POSSESSIVES = {"male": "his", "female": "her", "neutral": "their"}
VERBS = ("sold", "lost", "found", "painted", "hid", "mended", "drew", "kept", "moved", "washed")
THINGS = ("lamp", "boat", "map", "violin", "ladder", "kettle")
PAIRS = {("male", "female"), ("male", "neutral"), ("female", "neutral")}


def write_geco(folder: Path, variant: str = "all") -> dict[str, str]:
    """Write authored triplets in GECO's format; returns the digests as options."""
    texts = list(itertools.product(VERBS, THINGS))
    digests = {}
    for split, chosen in (("train", texts[12:]), ("test", texts[:12])):
        path = folder / "geco" / f"non_binary_gender_{variant}" / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {
                "sentence": [SUBJECTS[g], verb, POSSESSIVES[g], "old " + thing, "."],
                "ground_truth": [1, 0, 1, 0, 0],
                "gender": g,
                "target": TARGETS[g],
                "sentence_idx": texts.index((verb, thing)),
            }
            for verb, thing in chosen
            for g in GENDERS
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        digests[f"{split}_sha256"] = sha256_of(path)
    return digests


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> Path:
    """All artefacts of one cell."""
    folder = tmp_path_factory.mktemp("three")
    write_geco(folder)
    data, model = folder / "data.parquet", folder / "ola" / "0"
    prepare(
        data,
        use="geco_nonbinary_all",
        params={"verify": False},
        data_dir=folder,
        dataset_id="nonbinary",
        download=False,
    )
    finetune_cell(
        data, model, folder / "predictions.parquet",
        model={"init": "scratch", "architecture": "ola", "size": {"hidden_size": 16}},
        training={"epochs": 8, "learning_rate": 0.02}, model_id="ola", seed=0, machine=CPU,
    )  # fmt: skip
    explain_cell(
        data, model, folder / "predictions.parquet", folder / "gradient.parquet",
        use="gradient_x_input", params={}, model_id="ola", method_id="gxi", seed=0, machine=CPU,
    )  # fmt: skip
    evaluate_cell(
        data, folder / "gradient.parquet", model, folder / "scores.parquet",
        use="comprehensiveness", params={}, metric_id="comp", machine=CPU,
    )  # fmt: skip
    compare_model(
        data, [folder / "predictions.parquet"], [folder / "scores.parquet"], None,
        folder / "tests.parquet", folder / "across.parquet", statistics={"resamples": 50},
    )  # fmt: skip
    bias_model(data, [folder / "predictions.parquet"], folder / "bias.parquet", resamples=50)
    return folder


def rows(path: Path, artefact: str) -> list[dict]:
    return read_artefact(path, artefact)[0].to_pylist()


def test_data_declare_three_of_everything(chain):
    facts = read_artefact(chain / "data.parquet", "data")[1]
    assert facts["groups"] == ["male", "female", "neutral"]
    assert facts["labels"] == ["female", "male", "neutral"]
    sets = Counter(row["match_id"] for row in rows(chain / "data.parquet", "data"))
    assert set(sets.values()) == {3}


def test_the_classifier_tells_three_classes(chain):
    found = rows(chain / "predictions.parquet", "predictions")
    assert all(len(row["probabilities"]) == 3 for row in found)
    assert all(TARGETS[row["group"]] == row["label"] for row in found)
    assert np.mean([row["predicted"] == row["label"] for row in found]) == 1


def test_explanations_are_of_the_own_class(chain):
    group = {r["example_id"]: r["group"] for r in rows(chain / "data.parquet", "data")}
    found = rows(chain / "gradient.parquet", "explanations")
    assert {row["target"] for row in found} == {0, 1, 2}
    assert all(row["target"] == TARGETS[group[row["example_id"]]] for row in found)


def test_all_groups_are_compared_at_once_and_in_pairs(chain):
    found = rows(chain / "tests.parquet", "tests")
    assert {(row["group_a"], row["group_b"]) for row in found} == PAIRS
    assert len(found) == 3
    for row in found:
        assert (row["n_groups"], row["n_sets"], row["omnibus"]) == (3, 12, "kruskal_wallis")
        assert 0 <= row["omnibus_p"] <= 1
        assert 0 <= row["friedman_p"] <= 1
        assert row["n_a"] == row["n_b"] == 12
        assert row["n_pairs"] == 12
    across = rows(chain / "across.parquet", "across_trainings")
    assert {(row["group_a"], row["group_b"]) for row in across} == PAIRS


def test_bias_has_every_class_and_pair(chain):
    found = rows(chain / "bias.parquet", "bias")
    for rate in ("tpr", "tnr", "selection_rate"):
        classes = {r["class_name"] for r in found if r["quantity"] == rate}
        assert classes == set(GENDERS)
    pairs = {(r["group"], r["group_b"]) for r in found if r["quantity"] == "accuracy_gap"}
    assert pairs == PAIRS
    # Class and group coincide, so that a group has no example of another class.
    own = [r for r in found if r["quantity"] == "tpr" and r["group"] == r["class_name"]]
    assert [r["value"] for r in own] == [1, 1, 1]
    apd = [r for r in found if r["quantity"] == "apd" and not r["class_name"]]
    assert {(r["group"], r["group_b"], r["n"]) for r in apd} == {(*pair, 12) for pair in PAIRS}
