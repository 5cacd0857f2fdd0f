"""Tool describe: what a results folder holds, in the words of archives."""

from __future__ import annotations

import json
from pathlib import Path

from exparity.artefacts.files import atomic_path
from exparity.core.escaping import say
from exparity.core.flags import Folder
from exparity.tools.crate import METADATA, crate_of


def describe(results: Folder = Path("results"), /, *, licence: str = "") -> None:
    """Describe a results folder for archives, as an RO-Crate.

    Writes ``ro-crate-metadata.json`` into the folder.

    Args:
        results: the folder of a run.
        licence: terms of the results, such as the address of a licence; none are given if empty.

    Raises:
        InputError: there are no results in the folder, or a file of them is damaged.
    """
    path = results / METADATA
    with atomic_path(path) as temporary:
        text = json.dumps(crate_of(results, licence), indent=1, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")
    say(path)
