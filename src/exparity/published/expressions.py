"""The small expressions that say what a study's statements count.

``significant(dataset=geco, metric=gini)`` counts the significant runs of the cells that it names,
``considerable(…)`` those of cells whose mean effect is considerable, ``runs()`` all. A name is an
id or one of the study's sets of ids; ``training`` is ``pretrained`` or ``scratch``. The least of
several groups is ``smallest(model, significant(…))``. A single name is a setting: how a study was
run. ``{a, b} > rest`` says that a and b are above all others.
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
    """Parse what a statement counts."""
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


@dataclass(frozen=True)
class Ordering:
    """Which of several values are above which; no names stand for all others.

    Attributes:
        above: names of those that are above.
        below: names of those that are below.
        strict: whether they must not be equal.
    """

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


def parse_call(expression: str) -> tuple[str, tuple[str, ...]]:
    """Parse a function of names, such as ``below(metric, one, other)``."""
    match ast.parse(expression, mode="eval").body:
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
            names = tuple(one.id for one in arguments if isinstance(one, ast.Name))
            if names and len(names) == len(arguments):
                return function, names
    raise ValueError(f"'{expression}' is no function of names")
