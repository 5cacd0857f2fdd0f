"""The small expressions that say what a study's statements count.

``significant(dataset=geco, metric=gini)`` counts the significant runs of the cells that it names,
``considerable(…)`` those of cells whose mean effect is considerable, ``runs()`` all. A name is an
id or one of the study's sets of ids; ``training`` is ``pretrained`` or ``scratch``. The least of
several groups is ``smallest(model, significant(…))``. A single name is a setting: how a study was
run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from exparity.core.errors import InputError

COUNTS = ("runs", "significant", "considerable")
SETTINGS = ("alpha", "threshold", "seeds", "scratch_epochs")
_CELLS_BY = ("dataset", "model", "method", "metric", "training")


@dataclass(frozen=True)
class Counted:
    """What a statement counts.

    Attributes:
        what: one of :data:`COUNTS`, or of :data:`SETTINGS`.
        where: allowed ids by ``dataset``, ``method``, ``metric``, ``model``; and ``training``.
        smallest_by: the statement is on the smallest of these groups; on all cells if empty.
    """

    what: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    smallest_by: str = ""

    @property
    def setting(self) -> bool:
        """Whether it is on how the study was run, not on what it found."""
        return self.what in SETTINGS


def parse_counted(expression: str, sets: Mapping[str, Sequence[str]]) -> Counted:
    """Parse what a statement counts.

    Args:
        expression: such as ``considerable(method=lime)``.
        sets: ids by the name that stands for all of them.

    Raises:
        InputError: it is not such an expression.
    """
    try:
        return _counted(ast.parse(expression, mode="eval").body, sets)
    except (SyntaxError, ValueError):
        raise InputError(
            f"'{expression}' says nothing that can be counted; write a setting "
            f"({', '.join(SETTINGS)}) or such as significant(dataset=compas)"
        ) from None


def _counted(node: ast.AST, sets: Mapping[str, Sequence[str]]) -> Counted:
    match node:
        case ast.Name(id=name) if name in SETTINGS:
            return Counted(name)
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords) if name in COUNTS:
            return Counted(name, dict(_condition(keyword, sets) for keyword in keywords))
        case ast.Call(func=ast.Name(id="smallest"), args=[ast.Name(id=by), inner], keywords=[]):
            if by in _CELLS_BY:
                return replace(_counted(inner, sets), smallest_by=by)
    raise ValueError


def _condition(
    keyword: ast.keyword, sets: Mapping[str, Sequence[str]]
) -> tuple[str, tuple[str, ...]]:
    match keyword:
        case ast.keyword(arg=str(kind), value=ast.Name(id=name)) if kind in _CELLS_BY:
            return kind, tuple(sets.get(name, (name,)))
    raise ValueError
