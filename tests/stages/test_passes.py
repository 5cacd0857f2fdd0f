"""Jobs of both forms of integrated gradients share their passes through a folder."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from exparity.core.device import Inference
from exparity.engine.classifier import Classifier
from exparity.engine.passes import SharedPasses, remove_passes
from exparity.methods import _gradients
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.explain import explain_cell

FORMS = ("integrated_gradients", "integrated_gradients_x_input")
STEPS = {"n_steps": 5}


@pytest.fixture
def asked(monkeypatch):
    """A list of how many gradients each call of the engine has been asked for."""
    counts, whole = [], Classifier.input_gradients

    def counted(self, lengths, *arguments):
        counts.append(len(lengths))
        return whole(self, lengths, *arguments)

    monkeypatch.setattr(Classifier, "input_gradients", counted)
    monkeypatch.setattr(_gradients, "_GROUP", 5)
    return counts


def explain(cell, form, output, passes=None, **options):
    machine = Inference(device="cpu", passes=passes, **options)
    paths = (cell / "data.parquet", cell / "mine" / "3", cell / "predictions.parquet", output)
    explain_cell(*paths, use=form, params=STEPS, seed=3, machine=machine)
    return pq.read_table(output)


def evaluate(cell, explanations, output, passes=None):
    machine = Inference(device="cpu", passes=passes)
    paths = (cell / "data.parquet", explanations, cell / "mine" / "3", output)
    evaluate_cell(*paths, use="sensitivity", params={"steps": 2}, max_examples=6, machine=machine)
    return pq.read_table(output)


@pytest.mark.parametrize("forms", [FORMS, FORMS[::-1]])
def test_the_second_form_asks_for_no_gradient_of_its_path(cell, tmp_path, asked, forms):
    files, shared = [tmp_path / f"{form}.parquet" for form in forms], tmp_path / "passes"
    alone = [explain(cell, form, file) for form, file in zip(forms, files, strict=True)]
    scores = [evaluate(cell, file, tmp_path / "scores.parquet") for file in files]
    for form, file, expected in zip(forms, files, alone, strict=True):
        asked.clear()
        assert explain(cell, form, file, shared).equals(expected)
        assert bool(asked) == (form == forms[0])
    assert not list(shared.iterdir())  # each is taken once, and gone
    for form, file, expected in zip(forms, files, scores, strict=True):
        asked.clear()
        assert evaluate(cell, file, tmp_path / "scores.parquet", shared).equals(expected)
        assert sum(asked) == 2 * 6 + (2 * 6 * STEPS["n_steps"] if form == forms[0] else 0)


def test_two_jobs_at_one_time_meet_in_the_middle(cell, tmp_path, asked, monkeypatch):
    """The one that is slower takes over what the other has done from the other end."""
    shared, output, made = tmp_path / "passes", tmp_path / "x.parquet", []
    alone = explain(cell, FORMS[0], output)
    whole = _gradients._path_sums

    def beside(batch, n_steps, texts):
        made.append(list(texts))
        if len(made) == 2:
            monkeypatch.setattr(_gradients, "_path_sums", whole)
            explain(cell, FORMS[1], tmp_path / "other.parquet", shared)
            monkeypatch.setattr(_gradients, "_path_sums", beside)
        return whole(batch, n_steps, texts)

    monkeypatch.setattr(_gradients, "_path_sums", beside)
    assert explain(cell, FORMS[0], output, shared).equals(alone)
    assert len(made) == 2


def test_nothing_is_taken_over_from_another_work_or_a_damaged_file(cell, tmp_path, asked):
    shared, output = tmp_path / "passes", tmp_path / "x.parquet"
    alone = explain(cell, FORMS[1], output)
    explain(cell, FORMS[0], output, shared)
    left = sorted(shared.iterdir())
    for other in ({"threads": 2}, {"precision": "bf16"}, {"token_budget": 64}):
        asked.clear()
        explain(cell, FORMS[1], output, shared, **other)
        assert asked
    assert set(left) < set(shared.iterdir())
    left[0].write_bytes(left[0].read_bytes()[:-8])
    left[1].write_bytes(b"")
    asked.clear()
    assert explain(cell, FORMS[1], output, shared).equals(alone)
    assert len(asked) == 2


def test_sums_are_flagged_alike(cell, tmp_path, asked):
    """What tells rounding noise is shared as well."""
    explain(cell, FORMS[1], tmp_path / "x.parquet", tmp_path / "passes")
    flags = []
    for passes in (None, tmp_path / "passes"):
        asked.clear()
        machine = Inference(device="cpu", passes=passes)
        paths = (cell / "data.parquet", cell / "mine" / "3", cell / "predictions.parquet")
        output, params = tmp_path / "sum.parquet", {**STEPS, "pooling": "sum"}
        explain_cell(*paths, output, use=FORMS[0], params=params, seed=3, machine=machine)
        assert bool(asked) == (passes is None)
        table = pq.read_table(output)
        flags.append(table.schema.metadata[b"exparity.flags"])
        assert np.isfinite(np.concatenate(table["scores"].to_numpy())).all()
    assert flags[0] == flags[1]
    assert b"rounding_noise" in flags[0]


def test_only_what_jobs_left_is_removed(tmp_path):
    """With `results: .` the folder may be somebody's own."""
    folder = tmp_path / ".passes"
    passes = SharedPasses(folder, tmp_path, {})
    passes.leave(folder / f"{'a' * 64}.npy", np.zeros(2))
    (folder / f".{'b' * 64}.npy.x1_y.tmp").touch()
    (folder / "thesis.npy").touch()
    remove_passes(folder)
    assert [path.name for path in folder.iterdir()] == ["thesis.npy"]
    (folder / "thesis.npy").unlink()
    remove_passes(folder)
    assert not folder.exists()
    remove_passes(folder)  # that of a run without any


def test_a_folder_that_cannot_be_written_stops_no_job(tmp_path):
    (tmp_path / "passes").write_text("a file")
    passes = SharedPasses(tmp_path / "passes", tmp_path, {})
    place = tmp_path / "passes" / f"{'a' * 64}.npy"
    passes.leave(place, np.zeros(2))
    assert passes.take(place) is None
