"""What the variants of GECO share: files, digests and loading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from exparity.core.errors import InputError
from exparity.data._gecoformat import GROUPS, LABELS, read_geco, report_oddities
from exparity.data._terms import pronouns_of
from exparity.data.files import DataSource, with_digest
from exparity.interface import Example, RemoteFile

_COMMIT = "f0907c69d95353016556a6cbd0c5fcaa76392ed9"
_URL = f"https://raw.githubusercontent.com/braindatalab/gecobench/{_COMMIT}/data/dataset"
Split = Literal["train", "test"]
_SPLITS: tuple[Split, Split] = ("train", "test")


@dataclass(frozen=True)
class _Variant:
    """One published folder of GECO.

    Attributes:
        folder: its name.
        display: name for tables.
        groups: genders, in the order that fixes the sign of differences.
        labels: names of the classes, by ``target``.
        sizes: published number of rows by split.
        digests: SHA-256 of its files by split; none where we have not seen the files.
    """

    folder: str
    display: str
    groups: tuple[str, ...] = GROUPS
    labels: tuple[str, ...] = LABELS
    sizes: Mapping[Split, int] = field(default_factory=lambda: {"train": 2576, "test": 644})
    digests: Mapping[Split, str] = field(default_factory=dict)

    def files(self) -> list[RemoteFile]:
        """Return its training and its test file."""
        return [
            RemoteFile(
                path=f"geco/{self.folder}/{split}.jsonl",
                url=f"{_URL}/{self.folder}/{split}.jsonl",
                sha256=self.digests.get(split),
                digest_option=None if self.digests else f"{split}_sha256",
            )
            for split in _SPLITS
        ]


def _three_genders(scope: str) -> _Variant:
    return _Variant(
        folder=f"non_binary_gender_{scope}",
        display=f"GECO-{scope.upper()}-NB",
        groups=(*GROUPS, "neutral"),
        labels=(*LABELS, "neutral"),
        sizes={"train": 3864, "test": 966},
    )


_VARIANTS = {
    "geco_all": _Variant(
        folder="binary_gender_all",
        display="GECO-ALL",
        digests={
            "train": "2763003165719d26ef66503ef3943b782a77e4ef9741098a8e18ad1592ad0df9",
            "test": "60f4f84ec5aa1d23eba47bec31e2e22b8c78557a2b28314549ab832d99960edd",
        },
    ),
    "geco_subj": _Variant(
        folder="binary_gender_subj",
        display="GECO-SUBJ",
        digests={
            "train": "590549986d54f2a7d5e49e2bcd66473e0ce79d53879960751c9e39395115f066",
            "test": "0ff41288c3691acc46a6df62a4fab407703e2c5a7a8e09f6cd71b3a679869d79",
        },
    ),
    "geco_nonbinary_all": _three_genders("all"),
    "geco_nonbinary_subj": _three_genders("subj"),
}


def facts_of(id: str) -> dict[str, Any]:
    """Return the facts of a variant, by the id of its dataset."""
    variant = _VARIANTS[id]
    return {
        "attribute": "gender",
        "groups": variant.groups,
        "labels": variant.labels,
        "matched": True,
        "rationales": True,
        "licence": "BSD 3-Clause",
        "reference": "Wilming et al. 2024, GECOBench",
        "files": tuple(variant.files()),
        "display": variant.display,
        "group_terms": pronouns_of(variant.groups),
    }


def load_variant(
    id: str, source: DataSource, verify: bool, digests: Mapping[str, str | None] | None = None
) -> list[Example]:
    """Read both splits of a variant and report its oddities.

    Args:
        id: its dataset.
        source: where the raw files lie or go.
        verify: refuse files that are not, or not known to be, the published ones.
        digests: digests that the dataset's options bring, by option.

    Raises:
        InputError: a file is missing, altered, malformed, or not verifiable.
    """
    variant = _VARIANTS[id]
    examples: list[Example] = []
    for split, file in zip(_SPLITS, variant.files(), strict=True):
        path = source.find(with_digest(file, digests or {}), verify=verify)
        rows = read_geco(path, split)
        if verify:
            _check_size(path, len(rows), variant.sizes[split])
        examples += rows
    report_oddities(id, examples)
    return examples


def _check_size(path: Path, found: int, published: int) -> None:
    if found != published:
        raise InputError(
            f"{path}: has {found} rows, and the published file {published}; remove it and fetch it "
            "again, or set 'verify: false' for a copy of your own"
        )
