"""One call at a time on models, in torch's own modes, whatever the caller's code has set.

To run a model, its forward passes are replaced, its weights frozen and its modules put into
evaluation mode for a while: two threads at once would see one another's changes. And modes that a
notebook sets for its own training, such as autocast, would change numbers without a word.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

MODELS = threading.RLock()
"""Held by the thread that runs models: they may share modules, tokenizers and random generators."""
_DEVICES = ("cpu", "cuda", "mps", "xpu")
P = ParamSpec("P")
R = TypeVar("R")


class Shared(Protocol):
    """An object that several threads may use."""

    @property
    def lock(self) -> threading.RLock:
        """What a thread holds while it uses the object."""


User = TypeVar("User", bound=Shared)


@contextmanager
def undisturbed(lock: threading.RLock | None = MODELS) -> Iterator[None]:
    """Within the context, no other thread runs models, and torch is in none of its callers' modes.

    Inference mode and autocast are switched off, and new tensors are made on the CPU unless code
    says otherwise. ``no_grad`` needs nothing: gradients are switched on where they are taken.

    Args:
        lock: held within the context; None where nothing is shared.
    """
    with ExitStack() as stack:
        if lock is not None:
            stack.enter_context(lock)
        if "torch" in sys.modules:
            import torch

            if torch.is_inference_mode_enabled():
                stack.enter_context(torch.inference_mode(False))
            for device in _DEVICES:
                if torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, enabled=False))
            if torch.get_default_device().type != "cpu":
                stack.enter_context(torch.device("cpu"))
        yield


def one_at_a_time(
    method: Callable[Concatenate[User, P], R],
) -> Callable[Concatenate[User, P], R]:
    """Run a method or a function of an object within :func:`undisturbed`, with its lock."""

    @wraps(method)
    def call(user: User, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with undisturbed(user.lock):
            return method(user, *args, **kwargs)

    return call
