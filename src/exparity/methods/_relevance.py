"""Layer-wise relevance propagation as a gradient with other rules, at the calls that a model makes.

No architecture is named, and nothing outside of the context is changed. This module imports torch
at its top: methods import it when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import torch
from torch.nn import functional as F

from exparity.core.errors import InputError
from exparity.methods._backward import (
    Activation,
    Activations,
    Kind,
    Operation,
    mean_slope,
    with_slope,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Variant = Literal["attnlrp", "cp"]
Tensor = torch.Tensor

_PRODUCTS = (
    *(torch.mul, torch.multiply, Tensor.mul, Tensor.multiply, Tensor.__mul__, Tensor.__rmul__),
    *(torch.matmul, Tensor.matmul, Tensor.__matmul__, Tensor.__rmatmul__),
    *(torch.bmm, Tensor.bmm, torch.einsum, torch.baddbmm, Tensor.baddbmm),
)
_QUOTIENTS = (
    *(torch.div, torch.divide, torch.true_divide),
    *(Tensor.div, Tensor.divide, Tensor.true_divide, Tensor.__truediv__),
)
_SCALES = (
    *(torch.rsqrt, Tensor.rsqrt, torch.sqrt, Tensor.sqrt),
    *(torch.std, Tensor.std, torch.var, Tensor.var),
    *(torch.norm, Tensor.norm, torch.linalg.norm, torch.linalg.vector_norm),
)
_POWERS = (torch.pow, Tensor.pow, Tensor.__pow__)
_SOFTMAXES = (F.softmax, torch.softmax, Tensor.softmax)
# Attention is two products in a row; each factor gets half. In cp weights are constant.
_SHARES: Mapping[Variant, Mapping[str, float]] = {
    "attnlrp": {"query": 0.25, "key": 0.25, "value": 0.5},
    "cp": {"query": 0.0, "key": 0.0},
}


class Propagation(Activations):
    """Within the context, gradient × input is relevance by one of two sets of rules.

    An activation has its mean slope from zero, f(x) / x where f(0) = 0. What normalises (square
    roots, deviations, norms, denominators) is constant. Of a product of two tensors that both
    depend on the input each gets half. Attention is such products, with the softmax in between as
    it is; in ``cp`` attention weights are constant instead. Outputs stay the same, bit for bit.
    """

    def __init__(self, model: torch.nn.Module, variant: Variant) -> None:
        super().__init__(model, _from_zero)
        self._rules: dict[object, Callable[..., object]] = {
            **dict.fromkeys(_PRODUCTS, _product),
            **dict.fromkeys(_QUOTIENTS, _quotient),
            **dict.fromkeys(_SCALES, _constant),
            **dict.fromkeys(_POWERS, _power),
            F.layer_norm: partial(_normalised, ("weight", "bias", "eps"), centred=True),
            F.rms_norm: partial(_normalised, ("weight", "eps"), centred=False),
            F.scaled_dot_product_attention: partial(_attention, _SHARES[variant]),
        }
        if variant == "cp":
            self._rules |= dict.fromkeys(_SOFTMAXES, _constant)

    def __torch_function__(
        self,
        func: Operation,
        types: object,
        args: Sequence[Any] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        rule = None if self._busy else self._rules.get(func)
        if rule is None:
            return super().__torch_function__(func, types, args, kwargs)
        return rule(func, args, kwargs or {})


def _from_zero(function: Activation, x: Tensor, kind: Kind) -> Tensor:
    return with_slope(function, x, mean_slope(function, x, torch.zeros_like(x)))


def _carries(value: object) -> TypeGuard[Tensor]:
    return isinstance(value, Tensor) and value.requires_grad


def _share(value: object, share: float) -> object:
    """Return a tensor, through which only a share of a gradient passes."""
    if not _carries(value):
        return value
    if share == 0:
        return value.detach()
    same = value.view_as(value)
    same.register_hook(lambda g: g * share)  # type: ignore[no-untyped-call]
    return same


def _product(func: Operation, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Tensor:
    # What is added to a product of matrices (baddbmm) is no factor; an equation is no tensor.
    others, factors = (args[:-2], args[-2:]) if len(args) > 2 else ((), args)
    if len(factors) == 2 and all(map(_carries, factors)):
        factors = tuple(_share(factor, 0.5) for factor in factors)
    return func(*others, *factors, **kwargs)


def _quotient(func: Operation, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Tensor:
    if len(args) == 2 and _carries(args[0]) and _carries(args[1]):
        args = (args[0], args[1].detach())
    return func(*args, **kwargs)


def _constant(func: Operation, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Tensor:
    return func(*args, **kwargs).detach()


def _power(func: Operation, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Tensor:
    result = func(*args, **kwargs)
    exponent = args[1] if len(args) > 1 else kwargs.get("exponent")
    return result.detach() if isinstance(exponent, float) and exponent < 0 else result


def _normalised(
    names: Sequence[str],
    func: Operation,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    centred: bool,
) -> Tensor:
    """Return what a function returns, with the gradient of a norm whose scale is constant."""
    x: Tensor = args[0]
    shape = args[1] if len(args) > 1 else kwargs["normalized_shape"]
    options = dict(zip(names, args[2:], strict=False)) | dict(kwargs)
    over = tuple(range(-len(shape), 0))
    eps = options.get("eps")
    weight = options.get("weight")
    if eps is None:
        eps = 1e-5 if centred else torch.finfo(x.dtype).eps
    rest = x - x.mean(over, keepdim=True) if centred else x
    scale = (rest.square().mean(over, keepdim=True) + eps).rsqrt().detach()
    linear = rest * scale * (1 if weight is None else weight)
    return func(*args, **kwargs).detach() + (linear - linear.detach())


def _attention(
    shares: Mapping[str, float],
    func: Operation,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> Tensor:
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    named = dict(zip(names, args, strict=False)) | dict(kwargs)
    return func(**named | {name: _share(named[name], part) for name, part in shares.items()})


def check_attention(model: PreTrainedModel) -> None:
    """Refuse models whose attention is computed where calls of torch cannot be seen."""
    implementation = getattr(model.config, "_attn_implementation", None) or "eager"
    if implementation not in ("eager", "sdpa"):
        raise InputError(
            f"method attnlrp: does not see into attention '{implementation}'; load the model with "
            "attn_implementation='sdpa'"
        )
