"""Lineage of a result: one key of a job's options and of the content of its inputs.

Every result of the workflow records its key. Where it differs from what the config and the files
say now, the result belongs to another config, or an input was replaced. File times, which copying
and unpacking change, are not asked.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from exparity.artefacts.seal import read_seal

MANIFEST = "exparity.json"
"""File in the folder of a checkpoint that says what it was made from and what belongs to it."""
_ON_PAGE = re.compile(r'<meta name="exparity-lineage" content="(\w*)">')
_FAILED_ON_PAGE = re.compile(r'<meta name="exparity-failed" content="([^"]*)">')
_HEAD = 65536  # characters of a page that its key and the names of its failed parts are among


def lineage(options: Mapping[str, object], inputs: Iterable[str]) -> str:
    """Return the key of a job."""
    return fingerprint(options, sorted(inputs))


def fingerprint(*facts: Any) -> str:
    """Return a digest of values of JSON; the order of keys does not count."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def identity(path: Path) -> str:
    """Return what tells the content of an input from any other; empty if it is not there.

    Results record it themselves, so that those of a large grid are compared in a second. Other
    files are read whole.
    """
    try:
        if not path.is_dir():
            seal = read_seal(path)
            return seal.digest if seal else sha256_of(path)
        if (path / MANIFEST).is_file():
            return sha256_of(path / MANIFEST)
        members = sorted(member for member in path.iterdir() if member.is_file())
        return lineage({}, (f"{member.name} {sha256_of(member)}" for member in members))
    except FileNotFoundError:
        return ""


def recorded_lineage(path: Path) -> str:
    """Return the key that a result carries; empty if it has none or cannot be read."""
    try:
        if path.suffix == ".html":
            return "".join(_ON_PAGE.findall(_head_of(path))[:1])
        if not path.is_dir():
            seal = read_seal(path)
            return seal.lineage if seal else ""
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        return str(manifest.get("lineage", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def failed_parts(page: Path) -> str:
    """Return the parts that a page says have failed; empty if none has or it cannot be read."""
    try:
        return html.unescape("".join(_FAILED_ON_PAGE.findall(_head_of(page))[:1]))
    except OSError:
        return ""


def _head_of(page: Path) -> str:
    with page.open(encoding="utf-8", errors="replace") as file:
        return file.read(_HEAD)
