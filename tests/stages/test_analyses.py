"""The stages of the analyses: what they read, what they write, what they refuse."""

import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from stages.cells import evaluate, examples_of, explain, rows_of, with_column

from exparity.analyses.attribution_difference import attribution_difference_cell
from exparity.analyses.correctness import correctness_cell
from exparity.analyses.dataset_bias import measure_dataset_bias
from exparity.artefacts.files import read_artefact
from exparity.data import DATASETS


@pytest.fixture(scope="module")
def made(cell, tmp_path_factory):
    """Explanations of two methods, and what two metrics say of them."""
    folder = tmp_path_factory.mktemp("made")
    explanations, scores = [], []
    for method in ("gradient", "gradient_x_input"):
        explanations.append(explain(cell, folder / f"{method}.parquet", method))
        for metric in ("mass_accuracy", "rationale_iou"):
            output = folder / f"{method}-{metric}.parquet"
            scores.append(evaluate(cell, explanations[-1], output, metric))
    return explanations, scores


class TestCorrectness:
    def test_means_are_those_of_the_scores(self, cell, made, tmp_path):
        correctness_cell(made[1], cell / "predictions.parquet", tmp_path / "c.parquet")
        predicted = {
            row["example_id"]: row["label"] == row["predicted"]
            for row in rows_of(cell / "predictions.parquet", "predictions")
        }
        rows = rows_of(tmp_path / "c.parquet", "correctness")
        assert len(rows) == 2 * 2 * 3 * 3  # methods, metrics, subsets, groups and all
        found = {(r["method"], r["metric"], r["subset"], r["group"]): r["mean"] for r in rows}
        for path in made[1]:
            table, metadata = read_artefact(path, "scores")
            ids = metadata["wildcards"]
            given = table.to_pylist()
            right = [row["score"] for row in given if predicted[row["example_id"]]]
            assert 0 < len(right) < len(given)
            key = ids["method"], ids["metric"]
            assert found[*key, "correct", ""] == pytest.approx(np.mean(right))
            male = [row["score"] for row in given if row["group"] == "male"]
            assert found[*key, "all", "male"] == pytest.approx(np.mean(male))
        facts = read_artefact(tmp_path / "c.parquet", "correctness")[1]
        assert (facts["stage"], facts["groups"]) == ("correctness", ["male", "female"])


class TestAttributionDifference:
    def run(self, cell, made, output, **options):
        attribution_difference_cell(cell / "data.parquet", made[0], output, **options)
        return rows_of(output, "attribution_differences")

    def test_equals_sums_by_hand(self, cell, made, tmp_path):
        rows = self.run(cell, made, tmp_path / "d.parquet", min_sets=2)
        examples = examples_of(cell)
        for path in made[0]:
            method = read_artefact(path, "explanations")[1]["wildcards"]["method"]
            shares = {}
            for row in rows_of(path, "explanations"):
                words = [0.0] * len(examples[row["example_id"]].words)
                for word, score in zip(row["word_ids"], row["scores"], strict=True):
                    if word >= 0:
                        words[word] += abs(score)
                shares[row["example_id"]] = [word / sum(words) for word in words]
            sets: dict[str, dict[str, str]] = {}
            for example in examples.values():
                sets.setdefault(example.match_id, {})[example.group] = example.example_id
            means, n_words = [], 0
            for members in sets.values():
                marks = examples[members["male"]].rationale
                gaps = [
                    a - b
                    for a, b, mark in zip(
                        shares[members["male"]], shares[members["female"]], marks, strict=True
                    )
                    if mark
                ]
                means.append(np.mean(gaps))
                n_words += len(gaps)
            (together,) = (r for r in rows if r["method"] == method and not r["word_a"])
            assert together["mean_difference"] == pytest.approx(np.mean(means))
            assert (together["n_sets"], together["n_words"]) == (len(sets), n_words)
            assert (together["group_a"], together["group_b"]) == ("male", "female")
        assert {("he", "she"), ("his", "her")} <= {(r["word_a"], r["word_b"]) for r in rows}
        assert sum(math.isfinite(r["p"]) for r in rows) > 2

    def test_members_with_other_numbers_of_words_are_left_out(self, cell, made, tmp_path):
        splits = pq.read_table(cell / "data.parquet")["split"].to_pylist()
        first, data = splits.index("test"), tmp_path / "data.parquet"
        with_column(
            cell / "data.parquet",
            data,
            "words",
            lambda i, words: [*words, "indeed"] if i == first else words,
        )
        with_column(data, data, "rationale", lambda i, marks: [*marks, 1] if i == first else marks)
        attribution_difference_cell(data, made[0], tmp_path / "d.parquet")
        table, facts = read_artefact(tmp_path / "d.parquet", "attribution_differences")
        assert facts["notes"] == {"unaligned_sets": 1}
        whole = self.run(cell, made, tmp_path / "w.parquet")
        assert table.to_pylist()[0]["n_sets"] == whole[0]["n_sets"] - 1


class TestDatasetBias:
    TERMS = DATASETS.get("pairs_all").facts.group_terms

    def test_both_measures_of_every_split(self, cell, tmp_path):
        measure_dataset_bias(cell / "data.parquet", tmp_path / "b.parquet", terms=self.TERMS)
        rows = rows_of(tmp_path / "b.parquet", "dataset_bias")
        shares = {
            (r["split"], r["group"]): r["value"]
            for r in rows
            if r["quantity"] == "cooccurrence_share"
        }
        assert shares.keys() == {
            (split, group) for split in ("all", "train", "test") for group in ("male", "female")
        }
        for split in ("all", "train", "test"):
            assert shares[split, "male"] + shares[split, "female"] == pytest.approx(1)
        words = [r for r in rows if r["quantity"] == "tfidf_correlation"]
        best = max((r for r in words if r["class_name"] == "male"), key=lambda r: abs(r["value"]))
        assert best["word"] in {"he", "she", "his", "her"}
        assert best["rationale_share"] == 1
