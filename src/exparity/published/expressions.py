"""The small expressions that say what a study's statements count.

``significant(dataset=geco, metric=gini)`` counts the significant runs of the cells that it names,
``considerable(…)`` those of cells whose mean effect is considerable, ``runs()`` all. A name is an
id or one of the study's sets of ids; ``training`` is ``pretrained`` or ``scratch``. The least of
several groups is ``smallest(model, significant(…))``. A single name is a setting: how a study was
run. ``{a, b} > rest`` says that a and b are above all others. Of the sizes of gaps, in 1e-2:

- ``below(metric, method, others...)``: how far a method is above the lowest of the others.
- ``change(metric, method, other)``: its change against the other, in percent.
- ``points(metric, method, other)``: difference of both, with their signs.
- ``p_value(metric, method, other)``: of Welch's test of equal means over runs.
- ``nearer(metric, method, other_metric)``: percent of the classes where the metric is nearer to 0.
- ``zero(metric, method)``: percent of the classes where it is exactly 0.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from exparity.core.errors import InputError

COUNTS = ("runs", "significant", "considerable")
GAPS = ("below", "change", "points", "p_value", "nearer", "zero")
SETTINGS = ("alpha", "threshold", "seeds", "scratch_epochs")
_CELLS_BY = ("dataset", "model", "method", "metric", "training")
Where = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Counted:
    """What a statement counts.

    Attributes:
        what: one of :data:`COUNTS`, :data:`GAPS` or :data:`SETTINGS`.
        where: allowed ids by ``dataset``, ``method``, ``metric``, ``model``; and ``training``.
        smallest_by: the statement is on the smallest of these groups; on all cells if empty.
        names: of what gaps are compared: a metric, then methods, or a method and another metric.
    """

    what: str
    where: Where = field(default_factory=dict)
    smallest_by: str = ""
    names: tuple[str, ...] = ()


def parse_counted(
    expression: str, sets: Mapping[str, Sequence[str]], where: Where | None = None
) -> Counted:
    """Parse what a statement counts; ``sets`` are ids by the name that stands for all of them."""
    try:
        return _counted(ast.parse(expression, mode="eval").body, sets, where or {})
    except (SyntaxError, ValueError):
        raise InputError(
            f"'{expression}' says nothing that can be counted; write a setting "
            f"({', '.join(SETTINGS)}) or such as significant(dataset=compas)"
        ) from None


def _counted(node: ast.AST, sets: Mapping[str, Sequence[str]], where: Where) -> Counted:
    match node:
        case ast.Name(id=name) if name in SETTINGS:
            return Counted(name)
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords) if name in COUNTS:
            return Counted(name, dict(_condition(keyword, sets) for keyword in keywords))
        case ast.Call(func=ast.Name(id="smallest"), args=[ast.Name(id=by), inner], keywords=[]):
            if by in _CELLS_BY:
                return replace(_counted(inner, sets, where), smallest_by=by)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in GAPS:
            names = tuple(one.id for one in args if isinstance(one, ast.Name))
            if names and len(names) == len(args):
                return Counted(name, where, names=names)
    raise ValueError


def _condition(
    keyword: ast.keyword, sets: Mapping[str, Sequence[str]]
) -> tuple[str, tuple[str, ...]]:
    match keyword:
        case ast.keyword(arg=str(kind), value=ast.Name(id=name)) if kind in _CELLS_BY:
            return kind, tuple(sets.get(name, (name,)))
    raise ValueError


@dataclass(frozen=True)
class Ordering:
    """An order of several values, strict or not; no names mean all others."""

    above: tuple[str, ...]
    below: tuple[str, ...]
    strict: bool

    @property
    def named(self) -> tuple[str, ...]:
        """The names on both sides."""
        return *self.above, *self.below

    def holds(self, values: Mapping[str, float]) -> bool:
        """Return whether values are so ordered; all that are named must be there."""
        rest = [value for name, value in values.items() if name not in self.named]
        least = min([values[name] for name in self.above] or rest)
        greatest = max([values[name] for name in self.below] or rest)
        return least > greatest if self.strict else least >= greatest


def parse_ordering(expression: str) -> Ordering:
    """Parse an ordering such as ``{a, b} > {c}`` or ``rest >= {d}``."""
    match ast.parse(expression, mode="eval").body:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() as operator], comparators=[right]):
            return Ordering(_names(left), _names(right), isinstance(operator, ast.Gt))
    raise ValueError(f"'{expression}' orders nothing")


def _names(node: ast.expr) -> tuple[str, ...]:
    """Return the names in a set; none of ``rest``."""
    return tuple(name.id for name in getattr(node, "elts", ()))
