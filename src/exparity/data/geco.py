"""GECO and its variants (Wilming et al. 2024): two or three genders, all words or the subject's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.data import dataset
from exparity.data.facts import RemoteFile
from exparity.data.files import DataSource, published_parts, read_jsonl
from exparity.data.genders import GROUPS, LABELS, gender_facts
from exparity.types import Example, Split

log = logging.getLogger(__name__)

_COMMIT = "f0907c69d95353016556a6cbd0c5fcaa76392ed9"
_URL = f"https://raw.githubusercontent.com/braindatalab/gecobench/{_COMMIT}/data/dataset"
_KEYS = {
    "sentence": list,
    "ground_truth": list,
    "gender": str,
    "target": int,
    "sentence_idx": int,
}


# SHA-256 of the published files.
_DIGESTS: Mapping[str, Mapping[Split, str]] = {
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
_CHANGED = {
    "all": "every gendered word changed",
    "subj": "only the words of the grammatical subject changed",
}
_DOC = """GECO with {changed} between the {number} sentences of a {set}.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not the published ones, by their SHA-256.

    Returns:
        {train:,} training and {test:,} test examples in 1,610 {sets}.
    """
_PAIRS = {"number": "two", "set": "pair", "sets": "male/female pairs"}
_TRIPLETS = {
    "number": "three",
    "set": "set",
    "sets": "sets of a male, a female and a neutral one",
}


def _register(id: str) -> None:
    """Register a published folder: pairs, or sets of three with a neutral sentence."""
    scope, nonbinary = id.rpartition("_")[2], "nonbinary" in id
    folder = f"{'non_' if nonbinary else ''}binary_gender_{scope}"
    sizes = {"train": 3864, "test": 966} if nonbinary else {"train": 2576, "test": 644}
    neutral = ("neutral",) if nonbinary else ()
    files: dict[str, RemoteFile] = {
        split: RemoteFile(
            path=f"geco/{folder}/{split}.jsonl",
            url=f"{_URL}/{folder}/{split}.jsonl",
            sha256=digest,
        )
        for split, digest in _DIGESTS[id].items()
    }

    def load(source: DataSource, *, verify: bool = True) -> list[Example]:
        examples: list[Example] = []
        for _, split, path in published_parts(source, files, verify=verify):
            examples += read_geco(path, split)
        report_oddities(id, examples)
        return examples

    words = _TRIPLETS if nonbinary else _PAIRS
    load.__doc__ = _DOC.format(changed=_CHANGED[scope], **words, **sizes)
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


def read_geco(path: Path, split: Split) -> list[Example]:
    """Return one example per row of a GECO file, in file order.

    A word that is only a blank is dropped with its mark. A row with one mark more than words, where
    nobody can tell which mark is too many, has no rationale.
    """
    examples, blanks, unmarked = [], 0, []
    for number, row in read_jsonl(path):
        _check_row(path, number, row)
        words, marks = row["sentence"], row["ground_truth"]
        kept = [place for place, word in enumerate(words) if word.strip()]
        blanks += len(words) - len(kept)
        is_marked = len(marks) == len(words)
        if not is_marked:
            unmarked.append(str(number))
        examples.append(
            Example(
                example_id=f"{row['sentence_idx']:04d}-{row['gender']}",
                words=tuple(words[place].strip() for place in kept),
                label=row["target"],
                group=row["gender"],
                split=split,
                match_id=f"{row['sentence_idx']:04d}",
                rationale=tuple(int(marks[place]) for place in kept) if is_marked else None,
            )
        )
    if unmarked:
        log.warning(
            "%s: %d rows have one mark more than words; kept without a rationale: lines %s",
            path,
            len(unmarked),
            ", ".join(unmarked),
        )
    if blanks:
        log.warning("%s: dropped %d words that are only a blank", path, blanks)
    return examples


def _check_row(path: Path, number: int, row: dict[str, Any]) -> None:
    where = f"{path}:{number}"
    for key, kind in _KEYS.items():
        if key not in row:
            raise InputError(f"{where}: key '{key}' is missing")
        if not isinstance(row[key], kind) or isinstance(row[key], bool):
            raise InputError(f"{where}: '{key}' must be a {kind.__name__}, found {row[key]!r}")
    if not all(isinstance(word, str) for word in row["sentence"]):
        raise InputError(f"{where}: 'sentence' must be a list of words")
    if not all(mark in (0, 1) for mark in row["ground_truth"]):
        raise InputError(f"{where}: 'ground_truth' must hold 0 and 1 only")
    if len(row["ground_truth"]) - len(row["sentence"]) not in (0, 1):
        raise InputError(
            f"{where}: {len(row['sentence'])} words but {len(row['ground_truth'])} marks"
        )


def report_oddities(name: str, examples: list[Example]) -> None:
    """Log what a user should know of the data: identical sentences and empty rationales."""
    sets = grouped(examples, lambda example: example.match_id)
    same = sum(len({m.text for m in members}) < len(members) for members in sets.values())
    if same:
        kind = "pairs" if max(map(len, sets.values())) == 2 else "sets"
        message = f"%s: %d {kind} have identical sentences, so their labels contradict; kept"
        log.warning(message, name, same)
    empty = sum(e.rationale is not None and not any(e.rationale) for e in examples)
    if empty:
        log.warning("%s: %d rows have an empty rationale; kept", name, empty)


for _id in _DIGESTS:
    _register(_id)
