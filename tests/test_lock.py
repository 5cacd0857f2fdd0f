"""What `make` installs: pinned, with hashes, from whatever index there is, and complete."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement
from support import write_program

LOCKS = tuple(f"requirements{kind}.lock" for kind in ("", "-cpu", "-cuda", "-docs"))


def _read(lock: Path) -> dict[str, list[str]]:
    """The lines below each pin of a lock file, by the pin's first line."""
    entries: dict[str, list[str]] = {}
    for line in lock.read_text().splitlines():
        if line.startswith(" "):
            entries[list(entries)[-1]].append(line)
        else:
            entries[line] = []
    return entries


def _tested(repository: Path) -> list[str]:
    """The versions of Python that the project says it is tested with."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" :: ")[2] for line in project["classifiers"] if "Python ::" in line]
    assert named[0] == project["requires-python"].removeprefix(">=")
    return named


def _name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", requirement).lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_or_a_hash_and_none_names_a_host(repository, lock):
    entries = _read(repository / lock)
    assert entries
    for pin, hashes in entries.items():
        assert re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9_.+]+( ; [a-z0-9_.()'<>= ]+)? \\", pin), pin
        assert hashes, pin
        for line in hashes:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_what_the_project_and_its_packages_require_is_locked(repository):
    # Nothing is resolved when the lock is installed, so nothing may be missing from it.
    project = tomllib.loads((repository / "pyproject.toml").read_text())
    locked = {pin.split("==")[0] for pin in _read(repository / "requirements.lock")}
    required = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["slurm"],
        *project["dependency-groups"]["dev"],
        *(line for name in locked for line in distribution(name).requires or []),
    ]
    versions = _tested(repository)
    needed = {
        _name(requirement.name)
        for requirement in map(Requirement, required)
        for version in versions
        if requirement.marker is None
        or requirement.marker.evaluate(
            {"extra": "", "python_version": version, "python_full_version": f"{version}.0"}
        )
    }
    missing = needed - locked
    # A machine with the torch of the index has its CUDA libraries from the other file.
    missing -= {pin.split("==")[0] for pin in _read(repository / "requirements-cuda.lock")}
    assert not missing


def test_conda_has_what_exparity_requires_as_it_is_locked(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    environment = yaml.safe_load((repository / "workflow/envs/exparity.yaml").read_text())
    (pins,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    required = {_name(Requirement(line).name) for line in project["dependencies"]}
    locked = {pin.removesuffix(" \\") for pin in _read(repository / "requirements.lock")}
    named = {pin for pin in locked if pin.split("==")[0] in required}
    assert named | {"exparity @ file://${EXPARITY_SOURCE}"} == set(pins)


@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md"])
def test_the_pages_name_the_pythons_that_are_tested(repository, name):
    *others, newest = _tested(repository)
    assert f"Python {', '.join(others)} or {newest}" in (repository / name).read_text()


@pytest.fixture
def checkout(repository, tmp_path) -> Path:
    """What makes an environment, and locks of three packages that hold nothing but a name."""
    for name in ("Makefile", "pyproject.toml", ".ci/environment"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(repository / name, tmp_path / name)
    (tmp_path / "wheels").mkdir()
    wheels = {"-cpu": "torch-1.0+cpu", "-cuda": "cuda_libraries-1.0", "": "rest-1.0"}
    for kind, name in wheels.items():
        pin = name.replace("-", "==").replace("_", "-")
        lock = f"{pin} \\\n    {_wheel(tmp_path / 'wheels', name)}\n"
        (tmp_path / f"requirements{kind}.lock").write_text(lock)
    return tmp_path


@pytest.fixture
def python(checkout) -> str:
    """This Python, whose environments have a link to its pip: unpacking one takes seconds."""
    pip = distribution("pip").locate_file("pip")
    script = checkout / "bin" / "python"
    write_program(
        script,
        f'[ "$2" = venv ] || exec {sys.executable} "$@"\n'
        f"{sys.executable} -m venv --without-pip $3 && ln -s {pip} $3/lib/python*/site-packages/",
    )
    return str(script)


def _wheel(folder: Path, name: str) -> str:
    """Write an empty wheel and return the option that tells pip its hash."""
    path = folder / f"{name}-py3-none-any.whl"
    package, version = name.split("-")
    with ZipFile(path, "w") as archive:
        about = f"{package}-{version}.dist-info"
        archive.writestr(f"{about}/METADATA", f"Name: {package}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return f"--hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def _make(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Make the environment with pip offline."""
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "wheels", "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        ["make", ".venv/.locked"], cwd=checkout, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], **pip, **environment},
    )  # fmt: skip


