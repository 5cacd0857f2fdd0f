"""The wheel for PyPI is complete; `make dist` runs it elsewhere."""

import shutil
import subprocess
import sys
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
