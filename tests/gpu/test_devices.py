"""The device asked for is the one used; several GPUs are dealt out; bf16 needs one that has it."""

import multiprocessing
import os
import tempfile
import time

import pytest
import torch
from fake_cuda import fake_cuda

from exparity import InputError, load_classifier
from exparity.core import device as devices
from exparity.core.device import resolve_device

pytestmark = pytest.mark.fake_cuda


@pytest.fixture(autouse=True)
def nothing_dealt(monkeypatch, tmp_path):
    """Each test is a process that has taken no GPU yet, on a machine of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    devices._dealt_gpu.cache_clear()
    yield
    devices._dealt_gpu.cache_clear()


def dealt(answer):
    """Take a GPU and keep it until killed."""
    devices._dealt_gpu.cache_clear()
    answer.send(str(resolve_device("auto")))
    time.sleep(60)


def test_processes_of_a_machine_take_different_gpus_and_leave_them_when_they_end():
    context = multiprocessing.get_context("fork")
    processes, found = [], []
    with fake_cuda(count=2):
        try:
            for _ in range(4):
                ours, theirs = context.Pipe()
                processes.append(context.Process(target=dealt, args=(theirs,)))
                processes[-1].start()
                found.append(ours.recv())
            assert found == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
            for index in (1, 3):
                processes[index].kill()
                processes[index].join()
            assert str(resolve_device("auto")) == "cuda:1"
            assert str(resolve_device("cuda")) == "cuda:1"  # a process stays on its own
        finally:
            for process in processes:
                process.kill()
                process.join()


def test_a_folder_of_another_user_leaves_the_first_gpu(tmp_path):
    (tmp_path / f"exparity-gpus-{os.getuid()}").write_text("not a folder")
    with fake_cuda(count=2):
        assert str(resolve_device("auto")) == "cuda:0"


@pytest.mark.parametrize(
    ("name", "expected"), [("cpu", "cpu"), ("cuda:1", "cuda:1"), ("auto", "cuda:0")]
)
def test_a_named_device_is_the_one_that_runs(checkpoints, name, expected):
    with fake_cuda(count=2) as gpus:
        classifier = load_classifier(checkpoints["bert"], name)
        assert str(classifier.device) == expected
        classifier.probabilities([[5, 6]])
        other = 1 - (classifier.device.index or 0)
        assert gpus.allocated[other] == 0


def test_an_object_on_a_gpu_stays_there_and_takes_no_other(checkpoints, tmp_path):
    with fake_cuda(count=2):
        first = load_classifier(checkpoints["bert"], "cuda:1")
        again = load_classifier((first.model, first.tokenizer))
        assert str(again.device) == "cuda:1"
    assert not list(tmp_path.iterdir())


def test_bf16_is_refused_before_weights_are_read():
    with fake_cuda(capability=(7, 0)):
        with pytest.raises(InputError, match=r"precision bf16: cuda:0 is a Fake GPU .*7\.0"):
            load_classifier("no/such/checkpoint", "cuda", "bf16")
        with pytest.raises(InputError, match="no/such/checkpoint"):
            load_classifier("no/such/checkpoint", "cpu", "bf16")


@pytest.mark.parametrize(
    ("architectures", "capability", "runs"),
    [
        (("sm_75", "sm_80", "sm_120"), (7, 0), False),
        (("sm_70", "sm_80"), (7, 0), True),
        (("sm_80", "sm_86"), (8, 9), True),
        (("sm_75", "sm_120"), (10, 0), False),
        (("sm_75", "compute_90"), (10, 0), True),
        (("gfx90a",), (9, 0), True),
    ],
)
def test_a_gpu_that_torch_was_not_built_for_is_refused(
    monkeypatch, architectures, capability, runs
):
    with fake_cuda(capability=capability):
        monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: [*architectures])
        if runs:
            assert str(resolve_device("auto")) == "cuda:0"
        else:
            with pytest.raises(InputError, match=r"cuda:0 is a Fake GPU .*no code; install"):
                resolve_device("auto")


@pytest.mark.parametrize(
    ("visible", "runs"), [("0", False), ("", True), ("-1", True), (None, True)]
)
def test_a_gpu_that_torch_does_not_find_is_no_cpu(monkeypatch, visible, runs):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if runs:
        assert str(resolve_device("auto")) == "cpu"
    else:
        with pytest.raises(InputError, match="CUDA_VISIBLE_DEVICES names a GPU, but torch"):
            resolve_device("auto")


@pytest.mark.parametrize(
    ("message", "full"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 MiB.", True),
        ("cuDNN error: CUDNN_STATUS_ALLOC_FAILED", True),
        ("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory", True),
        ("CUDA error: device-side assert triggered", False),
    ],
)
def test_every_message_of_full_memory_is_known(message, full):
    assert devices.is_out_of_memory(RuntimeError(message)) == full
    assert devices.is_out_of_memory(torch.OutOfMemoryError("any"))


@pytest.mark.parametrize("name", ["mps", "xpu", "meta", "cpu0", ""])
def test_other_kinds_of_devices_are_refused_before_anything_is_loaded(name):
    with pytest.raises(InputError, match=f"device '{name}': use auto, cpu, cuda or cuda:N"):
        resolve_device(name)
