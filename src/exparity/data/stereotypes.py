"""Stereotypes: authored pairs of sentences, one a gender stereotype, the other its counterpart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError
from exparity.data import dataset
from exparity.data._terms import pronouns_of
from exparity.data.files import DataSource, read_jsonl, shipped
from exparity.interface import Example

FOLDER = "stereotypes"
GROUPS = ("male", "female")
LABELS = ("counterpart", "stereotype")
# A change of the sentences changes this file, and so the workflow runs again what they made.
DIGESTS = {
    "stereotypes.jsonl": "d4c785d1f0c2ed023650bc38a7f3f52bb059679678beeef8fe5f9ead4388920e",
    "pairs.jsonl": "966ddade76e45325df0c125b99957cee7e6633c19b8ec46ad6c67c3a0fd1dcc5",
}
_STEREOTYPE_KEYS = ("stereotype", "family", "target", "split", "claim")
_PAIR_KEYS = ("pair", "stereotype", "frame", "text")
_SLOT = re.compile(r"\[([^\[\]|\s]+)\|([^\[\]|\s]+)\]")


@dataset(
    "stereotypes",
    attribute="gender",
    groups=GROUPS,
    labels=LABELS,
    matched=True,
    rationales=True,
    licence="MIT",
    reference="exparity's own sentences, after the recipe of Dhaini et al. 2025",
    display="Stereotypes",
    group_terms=pronouns_of(GROUPS),
)
def stereotypes(source: DataSource) -> list[Example]:
    """Sentences that express a stereotype of one gender, and the same about the other one.

    Args:
        source: not used; the sentences come with exparity.

    Returns:
        2,680 training and 670 test examples in 1,675 male/female pairs; no stereotype occurs in
        both splits.

    Raises:
        InputError: a file is missing or altered.
    """
    return read_pairs(shipped(FOLDER, DIGESTS))


def read_pairs(folder: Path) -> list[Example]:
    """Read pairs of sentences and the stereotypes that they express.

    Args:
        folder: has ``stereotypes.jsonl`` and ``pairs.jsonl``. In a pair's text, words are parted by
            blanks, and a slot ``[he|she]`` holds the male and the female word.

    Returns:
        Two examples per pair, male first, in file order. The group is the gender of the words in
        the slots; the label is 1 where that is the stereotype's target; the rationale marks slots.

    Raises:
        InputError: a malformed row; names file and line.
    """
    known = {}
    for where, row in _rows(folder / "stereotypes.jsonl", _STEREOTYPE_KEYS):
        if row["target"] not in GROUPS or row["split"] not in ("train", "test"):
            raise InputError(
                f"{where}: 'target' must be one of {', '.join(GROUPS)} and 'split' train or test"
            )
        known[row["stereotype"]] = row
    examples = []
    for where, row in _rows(folder / "pairs.jsonl", _PAIR_KEYS):
        if row["stereotype"] not in known:
            raise InputError(f"{where}: stereotypes.jsonl has no '{row['stereotype']}'")
        examples += _pair(where, row, known[row["stereotype"]])
    return examples


def _rows(path: Path, keys: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    rows = []
    for number, row in read_jsonl(path):
        wrong = [key for key in keys if not isinstance(row.get(key), str)]
        if wrong:
            raise InputError(f"{path}:{number}: '{wrong[0]}' must be a text")
        rows.append((f"{path}:{number}", row))
    return rows


def _pair(where: str, row: dict[str, Any], stereotype: dict[str, Any]) -> list[Example]:
    parts = row["text"].split(" ")
    slots = [_SLOT.fullmatch(part) for part in parts]
    if not any(slots):
        raise InputError(f"{where}: the text has no slot such as [he|she]")
    for part, slot in zip(parts, slots, strict=True):
        if slot is None and (not part.strip() or any(mark in part for mark in "[|]")):
            raise InputError(f"{where}: '{part}' is neither a word nor a slot such as [he|she]")
    return [
        Example(
            example_id=f"{row['pair']}-{group}",
            words=tuple(
                part if slot is None else slot.group(side)
                for part, slot in zip(parts, slots, strict=True)
            ),
            label=int(group == stereotype["target"]),
            group=group,
            split=stereotype["split"],
            match_id=row["pair"],
            rationale=tuple(int(slot is not None) for slot in slots),
            attributes={
                "family": stereotype["family"],
                "stereotype": stereotype["stereotype"],
                "target": stereotype["target"],
                "frame": row["frame"],
            },
        )
        for side, group in enumerate(GROUPS, start=1)
    ]
