"""Random numbers that depend on what is drawn, never on when or beside what.

Every draw comes from a generator keyed by (seed, stage, id, example), so that results are the same
for any batch size and order.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from exparity.core.errors import ExparityError

if TYPE_CHECKING:
    import torch


def derive_seed(seed: int, *key: str | int) -> int:
    """Return a seed in [0, 2**63), the same on every machine, for a run's seed and a key."""
    text = "\x1f".join([str(seed), *map(str, key)])
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """Return a numpy generator keyed by ``seed`` and ``key`` (see :func:`derive_seed`)."""
    return np.random.default_rng(derive_seed(seed, *key))


class GlobalDraws:
    """The global generators of numpy and torch as one text has them.

    For libraries that draw from these, such as shap and captum. They go on where they were when the
    library works on the text again.

    Args:
        rng: such as ``batch.generator(index)``, the generator of one text.

    Attributes:
        seed: seed of both, a draw of ``rng``.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.seed = int(rng.integers(2**31))
        self._numpy = np.random.get_state()  # noqa: NPY002
        self._torch: list[torch.Tensor] = []

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Within the context, they are the global ones; afterwards those are as before."""
        import torch

        # A process that computes on the CPU takes no memory of a GPU.
        uses_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        devices = range(torch.cuda.device_count()) if uses_gpu else ()
        before = np.random.get_state()  # noqa: NPY002
        with torch.random.fork_rng(devices):
            self._continue()
            try:
                yield
            finally:
                self._numpy = np.random.get_state()  # noqa: NPY002
                self._torch = [torch.get_rng_state(), *map(torch.cuda.get_rng_state, devices)]
                np.random.set_state(before)  # noqa: NPY002

    def _continue(self) -> None:
        import torch

        if not self._torch:
            torch.manual_seed(self.seed)
            np.random.seed(self.seed)  # noqa: NPY002
            return
        np.random.set_state(self._numpy)  # noqa: NPY002
        torch.set_rng_state(self._torch[0])
        for device, state in enumerate(self._torch[1:]):
            torch.cuda.set_rng_state(state, device)


@contextmanager
def seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed the global generators of numpy and torch by a draw, and restore them.

    For libraries that draw from these, such as shap and captum.

    Args:
        rng: such as ``batch.generator(index)``, the generator of one text.
    """
    with GlobalDraws(rng).in_use():
        yield


@contextmanager
def without_global_draws(where: str) -> Iterator[None]:
    """Refuse draws from numpy's global generator, and from torch's if torch is loaded."""
    before = _global_states()
    yield
    if _global_states()[: len(before)] != before:
        raise ExparityError(
            f"{where}: draws from a global random generator; draw from batch.generator(index), or "
            "have a library draw within exparity.interface.seeded(batch.generator(index))"
        )


def _global_states() -> list[bytes]:
    numpy_state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    states = [numpy_state["key"].tobytes(), str(numpy_state["pos"]).encode()]
    torch = sys.modules.get("torch")
    return [*states, torch.get_rng_state().numpy().tobytes()] if torch else states
