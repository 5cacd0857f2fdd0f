"""Stereotypes: authored pairs of sentences, one a gender stereotype, the other its counterpart."""

from __future__ import annotations

import re
from typing import NamedTuple

from exparity.data import dataset
from exparity.data._known import known_facts
from exparity.data.files import DataSource, read_jsonl
from exparity.data.genders import GROUPS
from exparity.resources import shipped
from exparity.types import Example, Split

_SLOT = re.compile(r"\[([^\[\]|\s]+)\|([^\[\]|\s]+)\]")


class _Stereotype(NamedTuple):
    """A stereotype, and the split of its sentences."""

    stereotype: str
    family: str
    target: str
    split: Split
    claim: str


class _Pair(NamedTuple):
    """Two sentences, as one text with slots ``[male|female]``."""

    pair: str
    stereotype: str
    frame: str
    text: str


@dataset("stereotypes", **known_facts("stereotypes"))
def stereotypes(source: DataSource) -> list[Example]:
    """Sentences that express a stereotype of one gender, and the same about the other one.

    Args:
        source: not used; the sentences come with exparity.

    Returns:
        2,680 training and 670 test examples in 1,675 male/female pairs; no stereotype occurs in
        both splits. The group is the gender of the words in the slots, which the rationale marks;
        the label is 1 if it is the gender that the stereotype is about.
    """
    rows = read_jsonl(shipped("stereotypes/stereotypes.jsonl"))
    stereotype_by_id = {row["stereotype"]: _Stereotype(**row) for _, row in rows}
    examples = []
    for _, row in read_jsonl(shipped("stereotypes/pairs.jsonl")):
        pair = _Pair(**row)
        stereotype = stereotype_by_id[pair.stereotype]
        slots = [_SLOT.fullmatch(part) for part in pair.text.split(" ")]
        examples += [
            Example(
                example_id=f"{pair.pair}-{group}",
                words=tuple(_SLOT.sub(rf"\{side}", pair.text).split(" ")),
                label=int(group == stereotype.target),
                group=group,
                split=stereotype.split,
                match_id=pair.pair,
                rationale=tuple(int(slot is not None) for slot in slots),
                attributes={
                    "family": stereotype.family,
                    "stereotype": stereotype.stereotype,
                    "target": stereotype.target,
                    "frame": pair.frame,
                },
            )
            for side, group in enumerate(GROUPS, start=1)
        ]
    return examples
