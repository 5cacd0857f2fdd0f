"""The analysis adjusted_gaps: what it reads and joins, what it writes, and what it refuses."""

import subprocess
import sys

import numpy as np
import pytest
from made_up import Results

from exparity import InputError
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.stages.tests.adjusted import adjusted_gaps_cell
from exparity.stats.adjusted import adjusted_gaps

pytestmark = pytest.mark.contract

CELL = {"dataset": "d", "model": "m", "seed": 3}
FACTS = {"groups": ["male", "female"], "attribute": "gender"}
PAIRS = 12


def examples():
    """Pairs of one male and one female text: both classes, and lengths of 3 to 9 words."""
    rng = np.random.default_rng(0)
    return [
        {
            "example_id": f"{i:02d}-{group}",
            "group": group,
            "match_id": f"{i:02d}",
            "label": int(rng.integers(2)),
            "words": ["word"] * int(rng.integers(3, 10)),
            "probability": float(rng.uniform(0.1, 0.9)),
        }
        for i in range(PAIRS)
        for group in FACTS["groups"]
    ]


def scores_file(folder, rows, flags=(), **ids):
    ids = {**CELL, "method": "lime", "metric": "gini", **ids}
    return Results(folder).write("scores", rows, *ids.values(), flags=list(flags))


def scored(rows, seed=0):
    rng = np.random.default_rng(seed)
    keys = ("example_id", "group", "match_id")
    return [{**{key: row[key] for key in keys}, "score": float(rng.normal())} for row in rows]


@pytest.fixture
def files(tmp_path):
    """Data (with texts of both splits), predictions, two scores artefacts, and the output."""
    rows = examples()
    texts = [
        {
            "example_id": row["example_id"], "match_id": row["match_id"], "split": "test",
            "text": " ".join(row["words"]), "words": row["words"], "label": row["label"],
            "group": row["group"], "rationale": None, "attributes": [],
        }
        for row in rows
    ]  # fmt: skip
    texts.append({**texts[0], "example_id": "train", "match_id": None, "split": "train"})
    results = Results(tmp_path)
    data = results.write("data", texts, "d")
    predicted = [
        {
            "example_id": row["example_id"], "group": row["group"], "match_id": row["match_id"],
            "label": row["label"], "probabilities": [1 - row["probability"], row["probability"]],
            "predicted": int(row["probability"] > 0.5),
        }
        for row in rows
    ]  # fmt: skip
    predictions = results.write("predictions", predicted, *CELL.values())
    sampled = scored(rows[4:], seed=1)  # of whole sets, as max_examples takes them
    paths = [
        scores_file(tmp_path, scored(rows)),
        scores_file(tmp_path, sampled, method="shap", flags=["rounding_noise"]),
    ]
    return [data, predictions, paths, tmp_path / "o"]


def rows_of(files, **options):
    adjusted_gaps_cell(*files, **options)
    table, facts = read_artefact(files[3], "adjusted_gaps")
    return table.to_pylist(), facts


def test_one_row_per_file_and_adjustment(files):
    rows, facts = rows_of(files)
    expected = [(m, a) for m in ("lime", "shap") for a in ("class", "confidence", "length")]
    assert [(row["method"], row["adjustment"]) for row in rows] == expected
    assert {(r["dataset"], r["model"], r["seed"], r["metric"]) for r in rows} == {
        ("d", "m", 3, "gini")
    }
    assert {(r["group_a"], r["group_b"], r["design"]) for r in rows} == {
        ("male", "female", "paired")
    }
    assert [row["n"] for row in rows] == [PAIRS] * 3 + [PAIRS - 2] * 3
    assert [row["flags"] for row in rows] == [[]] * 3 + [["rounding_noise"]] * 3
    assert facts["wildcards"] == CELL
    assert facts["groups"] == FACTS["groups"]


@pytest.mark.parametrize("target", ["label", "predicted"])
def test_rows_are_those_of_the_function(files, target):
    rows, facts = rows_of(files, confidence=0.8, target=target)
    assert facts["parameters"] == {"confidence": 0.8, "target": target}
    source = examples()
    chosen = [r["label"] if target == "label" else r["probability"] > 0.5 for r in source]
    probability = [np.float32(r["probability"]) for r in source]
    expected = adjusted_gaps(
        [row["score"] for row in scored(source)],
        [row["group"] for row in source],
        FACTS["groups"],
        [row["match_id"] for row in source],
        covariates={
            "class": [row["label"] for row in source],
            "confidence": [p if c else 1 - p for p, c in zip(probability, chosen, strict=True)],
            "length": [len(row["words"]) for row in source],
        },
        confidence=0.8,
    )
    for row, gap in zip(rows[:3], expected, strict=True):
        assert row["adjustment"] == gap.adjustment
        for name in ("estimate", "standard_error", "p", "low", "high", "n"):
            assert row[name] == pytest.approx(getattr(gap, name), rel=1e-6), name


def test_the_order_of_files_does_not_matter(files):
    rows, _ = rows_of(files)
    files[2].reverse()
    assert rows_of(files)[0] == rows


def test_command(files):
    command = [sys.executable, "-m", "exparity", "adjusted-gaps", "--data", files[0]]
    command += ["--predictions", files[1], "--scores", *files[2], "--output", files[3]]
    subprocess.run([*command, "--target", "predicted"], check=True, timeout=600)
    _, facts = read_artefact(files[3], "adjusted_gaps")
    assert facts["parameters"]["target"] == "predicted"


class TestRefused:
    def refused(self, files, message):
        with pytest.raises(InputError, match=message):
            adjusted_gaps_cell(*files)

    def test_scores_of_another_classifier(self, files, tmp_path):
        files[2].append(scores_file(tmp_path, scored(examples()), model="other"))
        self.refused(files, "is of model 'other'")

    def test_data_of_another_dataset(self, files):
        texts = read_artefact(files[0], "data")[0].drop_columns(["dataset"]).to_pylist()
        texts = [{**row, "attributes": []} for row in texts]
        write_artefact(files[0], "data", texts, {"dataset": "e"}, stage="prepare", parameters={})
        self.refused(files, "is of dataset")

    def test_an_example_without_a_prediction(self, files, tmp_path):
        rows = scored(examples())
        rows[0]["example_id"] = "stranger"
        files[2].append(scores_file(tmp_path, rows, metric="sparsity"))
        self.refused(files, "has no prediction for example 'stranger'")

    def test_a_prediction_without_a_text(self, files):
        texts = read_artefact(files[0], "data")[0].drop_columns(["dataset"]).to_pylist()
        texts = [{**row, "attributes": []} for row in texts[1:]]
        write_artefact(files[0], "data", texts, {"dataset": "d"}, stage="prepare", parameters={})
        self.refused(files, "has no text of example '00-")

    def test_no_scores(self, files):
        self.refused([*files[:2], [], files[3]], "needs at least one scores artefact")
