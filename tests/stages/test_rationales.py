"""The stage evaluate with a metric that compares with rationales, and what follows from it."""

import numpy as np
import pytest
from stages.cells import compare, evaluate, explain, rows_of, with_column

from exparity import InputError
from exparity.data.table import read_prepared


@pytest.fixture
def explanations(cell, tmp_path):
    return explain(cell, tmp_path / "x.parquet", "gradient_x_input")


def scored(cell, explanations, output, use="mass_accuracy", **changes):
    made = evaluate(cell, explanations, output, use, checkpoint=None, **changes)
    return rows_of(made, "scores")


def with_rationales(cell, output, change):
    return with_column(cell / "data.parquet", output, "rationale", change)


def test_a_sample_selects_as_many_words_as_the_whole_dataset_does(cell, explanations, tmp_path):
    """``top_k: mean`` is of the test split, not of the rows at hand."""

    def change(index, marks):  # of a text in eight every word, else one
        return [1 if index % 8 == 0 else int(place == 0) for place in range(len(marks))]

    data = with_rationales(cell, tmp_path / "d.parquet", change)
    lengths = [sum(e.rationale) for e in read_prepared(data).split("test")]
    k = int(np.mean(lengths) + 0.5)
    assert k > 1
    for use in ("rationale_token_f1", "rationale_iou"):

        def of(name, use=use, **changes):
            output = tmp_path / f"{use}-{name}"
            rows = scored(cell, explanations, output, use, data=data, **changes)
            return {row["example_id"]: row["score"] for row in rows}

        whole = of("mean", params={"top_k": "mean"})
        assert whole == of("fixed", params={"top_k": k})
        assert whole != of("one", params={"top_k": 1})
        part = of("part", params={"top_k": "mean"}, max_examples=4)
        assert part == {id: whole[id] for id in part}


def test_unknown_and_empty_rationales_are_undefined_and_counted(cell, explanations, tmp_path):
    data = with_rationales(
        cell,
        tmp_path / "d.parquet",
        lambda i, marks: None if i % 6 == 0 else [0] * len(marks) if i % 6 == 1 else marks,
    )
    scores = scored(cell, explanations, tmp_path / "s.parquet", data=data)
    undefined = sum(np.isnan(row["score"]) for row in scores)
    assert 0 < undefined < len(scores)
    compare(cell, tmp_path / "s.parquet", tmp_path / "t.parquet")
    row = rows_of(tmp_path / "t.parquet", "tests")[0]
    assert row["n_undefined"] == undefined


def test_data_without_any_rationale_is_refused(cell, explanations, tmp_path):
    data = with_rationales(cell, tmp_path / "d.parquet", lambda i, marks: None)
    with pytest.raises(InputError, match=r"d.parquet: no example has a rationale, which metric"):
        scored(cell, explanations, tmp_path / "s.parquet", data=data)
    assert not (tmp_path / "s.parquet").exists()
