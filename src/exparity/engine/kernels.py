"""Linear layers on a CPU whose rows have the same bits whatever they are batched with.

Libraries of matrix products take another kernel for few rows, or for numbers of rows that are no
multiple of something, and there round a row otherwise. Which ones differs between processors, so a
product is tried once for each size: one is taken that gives a row the same bits in any company.

Two are known: torch's own (MKL, or OpenBLAS on ARM), and oneDNN's, which torch itself uses for
compiled models only. MKL leaves half of some processors' speed unused (those of AMD with AVX-512,
say), and packs a bfloat16 layer's weights anew at every call. oneDNN with weights packed once is
faster for both, but where layers are narrow, since it prepares each number of rows anew. They
round alike (relative differences of about 1e-7 in float32).

Where a processor has AMX, oneDNN sums a bfloat16 layer otherwise for some numbers of rows than for
others. Such a layer is computed in blocks of rows, whose few sizes are summed alike.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import torch
from torch.nn import functional as F
from transformers.pytorch_utils import Conv1D

from exparity.core.device import give_back_memory
from exparity.core.trials import outcome_of
from exparity.engine.batching import is_narrow
from exparity.models.lookup import replaced

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BOTH_KEPT = 1 << 28
"""Weights of all layers up to which copies for both directions are kept, 1 GB each in fp32."""
Direction = Literal["forward", "backward"]
_DIRECTIONS: tuple[Direction, Direction] = ("forward", "backward")
FEWEST_ROWS = 16
"""Rows that a matrix product gets at least; most libraries have other kernels for fewer."""
_COUNTS = (16, 17, 18, 19, 20, 22, 23, 32, 33, 44, 50, 51, 55, 65, 68, 71, 100, 129, 255)
"""Numbers of rows with which a product is tried: of every remainder, around multiples of blocks."""
_PACKED_COUNTS = (16, 17, 22, 33, 55, 65, 100, 255)
"""Those for oneDNN, which takes a millisecond for each."""
_COARSE_COUNTS = (16, 17, 33, 65, 100, 255, 320, 700, 1025)
"""Those for oneDNN in bfloat16, which may sum hundreds of rows otherwise than a few."""
_BLOCKS = (64, 128, 256)
"""Numbers of rows of a block, most of which are the largest; the last one is filled up."""
_LARGEST = 4096
"""Units with which larger layers are tried, such as those that write a vocabulary."""
_MOST = (2048, 320)
"""Rows of the batch that the others are compared with, of layers up to 256 units or in bfloat16,
and of others."""


def available(dtype: torch.dtype = torch.float32) -> bool:
    """Return whether this build of torch has the kernels, and this processor their arithmetic."""
    names = ("_linear_pointwise", "_reorder_linear_weight", "_is_mkldnn_bf16_supported")
    if not torch._C._has_mkldnn or not all(hasattr(torch.ops.mkldnn, name) for name in names):
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return dtype == torch.float32


class Size(NamedTuple):
    """Facts that decide on the kernel of a linear layer, besides the number of rows.

    Attributes:
        inputs: units that it reads.
        outputs: units that it writes.
        biased: whether it adds a bias.
        transposed: whether its weight is (inputs, outputs), as GPT-2's.
        dtype: of inputs and weights.
    """

    inputs: int
    outputs: int
    biased: bool
    transposed: bool
    dtype: torch.dtype


class Route(NamedTuple):
    """How layers of a size are computed.

    Attributes:
        packed: whether by oneDNN, with packed weights.
        steady: whether a row has the same bits in any company.
        forward_in_blocks: whether outputs are computed in blocks of rows, if packed.
        backward_in_blocks: whether gradients are.
    """

    packed: bool
    steady: bool
    forward_in_blocks: bool = False
    backward_in_blocks: bool = False

    def is_in_blocks(self, direction: Direction) -> bool:
        """Return whether a direction is computed in blocks of rows."""
        return self.forward_in_blocks if direction == "forward" else self.backward_in_blocks


_PLAIN = Route(packed=False, steady=False)
_PACKED = Route(packed=True, steady=False)


def route(size: Size, threads: int, *, narrow: bool) -> Route:
    """Return the fastest steady route of a size, tried once in a run; the fastest if none is.

    Args:
        size: of the layers.
        narrow: whether torch's own product is faster.
        threads: that torch computes with.
    """
    key = *size[:4], str(size.dtype), narrow, threads
    return Route(*outcome_of(lambda: _fastest(size, narrow=narrow), "route", *key))


def _fastest(size: Size, *, narrow: bool) -> Route:
    """Try the routes of a size, the fastest first."""
    if not available(size.dtype):
        ways = [_PLAIN]
    elif narrow and size.dtype == torch.float32:
        ways = [_PLAIN, _PACKED]
    else:
        ways = [_PACKED, _PLAIN]
    for way in ways:
        unsteady = _unsteady(size, way)
        if unsteady and way.packed:
            way = Route(True, False, "forward" in unsteady, "backward" in unsteady)
            unsteady = _unsteady(size, way)
        if not unsteady:
            return way._replace(steady=True)
    return ways[0]


class _Linear(Protocol):
    """Facts read of a linear layer."""

    @property
    def weight(self) -> torch.Tensor: ...

    @property
    def bias(self) -> torch.Tensor | None: ...


@dataclass
class _Weights:
    """A linear layer to measure on; ``nf`` is what Conv1D calls its outputs."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    nf: int


