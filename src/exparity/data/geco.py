"""GECO and its variants (Wilming et al. 2024): two or three genders, all words or the subject's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exparity.data import dataset
from exparity.data.facts import RemoteFile
from exparity.data.files import DataSource, read_jsonl, read_published, split_of
from exparity.data.genders import GROUPS, LABELS, gender_facts
from exparity.types import Example

_COMMIT = "f0907c69d95353016556a6cbd0c5fcaa76392ed9"
_URL = f"https://raw.githubusercontent.com/braindatalab/gecobench/{_COMMIT}/data/dataset"
# SHA-256 of the published files.
_DIGESTS: Mapping[str, Mapping[str, str]] = {
    "geco_all": {
        "train": "2763003165719d26ef66503ef3943b782a77e4ef9741098a8e18ad1592ad0df9",
        "test": "60f4f84ec5aa1d23eba47bec31e2e22b8c78557a2b28314549ab832d99960edd",
    },
    "geco_subj": {
        "train": "590549986d54f2a7d5e49e2bcd66473e0ce79d53879960751c9e39395115f066",
        "test": "0ff41288c3691acc46a6df62a4fab407703e2c5a7a8e09f6cd71b3a679869d79",
    },
    "geco_nonbinary_all": {
        "train": "ef1b972be4c3485027db7ead0df5dfeb4a4082e61a642c0da9d2eb7724ac8849",
        "test": "08d5803e7b6aed5d3f894127a9f88b93ee3e9e35245e261444c68cb5bf57fdb6",
    },
    "geco_nonbinary_subj": {
        "train": "ffee51c528469ab94ce4ba272065d385c2b351c84c931dd478288952c9cd7859",
        "test": "a8f8dc273edfddfb800ef98d6747de68e01c6b0c8c6dffb39a62f6cb410a393f",
    },
}


def _register(id: str) -> None:
    """Register a published folder: pairs, or sets of three with a neutral sentence."""
    scope, nonbinary = id.rpartition("_")[2], "nonbinary" in id
    folder = f"{'non_' if nonbinary else ''}binary_gender_{scope}"
    sizes = {"train": 3864, "test": 966} if nonbinary else {"train": 2576, "test": 644}
    neutral = ("neutral",) if nonbinary else ()
    files = {
        split: RemoteFile(
            path=f"geco/{folder}/{split}.jsonl",
            url=f"{_URL}/{folder}/{split}.jsonl",
            sha256=digest,
        )
        for split, digest in _DIGESTS[id].items()
    }

    def load(source: DataSource, *, verify: bool = True) -> list[Example]:
        return read_published(source, files, read_jsonl, example_of, verify=verify)

    changed = "every gendered word" if scope == "all" else "the words of the grammatical subject"
    load.__doc__ = f"""GECO with {changed} changed between the sentences of a set.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not the published ones, by their SHA-256.

    Returns:
        {sizes["train"]:,} training and {sizes["test"]:,} test examples in 1,610 matched sets.
    """
    dataset(
        id,
        labels=(*LABELS, *neutral),
        licence="BSD 3-Clause",
        reference="Wilming et al. 2024, GECOBench",
        files=tuple(files.values()),
        display=f"GECO-{scope.upper()}{'-NB' if nonbinary else ''}",
        **gender_facts((*GROUPS, *neutral)),
        sizes=tuple(sizes.values()),
        group_decides_label=True,
    )(load)


def example_of(row: Mapping[str, Any], part: str, number: int) -> Example:
    """Return the example in a row of a GECO file.

    A word that is only a blank is dropped with its mark. A row with one mark more than words, where
    nobody can tell which mark is too many, has no rationale.
    """
    words, marks = row["sentence"], row["ground_truth"]
    rationale = None
    if len(marks) != len(words) + 1:
        pairs = zip(words, marks, strict=True)
        rationale = tuple(int(mark) for word, mark in pairs if word.strip())
    return Example(
        example_id=f"{row['sentence_idx']:04d}-{row['gender']}",
        words=tuple(word.strip() for word in words if word.strip()),
        label=row["target"],
        group=row["gender"],
        split=split_of(part),
        match_id=f"{row['sentence_idx']:04d}",
        rationale=rationale,
    )


for _id in _DIGESTS:
    _register(_id)
