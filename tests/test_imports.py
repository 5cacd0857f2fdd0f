"""Dependencies point downwards only, and light stages stay light."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

pytestmark = pytest.mark.contract

# Lower layers come first. A module may import its own layer and lower ones.
LAYERS = [
    {
        "errors",
        "calls",
        "escaping",
        "interface",
        "layout",
        "seeding",
        "strict",
        "digest",
        "progress",
        "runlock",
        "at_start",
        "resources",
        "usage",
        "markup",
        "seal",
    },
    {"parameters", "artefact_schemas", "lineage"},
    {"registry", "artifacts", "schema"},
    {"instances"},
    {"data", "models"},
    {"engine"},
    {"methods", "metrics", "stats"},
    {"catalogue", "report"},
    {"stages", "config", "bench", "costs", "plots"},
    {"arguments"},
    {"commands"},
    {"cli"},
]
# The training loop asks the engine's device module where to run: it has no other home.
ALLOWED = {("models/_loop.py", "engine")}


def level_of(part):
    return next(i for i, layer in enumerate(LAYERS) if part in layer)


def imports_of(path):
    """(package part, only for type checkers) of every exparity import in a file."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("exparity."):
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.startswith("exparity.")]
        for name in names:
            yield name.split(".")[1], id(node) in typing_only


def test_imports_point_downwards(repository):
    package = repository / "src" / "exparity"
    checked = 0
    for path in package.rglob("*.py"):
        relative = path.relative_to(package)
        part = relative.parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue  # the public face and the entry point see everything
        for target, typing_only in imports_of(path):
            if typing_only or (str(relative), target) in ALLOWED:
                continue
            checked += 1
            assert level_of(target) <= level_of(part), f"{relative} imports {target}"
    assert checked > 100


def test_methods_do_not_know_metrics_and_metrics_reach_methods_late(repository):
    """A metric may run a method again, but must not load it before."""
    package = repository / "src" / "exparity"
    for path in (package / "methods").glob("*.py"):
        assert "metrics" not in {part for part, _ in imports_of(path)}, path.name
    reached = 0
    for path in (package / "metrics").glob("*.py"):
        tree = ast.parse(path.read_text())
        late = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.startswith("exparity.methods"):
                assert id(node) in late, f"{path.name} imports {module} at its top"
                reached += 1
    assert reached


@pytest.mark.parametrize(
    "modules",
    [
        "exparity",
        "exparity.config",
        "exparity.stats, exparity.stages.test",
        "exparity.stages.report, exparity.report.render",
        "exparity.stages.show, exparity.plots, exparity.markup",
        "exparity.report.published, exparity.stages.compare_published",
        "exparity.metrics.gini, exparity.metrics.sparsity, exparity.stages.evaluate",
        "exparity.data.geco_all, exparity.stages.prepare",
        "exparity.stages.plan, exparity.stages.cost",
    ],
)
def test_light_modules_never_reach_torch(modules):
    code = (
        f"import sys, {modules}\n"
        "from exparity.methods import METHODS\nfrom exparity.metrics import METRICS\n"
        "METHODS.ids(), METRICS.ids()\n"
        "heavy = {'torch', 'transformers', 'accelerate', 'captum', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
