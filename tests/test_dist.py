"""What is built for PyPI: complete, of the declared version, and running without the checkout."""

import ast
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from email import message_from_string
from email.message import Message
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement
from support import TINY

PACKAGE = Path("src", "exparity")


@pytest.fixture(scope="module")
def wheel(repository, tmp_path_factory) -> Path:
    """The wheel of the sdist of what git has."""
    folder = tmp_path_factory.mktemp("dist")
    listed = ["git", "-C", str(repository), "ls-files", "-z", "--cached", "--others"]
    files = subprocess.check_output([*listed, "--exclude-standard"], text=True)
    for name in filter(None, files.split("\0")):
        source, target = repository / name, folder / "checkout" / name
        there = source.is_file() or source.is_symlink()
        if there and not name.startswith(("tests/", "docs/")):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target, follow_symlinks=False)
    options = ["--quiet", "--offline", "--no-build-isolation", "--python", sys.executable]
    uv = [sys.executable, "-m", "uv", "build", *options, "--out-dir", str(folder)]
    subprocess.run([*uv, str(folder / "checkout")], check=True)
    assert len(list(folder.glob("exparity-*.tar.gz"))) == 1
    (built,) = folder.glob("exparity-*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package_and_no_other(repository, wheel):
    listed = ["git", "-C", str(repository), "ls-files", "--cached", "--others"]
    files = subprocess.check_output([*listed, "--exclude-standard", str(PACKAGE)], text=True)
    paths = [repository / name for name in files.splitlines() if (repository / name).exists()]
    ours = {path.relative_to(repository / "src").as_posix(): path.is_symlink() for path in paths}
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("exparity/")}
    # What a link leads to is in the wheel as files of its own.
    linked = {name: {one for one in held if one.startswith(name)} for name in ours if ours[name]}
    assert all(linked.values())
    assert held - set().union(*linked.values()) == {name for name in ours if not ours[name]}
    assert not [name for name in held if "__pycache__" in name]


def test_its_metadata_is_what_the_project_says(repository, wheel):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    metadata = _metadata(wheel)
    folder = f"exparity-{project['version']}.dist-info"
    with ZipFile(wheel) as archive:
        commands = archive.read(f"{folder}/entry_points.txt").decode()
        licence = archive.read(f"{folder}/licenses/LICENSE").decode()
    assert (metadata["Name"], metadata["Version"]) == ("exparity", project["version"])
    assert metadata["License-Expression"] == "MIT"
    required = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert required == project["dependencies"]
    assert f"exparity = {project['scripts']['exparity']}" in commands
    assert licence == (repository / "LICENSE").read_text()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """Python of an environment of the wheel and what it declares, linked from this one."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    for package in _required(_metadata(wheel).get_all("Requires-Dist")):
        # Commands lie elsewhere; modules that are one file share the folder of compiled ones.
        for name in {path.parts[0] for path in package.files} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(package.locate_file(name))
    return python


def _metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


def _required(lines: list[str]) -> list[Distribution]:
    """What is installed here of some requirements, and all that these require in turn."""
    seen: dict[tuple[str, str], Distribution] = {}
    left = [(line, "") for line in lines]
    while left:
        line, extra = left.pop()
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for wanted in {"", *requirement.extras}:
                if (requirement.name, wanted) not in seen:
                    package = seen[requirement.name, wanted] = distribution(requirement.name)
                    left += [(line, wanted) for line in package.requires or []]
    return list(seen.values())


@pytest.mark.exhaustive  # test_imports.py reads what is declared of the same imports
def test_all_that_it_imports_comes_with_it(wheel, installed, tmp_path):
    """Imports inside functions run here as well."""
    statements = set()
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                statements.add(f"import {name[:-3].removesuffix('/__init__').replace('/', '.')}")
                statements |= set(_imports_of(ast.parse(archive.read(name))))
    # The packages of extras come where they are asked for; test_imports holds that they are named.
    wanted = map(Requirement, _metadata(wheel).get_all("Requires-Dist"))
    extras = {one.name for one in wanted if one.marker and "extra ==" in str(one.marker)}
    statements -= {line for line in statements if line.split()[1].split(".")[0] in extras}
    assert {"import captum.attr", "import exparity.methods.captum"} < statements
    script = tmp_path / "imports.py"
    script.write_text("\n".join(sorted(statements)))
    run = subprocess.run(
        [str(installed), str(script)],
        cwd=tmp_path,
        env={"PATH": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def _imports_of(tree: ast.Module) -> Iterator[str]:
    """Every import of a module, but those for type checkers alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
        elif isinstance(node, ast.Import) or (
            isinstance(node, ast.ImportFrom) and node.module != "__future__"
        ):
            yield ast.unparse(node)


@pytest.mark.exhaustive
def test_it_runs_where_there_is_no_checkout(wheel, installed, tmp_path):
    """With the packages of this environment; `make dist` installs those of the lock anew."""
    show = "import exparity; print(exparity.__file__, exparity.__version__)"
    command = [str(installed), "-c", show]
    shown = subprocess.check_output(command, cwd=tmp_path, env={"PATH": ""}, text=True)
    place, version = shown.split()
    assert Path(place).is_relative_to(installed.parents[1])
    assert version in wheel.name
    # The workflow is within it: Snakemake plans every job of an experiment.
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    command = [str(installed.parent / "exparity"), "plan", "tiny.yaml"]
    planned = subprocess.check_output(command, cwd=tmp_path, env={"PATH": ""}, text=True)
    assert "tiny.yaml: " in planned
