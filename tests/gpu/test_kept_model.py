"""Jobs of one process: a load of each model, and the results of a load each."""

from dataclasses import replace

import pytest
from fake_cuda import fake_cuda
from stages.cells import evaluate, explain, prepare_pairs, train
from support import CPU

from exparity.artefacts.files import read_artefact
from exparity.engine import loading
from exparity.jobs import loop
from exparity.methods.batch import MethodBatch

pytestmark = pytest.mark.fake_cuda
MACHINE = replace(CPU, device="cuda")
JOBS = [
    ("explain", "gradient", {}),
    ("explain", "lime", {"num_samples": 20}),
    ("evaluate", "comprehensiveness", {}),
]


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    prepare_pairs(folder, 40)
    train(folder, epochs=2, learning_rate=0.003)
    return folder


def run_jobs(cell, folder, machine):
    """Return the rows that each job makes."""
    folder.mkdir()
    made = []
    for stage, use, params in JOBS:
        output = folder / f"{use}.parquet"
        if stage == "explain":
            explain(cell, output, use, params=params, machine=machine, max_examples=8)
        else:
            source = folder / "gradient.parquet"
            evaluate(cell, source, output, use, params=params, machine=machine)
        made.append(read_artefact(output, "explanations" if stage == "explain" else "scores")[0])
    return made


@pytest.fixture
def loads(monkeypatch):
    """Each load of a classifier, by its precision."""
    precisions, load = [], loading.load_classifier

    def count(*arguments, **settings):
        precisions.append(settings.get("precision"))
        return load(*arguments, **settings)

    monkeypatch.setattr(loading, "load_classifier", count)
    return precisions


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_one_load_gives_what_a_load_each_gives(cell, loads, monkeypatch, tmp_path, precision):
    machine = replace(MACHINE, precision=precision)
    with fake_cuda() as apart:
        fresh = run_jobs(cell, tmp_path / "fresh", machine)
    assert len(loads) == len(JOBS)
    loads.clear()
    monkeypatch.setattr(loop, "_kept", {})
    with fake_cuda() as together:
        kept = run_jobs(cell, tmp_path / "kept", machine)
    assert loads == [precision]
    assert all(one.equals(other) for one, other in zip(fresh, kept, strict=True))
    moved = [
        sum(n for (to, _), n in gpus.copies.items() if to == "to") for gpus in (apart, together)
    ]
    assert moved[1] < moved[0]


def rows_of(cell, output, use, machine=CPU, **changes):
    return read_artefact(explain(cell, output, use, machine=machine, **changes), "explanations")[0]


def test_small_models_on_the_cpu_stay_side_by_side(cell, loads, monkeypatch, tmp_path):
    monkeypatch.setattr(loop, "_kept", {})
    asked = ["fp32", "bf16", "fp32", "bf16"]
    rows = []
    for room, expected in ((loop._SMALL, asked[:2]), (0, asked)):
        loop._kept.clear()
        monkeypatch.setattr(loop, "_SMALL", room)
        for number, precision in enumerate(asked):
            output = tmp_path / f"{room} {number}"
            machine = replace(CPU, precision=precision)
            rows.append(rows_of(cell, output, "gradient", machine, max_examples=4))
        assert loads == expected
        loads.clear()
    assert all(one.equals(other) for one, other in zip(rows[:4], rows[4:], strict=True))
    assert rows[0].equals(rows[2])
    assert not rows[0].equals(rows[1])


@pytest.fixture
def gradients_asked(monkeypatch):
    """The number of texts of each request for gradients."""
    asked, gradients = [], MethodBatch.gradients

    def count(batch):
        asked.append(len(batch))
        return gradients(batch)

    monkeypatch.setattr(MethodBatch, "gradients", count)
    return asked


def test_methods_of_one_text_share_gradients(cell, gradients_asked, monkeypatch, tmp_path):
    alone = rows_of(cell, tmp_path / "alone", "gradient_x_input", max_examples=8)
    monkeypatch.setattr(loop, "_kept", {})
    gradients_asked.clear()
    rows_of(cell, tmp_path / "first", "gradient", max_examples=8)
    after = rows_of(cell, tmp_path / "second", "gradient_x_input", max_examples=8)
    assert gradients_asked == [8]
    assert after.equals(alone)
    rows_of(cell, tmp_path / "fewer", "gradient", max_examples=4)
    rows_of(cell, tmp_path / "other", "gradient", max_examples=8, target="predicted")
    rows_of(cell, tmp_path / "coarse", "gradient", replace(CPU, precision="bf16"), max_examples=8)
    assert gradients_asked[:2] == [8, 4]
    assert gradients_asked[-1] == 8


def test_methods_share_gradients_on_a_gpu(cell, gradients_asked, monkeypatch, tmp_path):
    uses = ("gradient", "gradient_x_input")
    with fake_cuda():
        alone = [rows_of(cell, tmp_path / f"{use} alone", use, MACHINE) for use in uses]
    gradients_asked.clear()
    monkeypatch.setattr(loop, "_kept", {})
    with fake_cuda():
        shared = [rows_of(cell, tmp_path / use, use, MACHINE) for use in uses]
    assert len(gradients_asked) == 1
    assert all(one.equals(other) for one, other in zip(alone, shared, strict=True))


def test_another_checkpoint_or_precision_takes_the_place(cell, loads, monkeypatch, tmp_path):
    monkeypatch.setattr(loop, "_kept", {})
    with fake_cuda():
        for name, precision in (("a", "fp32"), ("b", "bf16"), ("c", "bf16"), ("d", "fp32")):
            machine = replace(MACHINE, precision=precision)
            explain(cell, tmp_path / name, machine=machine, max_examples=4)
            assert len(loop._kept) == 1
        assert loads == ["fp32", "bf16", "fp32"]
        train(cell, epochs=1, learning_rate=0.003)
        loads.clear()
        explain(cell, tmp_path / "e", machine=MACHINE, max_examples=4)
    assert loads == ["fp32"]
