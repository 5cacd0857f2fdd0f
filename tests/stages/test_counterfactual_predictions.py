"""Predictions of counterfactuals, and the causal bias that is measured from them."""

import numpy as np
import pytest
from stages.cells import inputs_of, train, write_counterfactuals
from support import CPU

from exparity.artefacts.files import read_artefact
from exparity.engine.loading import load_classifier
from exparity.stages.bias import bias_model
from exparity.stages.counterfactuals import counterfactual_predictions_cell
from exparity.stages.prepare import prepare

PREDICTED = "counterfactual_predictions"
IDS = {"dataset": "people", "model": "mine", "seed": 3}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Short biographies, a classifier of them, and their counterfactuals by their own grammar."""
    folder = tmp_path_factory.mktemp("made")
    options = {"paired": False, "n_biographies": 200}
    data = folder / "data.parquet"
    prepare(data, use="bios", params=options, data_dir=folder, dataset_id="people")
    train(folder, epochs=12, learning_rate=0.01)
    write_counterfactuals(folder, folder / "counterfactuals.parquet", pronouns_swapped)
    predict(folder)
    return folder


def pronouns_swapped(i, words):
    """Every third text keeps its words."""
    swaps = {"he": "she", "she": "he", "his": "her", "her": "his", "He": "She", "She": "He"}
    return [swaps.get(word, word) if i % 3 else word for word in words]


def predict(folder):
    files = {name: folder / f"{name}.parquet" for name in ("counterfactuals", PREDICTED)}
    counterfactual_predictions_cell(
        **inputs_of(folder), counterfactuals=files["counterfactuals"], output=files[PREDICTED],
        machine=CPU,
    )  # fmt: skip


def rows_of(path):
    return read_artefact(path, path.stem)[0].to_pylist()


class TestPredictions:
    def test_each_is_what_the_classifier_says_of_the_words(self, made):
        found = rows_of(made / "counterfactual_predictions.parquet")
        wanted = [r for r in rows_of(made / "counterfactuals.parquet") if r["split"] == "test"]
        assert [r["example_id"] for r in found] == sorted(r["example_id"] for r in wanted)
        words = {r["example_id"]: r for r in wanted}
        classifier = load_classifier(str(made / "mine" / "3"), "cpu")
        changed = [row for row in found if row["n_changed"]]
        assert 0 < len(changed) < len(found)
        encodings = classifier.encode([words[row["example_id"]]["words"] for row in changed])
        expected = classifier.probabilities([encoding.token_ids for encoding in encodings])
        np.testing.assert_allclose([r["probabilities"] for r in changed], expected, atol=1e-6)
        assert [r["predicted"] for r in changed] == expected.argmax(1).tolist()
        labels = {r["example_id"]: r["label"] for r in rows_of(made / "data.parquet")}
        for row in found:
            assert row["label"] == labels[row["example_id"]]
            assert row["group_to"] == words[row["example_id"]]["group_to"] != row["group"]

    def test_unchanged_words_keep_the_prediction_bit_for_bit(self, made):
        before = {row["example_id"]: row for row in rows_of(made / "predictions.parquet")}
        table, facts = read_artefact(
            made / "counterfactual_predictions.parquet", "counterfactual_predictions"
        )
        same = [row for row in table.to_pylist() if not row["n_changed"]]
        assert same
        assert facts["notes"]["unchanged"] == len(same)
        assert facts["wildcards"] == IDS
        for row in same:
            original = before[row["example_id"]]
            assert row["probabilities"] == original["probabilities"]
            assert row["predicted"] == original["predicted"]


class TestBias:
    def measure(self, made, output, *paths):
        predictions = [made / "predictions.parquet"]
        bias_model(made / "data.parquet", predictions, output, paths, resamples=50)
        return read_artefact(output, "bias")

    def test_the_other_rows_stay_as_they_are(self, made, tmp_path):
        alone, facts = self.measure(made, tmp_path / "alone.parquet")
        both, more = self.measure(
            made, tmp_path / "both.parquet", made / "counterfactual_predictions.parquet"
        )
        assert "counterfactuals" not in facts["notes"]
        key = ("quantity", "group", "group_b", "class_name")
        known = {tuple(row[k] for k in key): repr(row) for row in alone.to_pylist()}
        added = {}
        for row in both.to_pylist():
            name = tuple(row[k] for k in key)
            if known.pop(name, None) not in (None, repr(row)):
                raise AssertionError(name)
            added[name] = row
        assert not known
        found = rows_of(made / "counterfactual_predictions.parquet")
        assert more["notes"]["counterfactuals"] == len(found)
        assert more["notes"]["unchanged"] == sum(not row["n_changed"] for row in found)
        # By hand, from the two artefacts.
        before = {row["example_id"]: row for row in rows_of(made / "predictions.parquet")}
        flips = [before[row["example_id"]]["predicted"] != row["predicted"] for row in found]
        row = added["flip_rate", "male", "female", ""]
        assert row["value"] == pytest.approx(np.mean(flips))
        assert row["n"] == len(flips)
        assert row["flags"] == ["unchanged_texts"]
        gaps = []
        for one in found:
            male, female = before[one["example_id"]], one
            if one["group"] == "female":
                male, female = female, male
            gaps.append(male["probabilities"][1] - female["probabilities"][1])
        name = more["labels"][1]
        row = added["causal_probability_gap", "male", "female", name]
        assert row["value"] == pytest.approx(np.mean(gaps), abs=1e-9)
        assert row["value"] != 0
        for rate in ("tpr", "fpr", "selection_rate"):
            assert added[f"{rate}_gap_rms_by_chance", "male", "female", ""]["value"] > 0
