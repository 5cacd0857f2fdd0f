"""The benchmark of a GPU: on a CPU with small models, and what it leaves out."""

import os
import signal
import subprocess
import sys

import pytest
import torch

from exparity.artefacts.files import read_parquet

PAPER_METHODS = (
    *("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_x_input"),
    *("lime", "shap"),
)
SCORED = (
    *("comprehensiveness", "sufficiency", "soft_comprehensiveness", "soft_sufficiency"),
    *("gini", "sparsity"),
)
CPU = torch.device("cpu")


@pytest.fixture
def gpu(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import gpu

    return gpu


@pytest.fixture
def parts(gpu):
    """A function that makes parts of what they call."""

    def made(*works):
        return [gpu.Part("methods", "bert", "fp32", str(i), work) for i, work in enumerate(works)]

    return made


@pytest.fixture(scope="session")
def tiny(repository, tmp_path_factory):
    """Rows and output of a whole run with small models."""
    output = tmp_path_factory.mktemp("gpu") / "gpu.parquet"
    command = [sys.executable, repository / "benchmarks" / "gpu.py", "--tiny", "--output", output]
    command += ["--device", "cpu", "--minutes", "30", "--peer-python", "false"]
    # What shap compiles with numba takes longer than all that is measured.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    return read_parquet(output)[0].to_pylist(), run.stdout


def seconds_of(rows, part, precision, model="bert"):
    place = {"part": part, "precision": precision, "model": model}
    return {
        row["work"]: row["seconds"] if part in ("start", "cell") else row["seconds_a_text"]
        for row in rows
        if place.items() <= row.items() and row["not_measured"] is None
    }


@pytest.mark.exhaustive  # half a minute of a quiet core
class TestWholeRun:
    @pytest.mark.parametrize("model", ["bert", "gpt2"])
    def test_methods_and_metrics(self, tiny, model):
        """Those that take gradients, or run no model, are measured as they run: in fp32 alone."""
        rows, _ = tiny
        for precision, part, works in (
            ("fp32", "methods", PAPER_METHODS),
            ("bf16", "methods", ("lime", "shap")),
            ("fp16", "methods", ("lime", "shap")),
            ("fp32", "metrics", SCORED),
            ("bf16", "metrics", SCORED[:4]),
            ("fp16", "metrics", SCORED[:4]),
        ):
            found = seconds_of(rows, part, precision, model)
            assert tuple(found) == works
            assert all(seconds > 0 for seconds in found.values())

    def test_what_is_left_out_has_a_reason(self, tiny):
        rows, _ = tiny
        reasons = {
            (row["part"], row["model"], row["precision"]): row["not_measured"]
            for row in rows
            if row["not_measured"] is not None
        }
        rates = [("rates", model, "tf32") for model in ("bert", "gpt2")]
        assert set(reasons) == {*rates, ("ferret", "bert", "fp32")}
        assert reasons["rates", "bert", "tf32"] == "a CPU has no TF32"

    def test_tables(self, tiny):
        rows, printed = tiny
        for heading in {row["part"] for row in rows} - {"ferret"}:
            assert f"\n\n{heading}\n\n| model | precision | work |" in printed
        assert "\nnot measured\n" in printed
        assert "| ferret | bert fp32: explain, evaluate | ferret failed: |" in printed


class TestTime:
    def test_what_no_time_is_left_for_is_named(self, gpu, parts):
        def over():
            signal.raise_signal(signal.SIGALRM)

        rows = gpu.measured(parts(lambda: [{"seconds": 1.0}], over, list), CPU, 600)
        assert [(row["work"], row.get("seconds")) for row in rows] == [
            ("0", 1.0),
            ("1", None),
            ("2", None),
        ]
        assert [row.get("not_measured") for row in rows] == [
            None,
            *["no time left of 10 minutes"] * 2,
        ]


class TestCards:
    @pytest.fixture
    def refusal(self, gpu, monkeypatch):
        def of(capability, precision):
            monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
            return gpu.refusal(torch.device("cuda:0"), precision)

        return of

    @pytest.mark.parametrize("precision", ["fp32", "tf32", "fp16", "bf16"])
    def test_a_v100_has_neither_tf32_nor_bf16(self, refusal, precision):
        found = refusal((7, 0), precision)
        assert ("compute capability 7.0" in (found or "")) == (precision in ("tf32", "bf16"))
        assert refusal((8, 0), precision) is refusal((9, 0), precision) is None

    def test_too_little_memory_is_a_reason(self, gpu, parts):
        def full():
            raise torch.OutOfMemoryError("CUDA out of memory.\nmore")

        (row,) = gpu.outcome(parts(full)[0], CPU)
        assert row["not_measured"] == "CUDA out of memory."