class TestTorch:
    """The torch with CUDA is taken where there is no CPU build, and for no other reason."""

    @pytest.mark.parametrize(
        ("has_build", "torch"), [(True, "torch==1.0+cpu"), (False, "cuda-libraries==1.0")]
    )
    def test_by_what_there_is(self, checkout, python, has_build, torch):
        if not has_build:
            (checkout / "wheels/torch-1.0+cpu-py3-none-any.whl").unlink()
        run = _make(checkout, PYTHON=python)
        assert run.returncode == 0, run.stderr
        assert ("no torch==1.0+cpu for this machine" in run.stdout) is not has_build
        assert _installed(checkout) == {torch, "rest==1.0"}

    def test_a_wrong_hash_ends_it(self, checkout, python):
        lock = checkout / "requirements-cpu.lock"
        lock.write_text(f"torch==1.0+cpu \\\n    --hash=sha256:{'0' * 64}\n")
        run = _make(checkout, PYTHON=python)
        assert run.returncode == 2
        assert "THESE PACKAGES DO NOT MATCH THE HASHES" in run.stderr
        assert _installed(checkout) == set()
        assert not (checkout / ".venv/.locked").exists()


def _installed(checkout: Path) -> set[str]:
    """What an environment holds, pip aside."""
    list_all = [str(checkout / ".venv/bin/python"), "-m", "pip", "freeze"]
    return set(subprocess.check_output(list_all, text=True).replace("_", "-").splitlines())


class TestPython:
    """Fresh machines have other Pythons than the one that all was written with."""

    def test_the_first_that_is_tested_is_taken(self, checkout):
        for name, version in (("3", "3.10"), ("3.11", ""), ("3.12", "3.12"), ("3.13", "3.13")):
            _fake_python(checkout / "bin" / f"python{name}", version)
        run = _make(checkout, PATH=f"{checkout / 'bin'}:/usr/bin:/bin")
        assert "python3.12 makes an environment" in run.stderr

    @pytest.mark.parametrize(
        ("version", "parts"),
        [
            ("3.9", ["needs Python 3.11 or newer", "is 3.9; name one: PYTHON="]),
            ("3.99", ["with Python 3.11, 3.12, 3.13; this is 3.99", "makes an environment"]),
        ],
    )
    def test_one_that_is_too_old_is_refused_and_too_new_is_named(self, version, parts, checkout):
        _fake_python(checkout / "bin/python", version)
        run = _make(checkout, PYTHON=str(checkout / "bin/python"))
        assert run.returncode == 2
        assert all(part in run.stderr for part in parts)


def _fake_python(path: Path, version: str) -> None:
    """Write an interpreter that tells its version; without one, as pyenv writes them, none."""
    answer = f'[ "$1" = -c ] && echo {version} && exit' if version else "exit 127"
    write_program(path, f'{answer}\necho "$(basename "$0") makes an environment" >&2; exit 1')


def test_both_builds_of_torch_are_of_one_version(repository):
    # Nobody has to have the CPU build, and the version of the other satisfies all that need it.
    (cpu,) = _read(repository / "requirements-cpu.lock")
    version = cpu.partition("+cpu ")[0]
    assert len(_read(repository / "requirements.lock")[f"{version} \\"]) > 10
