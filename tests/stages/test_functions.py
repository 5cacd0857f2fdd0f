"""A function in the stages: predicted, explained and scored as it is in Python."""

import sys

import numpy as np
import pytest
from stages.cells import evaluate, explain, facts_of, inputs_of, prepare_pairs, rows_of, train

import exparity
from exparity import InputError
from exparity.data.table import read_prepared
from exparity.jobs.loop import load
from exparity.jobs.parts import Parts

SOURCE = """
import numpy as np

def predict(texts):
    female = np.array([0.1 + 0.8 * ("she" in text.lower().split()) for text in texts])
    female = 0.97 * female + 0.03 * np.array([len(text) % 7 / 7 for text in texts])
    return np.stack([female, 1 - female], axis=1)
"""
MODEL = {"predict": "stage_black_box:predict", "classes": ["female", "male"]}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A cell whose data are there, in the working folder with the function."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "stage_black_box.py").write_text(SOURCE)
    prepare_pairs(tmp_path, 20)
    yield tmp_path
    sys.modules.pop("stage_black_box", None)


def test_jobs_give_what_python_gives(here):
    train(here, MODEL, epochs=0)
    paths = inputs_of(here)
    examples = read_prepared(paths["data"], "test").examples
    namespace = {}
    exec(SOURCE, namespace)
    predicted = {row["example_id"]: row for row in rows_of(paths["predictions"], "predictions")}
    wanted = namespace["predict"]([e.text for e in examples])
    found = [predicted[e.example_id]["probabilities"] for e in examples]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert facts_of(paths["predictions"], "predictions")["parameters"]["training"] == {"epochs": 0}
    explained = explain(here, here / "explained.parquet", "occlusion")
    scored = evaluate(here, explained, here / "scored.parquet", "comprehensiveness")
    function = exparity.load_classifier(namespace["predict"], classes=MODEL["classes"])
    targets = [e.label for e in examples]
    own = exparity.explain(function, [e.text for e in examples], targets, "occlusion")
    values = dict(
        zip([e.example_id for e in examples],
            exparity.evaluate(function, own, "comprehensiveness"), strict=True)
    )  # fmt: skip
    by_id = {e.example_id: one for e, one in zip(examples, own, strict=True)}
    for row in rows_of(explained, "explanations"):
        assert row["tokens"] == list(by_id[row["example_id"]].tokens)
        np.testing.assert_allclose(row["scores"], by_id[row["example_id"]].scores, atol=1e-6)
    for row in rows_of(scored, "scores"):
        assert row["score"] == pytest.approx(values[row["example_id"]], abs=1e-6)


def test_columns_in_another_order_than_the_classes_are_refused(here):
    with pytest.raises(InputError, match=r"the columns of .* are male, female, and the classes of"):
        train(here, {**MODEL, "classes": ["male", "female"]}, epochs=0)


def test_a_changed_file_is_asked_anew(here):
    train(here, MODEL, epochs=0)
    before = rows_of(inputs_of(here)["predictions"], "predictions")
    (here / "stage_black_box.py").write_text(SOURCE.replace("0.8", "0.75"))
    sys.modules.pop("stage_black_box")
    train(here, MODEL, epochs=0)
    assert rows_of(inputs_of(here)["predictions"], "predictions") != before


def test_a_job_forgets_answers_after_each_part(here, monkeypatch):
    train(here, MODEL, epochs=0)
    kept, loaded = [], []

    def load_and_keep(*arguments):
        loaded.append(load(*arguments))
        return loaded[0]

    add = Parts.add

    def add_and_look(self, *arguments, **facts):
        kept.append(len(loaded[0]._answers))
        add(self, *arguments, **facts)

    monkeypatch.setattr("exparity.jobs.parts._PASSES", 80)  # four examples a part
    monkeypatch.setattr("exparity.stages.explain.load", load_and_keep)
    monkeypatch.setattr(Parts, "add", add_and_look)
    explain(here, here / "explained.parquet", "occlusion")
    assert len(kept) > 1
    assert sum(kept) == loaded[0].calls - 3  # texts that are asked again, alone
    assert not loaded[0]._answers
