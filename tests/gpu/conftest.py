"""A machine with a GPU, and the classifiers of the tests on it."""

import pytest
from fake_cuda import fake_cuda

from exparity import load_classifier


@pytest.fixture
def gpus():
    """One GPU of compute capability 8.0, with more memory than tests need."""
    with fake_cuda() as machine:
        yield machine


@pytest.fixture(scope="session")
def on_gpu(checkpoints):
    """Classifiers by family, on a GPU; used within ``gpus`` or ``fake_cuda()``."""
    with fake_cuda():
        return {family: load_classifier(path, "cuda") for family, path in checkpoints.items()}