def _unsteady(size: Size, way: Route) -> set[Direction]:
    """Return the directions in which a row has other bits in other company."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device="cpu").to(size.dtype)

    is_coarse = size.dtype == torch.bfloat16
    most = _MOST[max(size.inputs, size.outputs) > 256 and not is_coarse]
    counts: tuple[int, ...] = _COUNTS
    if way.packed:
        counts = _COARSE_COUNTS if is_coarse else _PACKED_COUNTS
    shape = (size.outputs, size.inputs)
    # A model may run its first batch where nothing has gradients.
    with torch.inference_mode(False), torch.enable_grad():
        weight = drawn(*(shape[::-1] if size.transposed else shape))
        bias = drawn(size.outputs) if size.biased else None
        module = _Weights(weight, bias, size.outputs)
        layer = _Layer(module, transposed=size.transposed, fixed=way)
        rows = drawn(most, size.inputs)
        slopes = drawn(most, size.outputs)

        def computed(part: slice) -> tuple[torch.Tensor, torch.Tensor]:
            inputs = rows[part].clone().requires_grad_(True)
            outputs = layer(inputs)
            # With `grad_outputs`, torch would load its symbolic shapes first.
            (gradient,) = torch.autograd.grad((outputs * slopes[part]).sum(), inputs)
            return outputs.detach(), gradient

        together = computed(slice(None))
        unsteady: set[Direction] = set()
        for count in counts:
            start = 7 * count % (most - count)
            part = slice(start, start + count)
            for direction, apart, among in zip(_DIRECTIONS, computed(part), together, strict=True):
                if not torch.equal(apart, among[part]):
                    unsteady.add(direction)
    return unsteady


class LinearLayers:
    """The linear layers of a model on the CPU, each on the fastest steady route of its size.

    Its own modules are left as they are outside :meth:`in_use`. Beyond :data:`BOTH_KEPT` weights,
    one packed copy is kept: with gradients for the backward direction, which takes longer to make.
    """

    def __init__(self, model: PreTrainedModel, *, narrow: bool = False) -> None:
        modules = [
            module
            for module in model.modules()
            # Not those with a forward pass of their own, such as the routers of some experts.
            if isinstance(module, torch.nn.Linear | Conv1D)
            and type(module).forward in (torch.nn.Linear.forward, Conv1D.forward)
        ]
        self._keeps_both = sum(module.weight.numel() for module in modules) <= BOTH_KEPT
        self._layers = [
            _Layer(module, transposed=isinstance(module, Conv1D), narrow=narrow)
            for module in modules
        ]

    @property
    def are_steady(self) -> bool:
        """Whether the products of all layers give a row the same bits in any company."""
        return all(layer.route.steady for layer in self._layers)

    def in_use(self, *, gradients: bool = False) -> AbstractContextManager[None]:
        """Within the context, the model runs on these layers; weights must not need gradients.

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


def layers_of(model: PreTrainedModel, device: torch.device) -> LinearLayers | None:
    """Return what runs the linear layers of a model; None on a GPU, which runs them itself."""
    return LinearLayers(model, narrow=is_narrow(model)) if device.type == "cpu" else None


