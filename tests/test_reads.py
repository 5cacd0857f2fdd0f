"""What makes source hard to read is counted, and no commit adds to it.

`python tests/test_reads.py` prints every count; with the name of a count it prints the places.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.contract

SOURCE = Path(__file__).parents[1] / "src" / "exparity"

# A commit that lowers a count lowers its line here too; no commit raises one.
MOST = {
    "pairs": 0,
    "unpacked": 0,
    "vague_names": 11,
    "any": 196,
    "text_keys": 324,
    "long_functions": 0,
    "deep_comprehensions": 0,
}

VAGUE = {"asked", "each", "every", "found", "given", "held", "id", "known", "made"}
VAGUE |= {"of", "one", "own", "said", "taken", "told", "wanted", "whole"}  # and of_...
MOST_LINES = 50  # of a function, without its docstring
MOST_LOOPS = 2  # of a comprehension

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _unpacks(node: ast.AST, *kinds: type[ast.expr]) -> bool:
    """Whether a statement assigns a value of these kinds to several names."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, kinds)
    )


def _assigns_pair(node: ast.AST) -> bool:
    """`a, b = f(x), g(y)`; `a, b = b, a` and `a, b = 0, 1` are fine."""
    if not _unpacks(node, ast.Tuple):
        return False
    return not all(isinstance(part, ast.Name | ast.Constant) for part in node.value.elts)


def _unpacks_generator(node: ast.AST) -> bool:
    """`a, b = (f(x) for x in pair)`."""
    return _unpacks(node, ast.GeneratorExp, ast.ListComp)


def _names_vaguely(node: ast.AST) -> bool:
    """A variable or an argument whose name does not say what it holds."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        name = node.id
    elif isinstance(node, ast.arg):
        name = node.arg
    else:
        return False
    return name in VAGUE or name.startswith("of_")


def _is_any(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "Any"


def _has_text_key(node: ast.AST) -> bool:
    """`row["name"]`, where a type with fields would say what a row has."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def _is_long(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    docstring = ast.get_docstring(node)
    lines = node.end_lineno - node.lineno + 1
    return lines - (len(docstring.splitlines()) + 1 if docstring else 0) > MOST_LINES


def _loops_deeply(node: ast.AST) -> bool:
    return isinstance(node, Comprehension) and len(node.generators) > MOST_LOOPS


COUNTED: dict[str, Callable[[ast.AST], bool]] = {
    "pairs": _assigns_pair,
    "unpacked": _unpacks_generator,
    "vague_names": _names_vaguely,
    "any": _is_any,
    "text_keys": _has_text_key,
    "long_functions": _is_long,
    "deep_comprehensions": _loops_deeply,
}


def lines_counted(code: str) -> dict[str, list[int]]:
    """The lines of code that each count counts."""
    nodes = [*ast.walk(ast.parse(code))]
    return {
        name: [node.lineno for node in nodes if counts(node)] for name, counts in COUNTED.items()
    }


@cache
def places() -> dict[str, list[str]]:
    """`file:line` of everything in the package that each count counts."""
    counted: dict[str, list[str]] = {name: [] for name in COUNTED}
    for path in sorted(SOURCE.rglob("*.py")):
        shown = path.relative_to(SOURCE.parents[1])
        for name, lines in lines_counted(path.read_text()).items():
            counted[name] += [f"{shown}:{line}" for line in lines]
    return counted


@pytest.mark.parametrize("name", COUNTED)
def test_source_is_no_harder_to_read_than_before(name):
    assert len(places()[name]) <= MOST[name], f"see `python tests/test_reads.py {name}`"


LONG = "def f():\n" + "    g()\n" * 50


@pytest.mark.parametrize(
    ("name", "counted", "fine"),
    [
        ("pairs", "a, b = f(x), g(y)", "a, b = b, 0"),
        ("unpacked", "a, b = (f(x) for x in y)", "a, b = f(x)"),
        ("vague_names", "of_group = 1", "group = own"),
        ("vague_names", "def f(given): ...", "f(given=1)"),
        ("any", "x: Any = 1", "any(x)"),
        ("text_keys", "row['name']", "row[name]"),
        ("long_functions", LONG, LONG.replace("g()\n", "'''\n    '''\n", 1)),
        (
            "deep_comprehensions",
            "[c for a in x for b in a for c in b]",
            "[b for a in x for b in a]",
        ),
    ],
)
def test_a_count_counts_what_it_names(name, counted, fine):
    assert len(lines_counted(counted)[name]) == 1
    assert not lines_counted(fine)[name]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(*places()[name], sep="\n")
    if not sys.argv[1:]:
        for name, lines in places().items():
            print(f"{name}: {len(lines)} (at most {MOST[name]})")
