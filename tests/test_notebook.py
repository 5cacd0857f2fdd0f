"""The example notebook runs, was run, and tells nothing of the machine it ran on."""

import ast
import json
import re

import pytest

PATH = "docs/example.ipynb"


@pytest.fixture(scope="module")
def notebook(repository):
    return json.loads((repository / PATH).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(source, names):
    """Run a cell as a notebook does: the value of the last line, if it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, PATH, "exec"), names)
    return last and eval(compile(ast.Expression(last.value), PATH, "eval"), names)


def test_every_cell_runs_and_shows_the_same_kind_of_output(code):
    names = {"__name__": "__main__"}
    seen = set()
    for cell in code:
        # A fifth of the data: what the cells show is of the same kind.
        value = run("".join(cell["source"]).replace('"n_pairs": 300', '"n_pairs": 60'), names)
        kinds = {kind for output in cell["outputs"] for kind in output.get("data", {})}
        if "image/png" in kinds:
            assert value._repr_png_()[0]
        elif "text/html" in kinds:
            assert value._repr_html_()
        else:
            assert value is None
        seen |= kinds
    assert {"image/png", "text/html"} <= seen


def test_it_is_small_and_tells_no_paths(repository, notebook):
    source = (repository / PATH).read_text(encoding="utf-8")
    assert len(source) < 300_000
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    text = json.dumps(notebook)
    assert not re.search(r"/(home|root|tmp|work|usr|Users)/|\\\\Users|localhost|https?://", text)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert all(not cell["metadata"] for cell in notebook["cells"])
