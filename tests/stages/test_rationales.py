"""The stage evaluate with a metric that compares with rationales, and what follows from it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import CPU

import exparity
from exparity import InputError
from exparity.artefacts.files import read_artefact
from exparity.data.table import read_prepared
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.explain import explain_cell
from exparity.stages.tests.groups import test_cell as compare_cell
from exparity.types import SPECIAL_WORD


@pytest.fixture
def explanations(cell, tmp_path):
    explain_cell(
        cell / "data.parquet", cell / "mine" / "3", cell / "predictions.parquet",
        tmp_path / "x.parquet", use="gradient_x_input", params={}, model_id="mine",
        method_id="gradient_x_input", seed=3, machine=CPU,
    )  # fmt: skip
    return tmp_path / "x.parquet"


def evaluate(data, explanations, output, **changes):
    options = {"use": "mass_accuracy", "params": {}, "metric_id": "mass"}
    evaluate_cell(data, explanations, None, output, **{**options, **changes})
    return read_artefact(output, "scores")[0].to_pylist()


def with_rationales(data, output, change):
    """Copy the data artefact with other rationales."""
    table = pq.read_table(data)
    index = table.schema.get_field_index("rationale")
    field = table.schema.field(index)
    values = [change(i, marks) for i, marks in enumerate(table["rationale"].to_pylist())]
    pq.write_table(table.set_column(index, field, pa.array(values, field.type)), output)
    return output


def test_scores_equal_the_python_function(cell, explanations, tmp_path):
    data = cell / "data.parquet"
    scores = evaluate(data, explanations, tmp_path / "s.parquet")
    marks = {e.example_id: e.rationale for e in read_prepared(data).examples}
    rows = read_artefact(explanations, "explanations")[0].to_pylist()
    found = exparity.evaluate(
        None,
        [
            exparity.Explanation(
                text="",
                target=row["target"],
                tokens=row["tokens"],
                scores=row["scores"],
                special_mask=np.array(row["word_ids"]) == SPECIAL_WORD,
                word_ids=row["word_ids"],
            )
            for row in rows
        ],
        "mass_accuracy",
        rationales=[marks[row["example_id"]] for row in rows],
    )
    assert [row["score"] for row in scores] == pytest.approx(found.tolist())
    assert np.ptp(found) > 0


def test_shards_and_samples_are_as_for_any_metric(cell, explanations, tmp_path):
    data = cell / "data.parquet"
    whole = {r["example_id"]: r["score"] for r in evaluate(data, explanations, tmp_path / "a")}
    part = evaluate(data, explanations, tmp_path / "b", max_examples=6)
    assert len(part) == 6
    assert all(row["score"] == whole[row["example_id"]] for row in part)


def test_a_sample_selects_as_many_words_as_the_whole_dataset_does(cell, explanations, tmp_path):
    """``top_k: mean`` is of the test split, not of the rows at hand."""

    def change(index, marks):  # of a text in eight every word, else one
        return [1 if index % 8 == 0 else int(place == 0) for place in range(len(marks))]

    data = with_rationales(cell / "data.parquet", tmp_path / "d.parquet", change)
    lengths = [sum(e.rationale) for e in read_prepared(data).split("test")]
    k = int(np.mean(lengths) + 0.5)
    assert k > 1
    for use in ("rationale_token_f1", "rationale_iou"):

        def scored(name, use=use, **changes):
            rows = evaluate(data, explanations, tmp_path / f"{use}-{name}", use=use, **changes)
            return {row["example_id"]: row["score"] for row in rows}

        whole = scored("mean", params={"top_k": "mean"})
        assert whole == scored("fixed", params={"top_k": k})
        assert whole != scored("one", params={"top_k": 1})
        part = scored("part", params={"top_k": "mean"}, max_examples=4)
        assert part == {id: whole[id] for id in part}
        shard = scored("shard", params={"top_k": "mean"}, shard="1/3")
        assert shard == {id: whole[id] for id in shard}


def test_unknown_and_empty_rationales_are_undefined_and_counted(cell, explanations, tmp_path):
    data = with_rationales(
        cell / "data.parquet",
        tmp_path / "d.parquet",
        lambda i, marks: None if i % 6 == 0 else [0] * len(marks) if i % 6 == 1 else marks,
    )
    scores = evaluate(data, explanations, tmp_path / "s.parquet")
    undefined = sum(np.isnan(row["score"]) for row in scores)
    assert 0 < undefined < len(scores)
    compare_cell(tmp_path / "s.parquet", None, tmp_path / "t.parquet", statistics={"resamples": 0})
    row = read_artefact(tmp_path / "t.parquet", "tests")[0].to_pylist()[0]
    assert row["n_undefined"] == undefined


def test_data_without_any_rationale_is_refused(cell, explanations, tmp_path):
    data = with_rationales(cell / "data.parquet", tmp_path / "d.parquet", lambda i, marks: None)
    with pytest.raises(InputError, match=r"d.parquet: no example has a rationale, which metric"):
        evaluate(data, explanations, tmp_path / "s.parquet")
    assert not (tmp_path / "s.parquet").exists()
