"""What stands in for a GPU refuses what a GPU refuses, and counts what waits for it."""

import numpy as np
import pytest
import torch
from fake_cuda import fake_cuda

pytestmark = pytest.mark.fake_cuda


def test_tensors_of_two_devices_do_not_mix_and_numpy_asks_for_a_copy():
    with fake_cuda(count=2):
        x = torch.ones(2, device="cuda")
        for operation in (
            lambda: x + torch.ones(2),
            lambda: torch.cat([x, torch.ones(2)]),
            lambda: torch.ones(2)[x.long()],
            lambda: x + torch.ones(2, device="cuda:1"),
        ):
            with pytest.raises(RuntimeError, match="same device"):
                operation()
        for read in (x.numpy, lambda: np.asarray(x)):
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
