"""Tool describe: what a results folder holds, in the words of archives and catalogues of data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.artefacts.files import atomic_path
from exparity.core.escaping import say
from exparity.core.flags import Folder
from exparity.tools.crate import METADATA, crate_of
from exparity.tools.croissant import croissants


def describe(results: Folder = Path("results"), /, *, licence: str = "") -> None:
    """Describe a results folder for archives: as an RO-Crate, and its datasets in Croissant.

    Writes ``ro-crate-metadata.json`` into the folder, a ``.croissant.json`` beside each dataset.

    Args:
        results: the folder of a run.
        licence: terms of the results, such as the address of a licence; none are given if empty.

    Raises:
        InputError: there are no results in the folder, or a file of them is damaged.
    """
    for path, croissant in croissants(results).items():
        _write(path, croissant)
    _write(results / METADATA, crate_of(results, licence))


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_path(path) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")
    say(path)
