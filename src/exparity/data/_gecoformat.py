"""The row format of GECO: one sentence of a matched set, pre-tokenised, with ground truth."""

from __future__ import annotations

import logging
from collections import defaultdict
from pathlib import Path
from typing import Any, Literal

from exparity.core.errors import InputError
from exparity.data.files import read_jsonl
from exparity.interface import Example

log = logging.getLogger(__name__)

GROUPS = ("male", "female")
LABELS = ("female", "male")
_KEYS = {
    "sentence": list,
    "ground_truth": list,
    "gender": str,
    "target": int,
    "sentence_idx": int,
}


def read_geco(path: Path, split: Literal["train", "test"]) -> list[Example]:
    """Read a GECO file.

    Words are stripped of stray blanks; a word that is only a blank is dropped with its mark.

    Args:
        path: a JSONL file of rows ``{sentence, ground_truth, gender, target, sentence_idx}``.
        split: the split that the file holds.

    Returns:
        One example per row, in file order.

    Raises:
        InputError: a malformed row; names file and line.
    """
    examples, blanks = [], 0
    for number, row in read_jsonl(path):
        _check_row(path, number, row)
        pairs = list(zip(row["sentence"], row["ground_truth"], strict=True))
        kept = [(word.strip(), int(mark)) for word, mark in pairs if word.strip()]
        blanks += len(pairs) - len(kept)
        examples.append(
            Example(
                example_id=f"{row['sentence_idx']:04d}-{row['gender']}",
                words=tuple(word for word, _ in kept),
                label=row["target"],
                group=row["gender"],
                split=split,
                match_id=f"{row['sentence_idx']:04d}",
                rationale=tuple(mark for _, mark in kept),
            )
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
    if len(row["sentence"]) != len(row["ground_truth"]):
        raise InputError(
            f"{where}: {len(row['sentence'])} words but {len(row['ground_truth'])} marks"
        )


def report_oddities(name: str, examples: list[Example]) -> None:
    """Log what a user should know of the data: identical sentences and empty rationales."""
    sets = defaultdict(list)
    for example in examples:
        sets[example.match_id].append(example)
    same = sum(len({m.text for m in members}) < len(members) for members in sets.values())
    if same:
        kind = "pairs" if max(map(len, sets.values())) == 2 else "sets"
        message = f"%s: %d {kind} have identical sentences, so their labels contradict; kept"
        log.warning(message, name, same)
    empty = sum(e.rationale is not None and not any(e.rationale) for e in examples)
    if empty:
        log.warning("%s: %d rows have an empty rationale; kept", name, empty)
