"""What stands in for a GPU refuses what a GPU refuses, counts memory, and computes as a CPU."""

import numpy as np
import pytest
import torch
from fake_cuda import fake_cuda

pytestmark = pytest.mark.fake_cuda


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + torch.ones(2),
        lambda x: torch.cat([x, torch.ones(2)]),
        lambda x: torch.ones(2)[x.long()],
        lambda x: x + torch.ones(2, device="cuda:1"),
    ],
)
def test_tensors_of_two_devices_do_not_mix(operation):
    with fake_cuda(count=2), pytest.raises(RuntimeError, match="same device"):
        operation(torch.ones(2, device="cuda"))


def test_numpy_asks_for_a_copy_first():
    with fake_cuda():
        x = torch.ones(2, device="cuda")
        for read in (lambda: x.numpy(), lambda: np.asarray(x)):
            with pytest.raises(TypeError, match=r"Use Tensor\.cpu"):
                read()
        assert x.cpu().numpy().tolist() == [1, 1]


def test_what_waits_for_the_gpu_is_counted():
    with fake_cuda() as gpus:
        x = torch.arange(4, device="cuda")
        (x + x).sum()
        assert not gpus.waits
        x.sum().item()
        x[x > 1]
        x.tolist()
        x.cpu()
        assert sum(gpus.waits.values()) == 4


def test_memory_is_counted_shared_and_given_back():
    with fake_cuda() as gpus:
        x = torch.zeros(1000, device="cuda")
        view = x[10:]
        assert gpus.allocated == [4000]
        del x
        assert gpus.allocated == [4000]
        del view
        assert gpus.allocated == [0]
        assert gpus.peak == [4000]


def test_what_a_backward_pass_needs_is_held():
    with fake_cuda() as gpus:
        x = torch.ones(1000, device="cuda", requires_grad=True)
        y = x.exp().exp()
        assert gpus.allocated[0] >= 12000
        y.sum().backward()
        del y
        assert gpus.allocated == [8000]


def test_memory_ends():
    with fake_cuda(memory=5000):
        x = torch.zeros(1000, device="cuda")
        with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
            x + x
        del x
        torch.zeros(1200, device="cuda")


def test_gradients_are_those_of_the_cpu():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3)
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    with fake_cuda():
        model.to("cuda")
        model(x.to("cuda")).sum().backward()
        for parameter, gradient in zip(model.parameters(), expected, strict=True):
            assert torch.equal(parameter.grad.cpu(), gradient)