class _Layer:
    """One linear layer; packs its weight on first use, and again when the weight has changed."""

    def __init__(
        self,
        module: _Linear,
        *,
        transposed: bool,
        narrow: bool = False,
        fixed: Route | None = None,
    ) -> None:
        self.module = module
        self.kept: set[Direction] = {"forward", "backward"}
        self._transposed = transposed
        self._narrow = narrow
        self._fixed = fixed
        self._plain: Callable[..., torch.Tensor] = (
            Conv1D.forward if transposed else torch.nn.Linear.forward
        )
        self._route: tuple[tuple[torch.dtype, int], Route] | None = None
        self._state: tuple[int, int] | None = None
        self._packed: dict[Direction, torch.Tensor] = {}

    @property
    def route(self) -> Route:
        """How it is computed."""
        if self._fixed is not None:
            return self._fixed
        state = self.module.weight.dtype, torch.get_num_threads()
        if self._route is None or self._route[0] != state:
            weight = self.module.weight
            biased = self.module.bias is not None
            inputs, outputs = weight.shape if self._transposed else weight.shape[::-1]
            shape = min(inputs, _LARGEST), min(outputs, _LARGEST)
            size = Size(*shape, biased, self._transposed, weight.dtype)
            self._route = state, route(size, state[1], narrow=self._narrow)
        return self._route[1]

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        count = inputs.shape[:-1].numel()
        if count >= FEWEST_ROWS:
            return self._run(inputs)
        rows = inputs.reshape(count, inputs.shape[-1])
        outputs = self._run(_filled_up(rows, FEWEST_ROWS))[:count]
        return outputs.view(*inputs.shape[:-1], outputs.shape[-1])

    def _run(self, inputs: torch.Tensor) -> torch.Tensor:
        """Compute outputs of enough rows."""
        if not self.route.packed:
            return self._plain(self.module, inputs)
        if torch.is_grad_enabled() and inputs.requires_grad:
            differentiable: Any = _PackedLinear  # torch gives its `apply` no types
            # The rows of all texts as one matrix: models may write into views of what they get, but
            # not into a view that a function of its own derivative returns.
            outputs: torch.Tensor = differentiable.apply(inputs.flatten(0, -2), self)
            rows: torch.Tensor = outputs.unflatten(0, inputs.shape[:-1])  # type: ignore[no-untyped-call]
            return rows
        return self.product(inputs, "forward")

    def keep(self, direction: Direction) -> None:
        """Keep copies of one direction from now on, and drop others."""
        self.kept = {direction}
        self._packed = {d: packed for d, packed in self._packed.items() if d == direction}

    def product(self, inputs: torch.Tensor, direction: Direction) -> torch.Tensor:
        """Return inputs × weightᵀ + bias, or the gradient with respect to the inputs."""
        weight = self.module.weight
        bias = self.module.bias
        state = (weight.data_ptr(), weight._version)
        if state != self._state:
            self._packed = {}
            self._state = state
        packed = self._packed.get(direction)
        if packed is None:
            plain = weight.detach()
            if self._transposed == (direction == "forward"):
                plain = plain.t()
            packed = torch.ops.mkldnn._reorder_linear_weight(plain, None)
            if direction in self.kept:
                self._packed[direction] = packed
        added = None if direction == "backward" or bias is None else bias.detach()

        def computed(rows: torch.Tensor) -> torch.Tensor:
            outputs: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
                rows.contiguous(), packed, added, "none", [], ""
            )
            return outputs

        in_blocks = self.route.is_in_blocks(direction)
        return _in_blocks(computed, inputs) if in_blocks else computed(inputs)


def _in_blocks(
    compute: Callable[[torch.Tensor], torch.Tensor], inputs: torch.Tensor
) -> torch.Tensor:
    """Return the (…, o) outputs of (…, i) inputs, computed in blocks of rows."""
    outputs = []
    for block in torch.split(inputs.flatten(0, -2), _BLOCKS[-1]):
        number = next(number for number in _BLOCKS if number >= len(block))
        outputs.append(compute(_filled_up(block, number))[: len(block)])
    rows = torch.cat(outputs)
    # Models may not write into a view that a function of its own derivative returns.
    return rows if inputs.ndim == 2 else rows.view(*inputs.shape[:-1], rows.shape[-1])


def _filled_up(rows: torch.Tensor, number: int) -> torch.Tensor:
    """Return (n, i) rows with rows of zeros behind them, up to a number."""
    missing = number - len(rows)
    return F.pad(rows, (0, 0, 0, missing)) if missing else rows


class _PackedLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: torch.Tensor, layer: _Layer) -> torch.Tensor:
        ctx.layer = layer
        return layer.product(inputs, "forward")

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        layer: _Layer = ctx.layer
        return layer.product(gradients[0], "backward"), None
