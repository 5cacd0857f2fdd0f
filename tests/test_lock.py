"""What `make` installs: pinned, with hashes, from whatever index there is, and complete."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

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
    environment = {"extra": ""}
    needed = {
        _name(requirement.name)
        for requirement in map(Requirement, required)
        if requirement.marker is None or requirement.marker.evaluate(environment)
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
    assert {pin for pin in locked if pin.split("==")[0] in required} | {
        f"exparity=={project['version']}"
    } == set(pins)


def test_both_builds_of_torch_are_of_one_version(repository):
    # Nobody has to have the CPU build, and the version of the other satisfies all that need it.
    (cpu,) = _read(repository / "requirements-cpu.lock")
    assert cpu.replace("+cpu", "") in _read(repository / "requirements.lock")
    assert len(_read(repository / "requirements.lock")[cpu.replace("+cpu", "")]) > 10
