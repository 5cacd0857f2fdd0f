"""Digests of source: they change with a file and the private helpers it shares, and only then."""

from pathlib import Path

import pytest

from exparity.core import digest as digest_module
from exparity.core.digest import reached, source_digest
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS

TREE = {
    "metrics/curve.py": (
        "import numpy\nfrom exparity.metrics import metric\n"
        "from exparity.metrics._shared import area\n"
    ),
    "metrics/lazy.py": (
        "match x:\n    case 1:\n        try:\n            def f():\n"
        "                from exparity.metrics import _shared\n        finally:\n            pass\n"
    ),
    "metrics/plain.py": "import exparity.metrics._shared as shared\n",
    "metrics/alone.py": "X = 1\n",
    "metrics/__init__.py": "from exparity.metrics._hidden import y\n",
    "metrics/_shared.py": (
        "from exparity.metrics._deeper import z\nfrom exparity.engine import run\n"
    ),
    "metrics/_deeper.py": "from exparity.metrics._shared import area  # a circle\n",
    "metrics/_hidden.py": "Y = 2\n",
    "engine.py": "from exparity.metrics._hidden import y\n",
}


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """A small package in place of exparity, and no memory of digests."""
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(digest_module, "_ROOT", tmp_path)
    return tmp_path


def fresh(*paths: Path) -> str:
    return source_digest.__wrapped__(*paths)


def change(path: Path) -> None:
    path.write_text(path.read_text() + "# changed\n")


def follows(path: Path, *changed: Path) -> bool:
    """Change files, and return whether the digest of a source is another then."""
    before = fresh(path)
    for one in changed:
        change(one)
    return fresh(path) != before


class TestTree:
    @pytest.mark.parametrize(
        ("own", "changed"),
        [("curve", "own"), ("curve", "_shared"), ("lazy", "_shared"), ("plain", "_deeper")],
    )
    def test_changes_with_the_file_and_its_private_helpers(self, tree, own, changed):
        path = tree / "metrics" / f"{own}.py"
        assert follows(path, path if changed == "own" else tree / "metrics" / f"{changed}.py")

    @pytest.mark.parametrize("changed", ["__init__", "_hidden", "alone", "lazy"])
    def test_keeps_when_public_modules_and_what_they_use_change(self, tree, changed):
        others = tree / "metrics" / f"{changed}.py", tree / "engine.py"
        assert not follows(tree / "metrics" / "curve.py", *others)

    def test_what_a_package_offers_counts_by_the_file_that_defines_it(self, tree):
        (tree / "metrics" / "__init__.py").write_text(
            "from exparity.metrics._shared import area as area\n"
        )
        path = tree / "metrics" / "own.py"
        path.write_text("from exparity.metrics import area\n")
        assert not follows(path, tree / "metrics" / "__init__.py")
        assert follows(path, tree / "metrics" / "_shared.py")

    def test_changes_with_the_resources_that_a_source_reads(self, tree):
        folder = tree / "resources" / "words"
        folder.mkdir(parents=True)
        for name in ("read.yaml", "other.yaml"):
            (folder / name).write_text("a: b\n")
        (tree / "metrics" / "_shared.py").write_text('WORDS = shipped("words/read.yaml")\n')
        assert not follows(tree / "metrics" / "curve.py", folder / "other.yaml")
        assert follows(tree / "metrics" / "curve.py", folder / "read.yaml")

    def test_does_not_depend_on_the_order_of_files(self, tree):
        one, two = tree / "metrics" / "curve.py", tree / "metrics" / "alone.py"
        assert fresh(one, two) == fresh(two, one) == fresh(one, two, one)

    def test_a_changed_line_of_a_plugin_outside_the_package_counts(self, tree, tmp_path_factory):
        path = tmp_path_factory.mktemp("elsewhere") / "mine.py"
        path.write_text("from exparity.metrics._shared import area\n")
        assert follows(path, tree / "metrics" / "_deeper.py")
        assert follows(path, path)


@pytest.mark.contract
@pytest.mark.parametrize("registry", [METRICS, METHODS, DATASETS], ids=lambda r: r.kind)
def test_no_two_files_share_a_digest(registry):
    """Variants of one file do; what a job depends on names them."""
    files = {registry.get(id).source for id in registry.ids()}
    assert len({source_digest(file) for file in files}) == len(files) >= 5


@pytest.mark.parametrize(
    ("stage", "names"),
    [("curve", {"curve", "_shared", "_deeper"}), ("__init__", {"__init__", "_hidden"})],
)
def test_a_stage_reaches_what_it_imports_of_a_subpackage_and_no_more(tree, stage, names):
    found = reached.__wrapped__(tree / "metrics" / f"{stage}.py", "metrics")
    assert {path.stem for path in found} == names
