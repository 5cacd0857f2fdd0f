"""Dependencies point downwards only, and light stages stay light."""

import ast
import graphlib
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from support import run_code

pytestmark = pytest.mark.contract

# Lower layers come first. A module may import its own part and those of lower layers; parts that
# stand in one layer do not know each other.
ORDER = (
    "resources core warm types explanations artefacts data counterfactuals models|debiasing "
    "engine methods metrics stats quantities published jobs config costs runs report "
    "benchmarking|ferret stages analyses tools cli"
)
LAYERS = [set(layer.split("|")) for layer in ORDER.split()]


def modules_of(package) -> dict[str, Path]:
    """Every module of the package by its name."""
    named = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def imports_of(path):
    """What a file imports, late and for types alone too, as (module, name) or (module,)."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names)


@pytest.fixture(scope="module")
def modules(repository):
    return modules_of(repository / "src" / "exparity")


@pytest.fixture(scope="module")
def imported(modules):
    """What every module imports."""
    return {name: [*imports_of(path)] for name, path in modules.items()}


@pytest.fixture(scope="module")
def graph(modules, imported):
    """The modules of exparity that each of them imports."""
    found = {}
    for module, names in imported.items():
        ours = [parts for parts in names if parts[0].partition(".")[0] == "exparity"]
        full = {".".join(parts) if ".".join(parts) in modules else parts[0] for parts in ours}
        found[module] = full - {module}
    return found


def test_every_package_that_is_imported_is_declared(repository, imported):
    """And not only there because another package wants it."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    declared = {_normal(Requirement(line).name) for line in project["dependencies"]}
    named = {parts[0].partition(".")[0] for names in imported.values() for parts in names}
    rules = (repository / "workflow").rglob("*.smk")
    for path in (repository / "workflow" / "Snakefile", *rules):
        named |= set(re.findall(r"^ *(?:from|import) (\w+)", path.read_text(), re.M))
    providers = packages_distributions()
    missing = {
        name
        for name in named - sys.stdlib_module_names - {"exparity"}
        if not declared & set(map(_normal, providers.get(name, [name])))
    }
    assert not missing
    assert {"captum", "snakemake"} <= named


def _normal(distribution):
    return re.sub(r"[-_.]+", "-", distribution).lower()


def part_of(module):
    return module.split(".")[1]


def level_of(part):
    return next(i for i, layer in enumerate(LAYERS) if part in layer)


def test_imports_point_downwards(graph):
    checked = 0
    for module, targets in graph.items():
        if module in ("exparity", "exparity.__main__", "exparity.interface"):
            continue  # the public faces and the entry point see everything
        part = part_of(module)
        for target in targets - {"exparity"}:
            aim = part_of(target)
            if aim == part:
                continue
            checked += 1
            assert aim != "interface", f"{module} imports {target}, which is for plug-ins alone"
            assert level_of(aim) < level_of(part), f"{module} imports {target}"
    assert checked > 100


def test_no_modules_import_each_other(graph):
    """No circle at any level."""
    sorter = graphlib.TopologicalSorter(
        {module: targets - {"exparity"} for module, targets in graph.items()}
    )
    assert len(list(sorter.static_order())) > 200


def test_private_modules_are_used_by_their_own_package_alone(modules, graph):
    for module, targets in graph.items():
        is_package = modules[module].name == "__init__.py"
        package = module if is_package else module.rpartition(".")[0]
        for target in targets:
            parts = target.split(".")
            private = [i for i, part in enumerate(parts) if part[0] == "_" and part[:2] != "__"]
            if private:
                home = ".".join(parts[: private[0]])
                assert f"{package}.".startswith(f"{home}."), f"{module} imports {target}"


def test_light_modules_never_reach_torch():
    code = (
        "import sys, exparity, exparity.config.experiment, exparity.stats, exparity.data.geco\n"
        "from exparity.stages import bias, compare, compare_published, evaluate, prepare, report\n"
        "from exparity.report import render\nfrom exparity.explanations import markup\n"
        "from exparity.tools import cost, plan, show\n"
        "from exparity.methods import METHODS\nfrom exparity.metrics import METRICS\n"
        "METHODS.ids(), METRICS.ids()\n"
        "heavy = {'torch', 'transformers', 'accelerate', 'captum', 'pandas', 'matplotlib'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    run_code(code)


def test_what_hands_a_job_over_imports_the_standard_library_and_little_of_it():
    """Every warm job waits for it."""
    code = (
        "import sys, exparity.warm.client\n"
        "unasked = {'email', 'importlib.metadata', 'inspect', 'subprocess', 'zipfile'}\n"
        "unasked |= {'numpy', 'psutil', 'pyarrow', 'scipy', 'yaml'}\n"
        "sys.exit(f'imported: {unasked & set(sys.modules)}' if unasked & set(sys.modules) else 0)"
    )
    run_code(code)


def test_shap_comes_without_plots_and_compiler(checkpoints):
    """Nothing of it stays, so that who imports it afterwards has all of it."""
    code = f"""
import sys, exparity
classifier = exparity.load_classifier({checkpoints["bert"]!r}, "cpu")
[explained] = exparity.explain(classifier, ["The girl sings ."], [0], method="shap")
assert explained.scores.any()
imported = {{"shap", "numba", "llvmlite", "matplotlib"}} & set(sys.modules)
assert not imported, imported
"""
    run_code(code)
