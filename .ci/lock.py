"""Write the lock files: what is installed here, with the hashes of every file on the index.

requirements.lock is for every machine. requirements-cuda.lock holds what the torch of the index
needs on Linux besides. requirements-cpu.lock holds the CPU build of torch, which needs none of it;
it has a file of its own as pip prefers files whose hashes an index lists. requirements-docs.lock is
what the site is built with. Run by `make lock`.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tomllib
from pathlib import Path

# The hashes of each requirement, such as `torch==2.13.0`, with its marker if it has one.
Hashes = dict[str, set[str]]


def main() -> None:
    """Write the files."""
    frozen = _run("pip", "freeze", "--all", "--exclude-editable")
    (torch,) = re.findall(r"^torch==.*$", frozen, re.M)
    needed_by_torch = _compile(torch.removesuffix("+cpu"), "--universal")
    cuda = {pin: hashes for pin, hashes in needed_by_torch.items() if "== 'linux'" in pin}
    pins = _compile(re.sub(r"\+cpu$", "", frozen, flags=re.M), "--no-deps")
    elsewhere = {"pip", *map(_name, cuda)}
    pins = {pin: hashes for pin, hashes in pins.items() if _name(pin) not in elsewhere}
    _write("requirements.lock", pins)
    _write("requirements-cuda.lock", cuda)
    _write("requirements-docs.lock", docs())
    if torch.endswith("+cpu"):
        _write(
            "requirements-cpu.lock", {f"{torch} ; {_this_machine()}": {_hash_of_local_file(torch)}}
        )


def docs() -> Hashes:
    """Return what the dependency group ``docs`` needs, on every system."""
    project = tomllib.loads(Path("pyproject.toml").read_text())
    return _compile("\n".join(project["dependency-groups"]["docs"]), "--universal")


def _compile(requirements: str, option: str) -> Hashes:
    quiet = ("--quiet", "--no-header", "--no-annotate")
    command = ("uv", "pip", "compile", "--generate-hashes", "--python-version", "3.11", *quiet)
    text = _run(*command, option, "-", stdin=requirements)
    entries = re.split(r"^(?=\w)", text, flags=re.M)[1:]
    return {e.split(" \\\n")[0]: set(re.findall("sha256:([0-9a-f]{64})", e)) for e in entries}


def _hash_of_local_file(requirement: str) -> str:
    """Return the hash of the file that pip takes on this machine, which the index does not list."""
    options = ("--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", "-")
    report = json.loads(_run("pip", "install", *options, requirement))
    return report["install"][0]["download_info"]["archive_info"]["hashes"]["sha256"]


def _this_machine() -> str:
    """Return the marker of what that file is for; builds for others have other hashes."""
    version = ".".join(map(str, sys.version_info[:2]))
    machine = f"platform_machine == '{platform.machine()}' and sys_platform == '{sys.platform}'"
    return f"python_version == '{version}' and {machine}"


def _write(name: str, pins: Hashes) -> None:
    with Path(name).open("w") as stream:
        for pin, hashes in pins.items():
            lines = [f"    --hash=sha256:{value}" for value in sorted(hashes)]
            stream.write(" \\\n".join([pin, *lines]) + "\n")


def _name(pin: str) -> str:
    return pin.split("==")[0]


def _run(*command: str, stdin: str = "") -> str:
    """Run a module of this environment and return what it prints."""
    return subprocess.run(
        [sys.executable, "-m", *command], input=stdin, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
