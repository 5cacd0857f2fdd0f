"""GECO and its variants (Wilming et al. 2024): two or three genders, all words or the subject's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from exparity.core.errors import InputError
from exparity.data import dataset
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

    @property
    def changed(self) -> str:
        """What differs between the sentences of a set."""
        if self.folder.endswith("all"):
            return "every gendered word changed"
        return "only the words of the grammatical subject changed"

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
    **{
        f"geco_nonbinary_{scope}": _Variant(
            folder=f"non_binary_gender_{scope}",
            display=f"GECO-{scope.upper()}-NB",
            groups=(*GROUPS, "neutral"),
            labels=(*LABELS, "neutral"),
            sizes={"train": 3864, "test": 966},
        )
        for scope in ("all", "subj")
    },
}


def _load(
    id: str, source: DataSource, verify: bool, digests: Mapping[str, str | None] | None = None
) -> list[Example]:
    """Read both splits of a variant and report its oddities."""
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


def _check_size(path: Path, n_examples: int, published: int) -> None:
    if n_examples != published:
        raise InputError(
            f"{path}: has {n_examples} rows, and the published file {published}; remove it and "
            "fetch it again, or set 'verify: false' for a copy of your own"
        )


def _of_two(id: str) -> Callable[..., list[Example]]:
    def load(source: DataSource, *, verify: bool = True) -> list[Example]:
        return _load(id, source, verify)

    load.__doc__ = f"""GECO with {_VARIANTS[id].changed} between the two sentences of a pair.

    Args:
        source: where the raw files lie or go.
        verify: refuse files whose SHA-256 is not the published one.

    Returns:
        2,576 training and 644 test examples in 1,610 male/female pairs.

    Raises:
        InputError: a file is missing, altered or malformed.
    """
    return load


def _of_three(id: str) -> Callable[..., list[Example]]:
    def load(
        source: DataSource,
        *,
        verify: bool = True,
        train_sha256: str | None = None,
        test_sha256: str | None = None,
    ) -> list[Example]:
        digests = {"train_sha256": train_sha256, "test_sha256": test_sha256}
        return _load(id, source, verify, digests)

    load.__doc__ = f"""GECO with {_VARIANTS[id].changed} between the three sentences of a set.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not known to be the published ones.
        train_sha256: SHA-256 of the training file, once you have compared it.
        test_sha256: SHA-256 of the test file.

    Returns:
        3,864 training and 966 test examples in 1,610 sets of a male, a female and a neutral one.

    Raises:
        InputError: a file is missing, altered, malformed, or its digest is not given.
    """
    return load


for _id, _variant in _VARIANTS.items():
    dataset(
        _id,
        attribute="gender",
        groups=_variant.groups,
        labels=_variant.labels,
        matched=True,
        rationales=True,
        licence="BSD 3-Clause",
        reference="Wilming et al. 2024, GECOBench",
        files=tuple(_variant.files()),
        display=_variant.display,
        group_terms=pronouns_of(_variant.groups),
        sizes=tuple(_variant.sizes.values()),
    )(_of_two(_id) if _variant.digests else _of_three(_id))
