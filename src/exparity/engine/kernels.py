"""Linear layers on a CPU with oneDNN's kernels, which torch itself uses for compiled models only.

torch multiplies float32 matrices with MKL, which leaves half of some processors' speed unused
(those of AMD with AVX-512, say), and packs a bfloat16 layer's weights anew at every call. oneDNN
with weights packed once is faster for both, but where layers are narrow; it rounds alike (relative
differences of about 1e-7 in float32), and gives a row the same bits whatever it is batched with.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.nn import functional as F
from transformers.pytorch_utils import Conv1D

from exparity.core.device import give_back_memory
from exparity.models.lookup import replaced

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BOTH_KEPT = 1 << 28
"""Weights of all layers up to which copies for both directions are kept, 1 GB each in fp32."""
Direction = Literal["forward", "backward"]
FEWEST_ROWS = 4
"""Rows below which a matrix product takes another route through a CPU's libraries, and rounds
otherwise."""


def available(dtype: torch.dtype = torch.float32) -> bool:
    """Return whether this build of torch has the kernels, and this processor their arithmetic."""
    names = ("_linear_pointwise", "_reorder_linear_weight", "_is_mkldnn_bf16_supported")
    if not torch._C._has_mkldnn or not all(hasattr(torch.ops.mkldnn, name) for name in names):
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return dtype == torch.float32


class PackedLayers:
    """The linear layers of a model on the CPU, with packed weights.

    Its own modules are left as they are outside :meth:`in_use`. Beyond :data:`BOTH_KEPT` weights,
    one packed copy is kept: with gradients for the backward direction, which takes longer to make.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        modules: list[Any] = [
            module
            for module in model.modules()
            # Not those with a forward pass of their own, such as the routers of some experts.
            if type(module).forward in (torch.nn.Linear.forward, Conv1D.forward)
        ]
        self._keeps_both = sum(module.weight.numel() for module in modules) <= BOTH_KEPT
        self._layers = [_Layer(module, transposed=isinstance(module, Conv1D)) for module in modules]

    def in_use(self, *, gradients: bool = False) -> AbstractContextManager[None]:
        """Within the context, the model runs on packed layers; weights must not need gradients.

        Args:
            gradients: whether gradients with respect to inputs are taken.
        """
        if not self._keeps_both:
            self._keep("backward" if gradients else "forward")
        # A layer that somebody else has replaced (a shortcut) stays replaced.
        chosen = (layer for layer in self._layers if "forward" not in vars(layer.module))
        return replaced({layer.module: layer for layer in chosen})

    def _keep(self, direction: Direction) -> None:
        """Keep the copies of one direction alone; those of the other leave no gaps behind."""
        others = [layer for layer in self._layers if layer.kept != {direction}]
        for layer in others:
            layer.keep(direction)
        if others:
            give_back_memory()


class _Layer:
    """One linear layer; packs its weight on first use, and again when the weight has changed."""

    def __init__(self, module: Any, *, transposed: bool) -> None:
        self.module = module
        self.kept: set[Direction] = {"forward", "backward"}
        self._transposed = transposed
        self._state: tuple[int, int] | None = None
        self._packed: dict[Direction, torch.Tensor] = {}

    def __call__(self, inputs: torch.Tensor) -> Any:
        if torch.is_grad_enabled() and inputs.requires_grad:
            differentiable: Any = _PackedLinear  # torch gives its `apply` no types
            # The rows of all texts as one matrix: models may write into views of what they get, but
            # not into a view that a function of its own derivative returns.
            return differentiable.apply(inputs.flatten(0, -2), self).unflatten(0, inputs.shape[:-1])
        return self.product(inputs, "forward")

    def keep(self, direction: Direction) -> None:
        """Keep copies of one direction from now on, and drop others."""
        self.kept = {direction}
        self._packed = {d: packed for d, packed in self._packed.items() if d == direction}

    def product(self, inputs: torch.Tensor, direction: Direction) -> Any:
        """Return inputs × weightᵀ + bias, or the gradient with respect to the inputs."""
        weight, bias = self.module.weight, self.module.bias
        state = (weight.data_ptr(), weight._version)
        if state != self._state:
            self._packed, self._state = {}, state
        packed = self._packed.get(direction)
        if packed is None:
            plain = weight.detach()
            if self._transposed == (direction == "forward"):
                plain = plain.t()
            packed = torch.ops.mkldnn._reorder_linear_weight(plain, None)
            if direction in self.kept:
                self._packed[direction] = packed
        added = None if direction == "backward" or bias is None else bias.detach()
        return torch.ops.mkldnn._linear_pointwise(
            inputs.contiguous(), packed, added, "none", [], ""
        )


class _PackedLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: torch.Tensor, layer: _Layer) -> Any:
        ctx.layer = layer
        return layer.product(inputs, "forward")

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, None]:
        return ctx.layer.product(gradients[0], "backward"), None


def steady_head(model: PreTrainedModel) -> None:
    """Have a classification head compute a few rows more where it gets very few.

    It sees one row a text, and a text alone would get other bits than in company.
    """
    for name, module in model.named_modules():
        in_stack = any(part.isdigit() for part in name.split("."))
        if isinstance(module, torch.nn.Linear) and not in_stack and not module._forward_hooks:
            module.register_forward_pre_hook(_fill)
            module.register_forward_hook(_cut)


def _fill(module: Any, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    rows = inputs[0]
    module.rows_asked_for = len(rows)
    if len(rows) >= FEWEST_ROWS or rows.ndim != 2:
        return inputs
    return (F.pad(rows, (0, 0, 0, FEWEST_ROWS - len(rows))), *inputs[1:])


def _cut(module: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
    return output[: module.rows_asked_for]
