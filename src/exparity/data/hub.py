"""Tables of the Hugging Face Hub, at a pinned commit: ``hf://datasets/OWNER/NAME/FILE``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError
from exparity.core.hub import hub_problem
from exparity.core.registry import is_on_hub
from exparity.data.files import FETCH

_ADDRESS = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)/([^@]+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubFile:
    """A file of a dataset's repository, as it was at a commit.

    Attributes:
        address: ``hf://datasets/OWNER/NAME/FILE``.
        repository: ``OWNER/NAME``.
        name: the file in it.
        commit: 40 hexadecimal digits.
    """

    address: str
    repository: str
    name: str
    commit: str

    @classmethod
    def of(cls, address: str, commit: str | None) -> HubFile:
        """Return the file of an address."""
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise InputError(f"{address}: write hf://datasets/OWNER/NAME/FILE, and its `revision`")
        repository, name = match.groups()
        if commit is None or not _COMMIT.fullmatch(commit):
            found = "" if commit is None else f", found '{commit}', which may change or is cut"
            raise InputError(
                f"{address}: pin its `revision`: the 40 digits of a commit of "
                f"https://huggingface.co/datasets/{repository}/commits/main{found}"
            )
        return cls(address, repository, name, commit)

    @property
    def cached(self) -> Path | None:
        """Where the Hub's cache (below ``HF_HOME``) has it; None if it does not."""
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(
            self.repository, self.name, revision=self.commit, repo_type="dataset"
        )
        return Path(found) if isinstance(found, str) else None

    def fetched(self) -> Path:
        """Return where the Hub's cache has it, after a download where it did not."""
        return self.cached or self._downloaded()

    def _downloaded(self) -> Path:
        from huggingface_hub import errors, get_hf_file_metadata, hf_hub_download, hf_hub_url

        place: dict[str, Any] = {"repo_type": "dataset", "revision": self.commit}
        try:
            # A download by itself asks a Hub that does not answer for minutes.
            get_hf_file_metadata(hf_hub_url(self.repository, self.name, **place))
            return Path(str(hf_hub_download(self.repository, self.name, **place)))
        except errors.EntryNotFoundError:
            problem = f"{self.repository} has no file '{self.name}' at {self.commit}"
        except Exception as error:  # those of its HTTP client, too
            problem = hub_problem(error, "dataset", self.commit, FETCH)
        raise InputError(f"{self.address}: {problem}")


def local_copy(path: str, revision: str | None, *, download: bool) -> Path | None:
    """Return where a table lies: a path as it is, an address in the Hub's cache.

    None for an address that the cache does not have, if it may not be downloaded.
    """
    if not is_on_hub(path):
        if revision is not None:
            raise InputError(f"{path}: `revision` is for tables at hf://datasets/...; leave it out")
        return Path(path)
    file = HubFile.of(path, revision)
    return file.fetched() if download else file.cached
