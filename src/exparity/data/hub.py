"""Tables of the Hugging Face Hub, at a pinned commit: ``hf://datasets/OWNER/NAME/FILE``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from exparity.core.errors import InputError
from exparity.core.hub import hub_problem
from exparity.core.registry import is_on_hub, paths_of
from exparity.data.files import FETCH

_ADDRESS = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)/([^@]+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def local_copies(
    path: str | Sequence[str], revision: str | None, *, download: bool
) -> list[Path] | None:
    """Return where the files of a table lie; None if one of them may not be downloaded."""
    copies = [local_copy(file, revision, download=download) for file in paths_of(path, "path")]
    here = [copy for copy in copies if copy is not None]
    return here if len(here) == len(copies) else None


def local_copy(path: str, revision: str | None, *, download: bool) -> Path | None:
    """Return where a table lies: a path as it is, an address in the Hub's cache (``HF_HOME``).

    None for an address that the cache does not have, if it may not be downloaded.
    """
    if not is_on_hub(path):
        if revision is not None:
            raise InputError(f"{path}: `revision` is for tables at hf://datasets/...; leave it out")
        return Path(path)
    match = _ADDRESS.fullmatch(path)
    if match is None:
        raise InputError(f"{path}: write hf://datasets/OWNER/NAME/FILE, and its `revision`")
    repository, name = match.groups()
    if revision is None or not _COMMIT.fullmatch(revision):
        raise InputError(
            f"{path}: pin its `revision`: the 40 digits of a commit of "
            f"https://huggingface.co/datasets/{repository}/commits/main, found {revision!r}"
        )
    import huggingface_hub as hub

    kind = "dataset"
    cached = hub.try_to_load_from_cache(repository, name, repo_type=kind, revision=revision)
    if isinstance(cached, str) or not download:
        return Path(cached) if isinstance(cached, str) else None
    try:
        # A download by itself asks a Hub that does not answer for minutes.
        url = hub.hf_hub_url(repository, name, repo_type=kind, revision=revision)
        hub.get_hf_file_metadata(url)
        here = hub.hf_hub_download(repository, name, repo_type=kind, revision=revision)
        return Path(str(here))
    except hub.errors.EntryNotFoundError:
        problem = f"{repository} has no file '{name}' at {revision}"
    except Exception as error:  # those of its HTTP client, too
        problem = hub_problem(error, "dataset", revision, FETCH)
    raise InputError(f"{path}: {problem}")
