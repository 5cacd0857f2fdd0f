"""Gradients that pass a model's activations by another rule than their derivative.

Activations are caught where they are called, as functions or as modules. It does not matter
whether a model has modules for them, shares one among its layers or calls it twice, and the model
itself stays as it is. This module imports torch at its top: methods import it when they run.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from exparity.core.errors import ExparityError
from exparity.models.lookup import with_values

Kind = Literal["relu", "smooth", "bounded"]
Operation = Callable[..., torch.Tensor]
"""A function or method of torch."""
Activation = Callable[[torch.Tensor], torch.Tensor]
Rule = Callable[[Activation, torch.Tensor, Kind], torch.Tensor]

# Smooth ones are rectifiers too, since they tend to zero, or to a small slope, on the left.
_FUNCTIONS: dict[object, Kind] = {
    **dict.fromkeys([F.relu, torch.relu, torch.Tensor.relu], "relu"),
    **dict.fromkeys(
        [F.gelu, F.silu, F.mish, F.softplus, F.elu, F.selu, F.celu, F.leaky_relu], "smooth"
    ),
    **dict.fromkeys(
        [F.tanh, torch.tanh, torch.Tensor.tanh, F.sigmoid, torch.sigmoid, torch.Tensor.sigmoid],
        "bounded",
    ),
}
# Modules of transformers that put an activation together from several functions.
_MODULES: dict[str, Kind] = {
    "NewGELUActivation": "smooth",
    "FastGELUActivation": "smooth",
    "QuickGELUActivation": "smooth",
    "AccurateGELUActivation": "smooth",
    "ClippedGELUActivation": "smooth",
    "ReLUSquaredActivation": "relu",
    "LaplaceActivation": "bounded",
}


class Activations(TorchFunctionMode):
    """Within the context, a rule computes the activations of a model.

    It gets an activation, its input and its kind, and returns the activation's own output.
    """

    def __init__(self, model: torch.nn.Module, rule: Rule) -> None:
        super().__init__()
        self._rule = rule
        self._busy = False
        self._modules = [
            (module, _MODULES[type(module).__name__])
            for module in model.modules()
            if type(module).__module__ == "transformers.activations"
            and type(module).__name__ in _MODULES
            and "forward" not in vars(module)  # somebody else's stays
        ]

    def __enter__(self) -> Activations:
        for module, kind in self._modules:
            module.forward = partial(self._apply, module.forward, kind=kind)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for module, _ in self._modules:
            del module.forward  # the class's own shows again

    def __torch_function__(
        self,
        func: Operation,
        types: object,
        args: Sequence[Any] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        kind = _FUNCTIONS.get(func)
        if kind is None or self._busy or not args:
            return func(*args, **kwargs)
        if kwargs.get("inplace"):
            kwargs = {**kwargs, "inplace": False}
        return self._apply(lambda x: func(x, *args[1:], **kwargs), args[0], kind)

    def _apply(self, function: Activation, x: torch.Tensor, kind: Kind) -> torch.Tensor:
        if self._busy:
            return function(x)
        self._busy = True
        try:
            return self._rule(function, x, kind)
        finally:
            self._busy = False


def passing_positive(kinds: tuple[Kind, ...]) -> Rule:
    """Return guided backpropagation: rectifiers pass what is positive, where their input is."""

    def rule(function: Activation, x: torch.Tensor, kind: Kind) -> torch.Tensor:
        if kind not in kinds:
            return function(x)
        _, slope = _value_and_slope(function, x)
        output = with_slope(function, x, slope * (x > 0))
        if output.requires_grad:
            output.register_hook(lambda g: g.clamp(min=0))  # type: ignore[no-untyped-call]
        return output

    return rule


class Rescale:
    """DeepLIFT's rescale rule: an activation's gradient is its mean slope from a reference.

    What a model gets as reference is run first, within :meth:`recording`. The model's calls of
    activations are then matched one by one with the recorded ones, and must be the same ones:
    :meth:`check_done` says whether all were.
    """

    def __init__(self) -> None:
        self._recording = False
        self._references: deque[torch.Tensor] = deque()

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Within the context, inputs of activations are kept, and none is changed."""
        self._references.clear()
        with with_values(self, {"_recording": True}):
            yield

    def check_done(self) -> None:
        """Raise ExparityError unless as many activations were called as on the reference."""
        if self._references:
            raise _other_calls()

    def __call__(self, function: Activation, x: torch.Tensor, kind: Kind) -> torch.Tensor:
        """Compute an activation; raise ExparityError if nothing like it was recorded."""
        if self._recording:
            self._references.append(x.detach())
            return function(x)
        reference = self._references.popleft() if self._references else None
        if reference is None or reference.shape != x.shape:
            raise _other_calls()
        return with_slope(function, x, mean_slope(function, x, reference))


def mean_slope(function: Activation, x: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Return (f(x) − f(reference)) / (x − reference), elementwise; f′(x) where both are equal.

    In float64, since the difference of two close values would lose its digits.
    """
    value, slope = _value_and_slope(function, x.double())
    change = x.double() - reference.double()
    equal = change == 0
    ratio = (value - function(reference.double())) / change.masked_fill(equal, 1)
    return torch.where(equal, slope, ratio).to(x.dtype)


def _value_and_slope(function: Activation, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.enable_grad():
        inputs = x.detach().requires_grad_(True)
        value = function(inputs)
        (slope,) = torch.autograd.grad(value.sum(), inputs)
    return value.detach(), slope


def with_slope(function: Activation, x: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Return f(x), and let gradients pass with another slope: what is added is zero."""
    return function(x.detach()) + (x - x.detach()) * slope


def _other_calls() -> ExparityError:
    return ExparityError(
        "the model calls other activations on a text than on its baseline, so that their changes "
        "cannot be compared"
    )
