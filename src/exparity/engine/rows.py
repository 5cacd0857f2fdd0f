"""Results on a CPU that have the same bits in any batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

FEWEST_ROWS = 4
"""Matrix products of fewer rows take another route through a CPU's libraries and round
otherwise."""


def steady_head(model: PreTrainedModel) -> None:
    """Have a classification head compute a few rows more where it gets very few.

    Layers see every token of a batch, but the head sees one row a text, and a text alone would get
    other bits than in company. Rows beyond those asked for are zero, and cut off again.

    Args:
        model: its linear modules outside the stack of layers are given hooks, once.
    """
    import torch

    for name, module in model.named_modules():
        in_stack = any(part.isdigit() for part in name.split("."))
        if isinstance(module, torch.nn.Linear) and not in_stack and not module._forward_hooks:
            module.register_forward_pre_hook(_fill)
            module.register_forward_hook(_cut)


def _fill(module: Any, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    import torch

    rows = inputs[0]
    module.rows_asked_for = len(rows)
    if len(rows) >= FEWEST_ROWS or rows.ndim != 2:
        return inputs
    return (torch.nn.functional.pad(rows, (0, 0, 0, FEWEST_ROWS - len(rows))), *inputs[1:])


def _cut(module: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
    return output[: module.rows_asked_for]
