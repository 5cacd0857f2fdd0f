"""What is built for PyPI: complete, of the declared version, and running without the checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest

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
    folder = f"exparity-{project['version']}.dist-info"
    with ZipFile(wheel) as archive:
        metadata = message_from_string(archive.read(f"{folder}/METADATA").decode())
        commands = archive.read(f"{folder}/entry_points.txt").decode()
        licence = archive.read(f"{folder}/licenses/LICENSE").decode()
    assert (metadata["Name"], metadata["Version"]) == ("exparity", project["version"])
    assert metadata["License-Expression"] == "MIT"
    required = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert required == project["dependencies"]
    assert f"exparity = {project['scripts']['exparity']}" in commands
    assert licence == (repository / "LICENSE").read_text()


@pytest.mark.exhaustive
def test_it_runs_where_there_is_no_checkout(wheel, tmp_path):
    """With the packages of this environment; `make dist` installs those of the lock anew."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True
    )
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    # Links, and not a .pth file, so that no hook of an editable install comes along.
    for path in Path(pytest.__file__).parents[1].iterdir():
        if "exparity" not in path.name and path.suffix != ".pth":
            place = packages / path.name
            if not place.exists():
                place.symlink_to(path)
    show = "import exparity; print(exparity.__file__, exparity.__version__)"
    command = [str(python), "-c", show]
    shown = subprocess.check_output(command, cwd=tmp_path, env={"PATH": ""}, text=True)
    place, version = shown.split()
    assert Path(place).is_relative_to(packages)
    assert version in wheel.name
    list_all = [str(tmp_path / "env" / "bin" / "exparity"), "list"]
    subprocess.run(list_all, cwd=tmp_path, env={"PATH": ""}, check=True, stdout=subprocess.DEVNULL)
