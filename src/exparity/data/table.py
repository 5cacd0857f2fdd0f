"""The data artefact in memory: rows of a prepared dataset, and deterministic samples of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from sys import intern
from typing import NamedTuple

import pyarrow.compute as pc

from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.core.plain import as_text
from exparity.types import Example, Split, Text


@dataclass(frozen=True)
class PreparedData:
    """A prepared dataset.

    Attributes:
        dataset: id of the instance.
        examples: all examples, or those of one split; sorted by split and id.
        groups: groups in their declared order.
        labels: class names by label index.
        attribute: the protected attribute.
        labels_sorted: whether the classes are in the order of their names, for want of another.
    """

    dataset: str
    examples: tuple[Example, ...]
    groups: tuple[str, ...]
    labels: tuple[str, ...]
    attribute: str
    labels_sorted: bool = False

    @property
    def compared(self) -> dict[str, object]:
        """The groups, and what they are groups of, as artefacts name them."""
        return {"groups": list(self.groups), "attribute": self.attribute}

    def split(self, name: str) -> list[Example]:
        """Return the examples of a split, sorted by id."""
        return [example for example in self.examples if example.split == name]

    @cached_property
    def sets(self) -> Mapping[str, Sequence[Example]]:
        """The members of each matched set, sorted by split and id."""
        sets = grouped(self.examples, lambda example: example.match_id)
        return {match: members for match, members in sets.items() if match is not None}


def read_prepared(path: Path, split: str | None = None) -> PreparedData:
    """Read the data artefact."""
    table, metadata = read_artefact(path, "data")
    if split is not None:
        table = table.filter(pc.equal(table.column("split"), split))
    # Row by row in small batches: a list of all rows would be held beside the examples.
    examples = tuple(
        _example(_Row(**row)) for part in table.to_batches(1024) for row in part.to_pylist()
    )
    return PreparedData(
        dataset=metadata.ids.dataset,
        examples=examples,
        groups=tuple(metadata.groups),
        labels=tuple(metadata.labels),
        attribute=as_text(metadata["attribute"]),
        labels_sorted=bool(metadata.get("labels_sorted", False)),
    )


class _Row(NamedTuple):
    """A row of the data artefact; columns without a value in any row may be absent."""

    dataset: str
    example_id: str
    match_id: str | None
    split: Split
    text: str
    words: list[str]
    label: int
    group: str
    rationale: list[int] | None
    attributes: list[dict[str, str]]
    words_b: list[str] | None = None
    text_b: str | None = None
    spans: list[int] | None = None
    spans_b: list[int] | None = None
    units: list[int] | None = None


def _example(row: _Row) -> Example:
    return Example(
        example_id=row.example_id,
        words=tuple(map(intern, row.words)),  # few words make many texts
        label=row.label,
        group=row.group,
        split=row.split,
        match_id=row.match_id,
        rationale=None if row.rationale is None else tuple(row.rationale),
        attributes={pair["key"]: pair["value"] for pair in row.attributes},
        words_b=None if row.words_b is None else tuple(map(intern, row.words_b)),
        written=_written(row.text, row.spans, row.units),
        written_b=_written(row.text_b, row.spans_b, None),
    )


def _written(
    string: str | None, edges: Sequence[int] | None, units: Sequence[int] | None
) -> Text | None:
    """Return a text with its words; None if single blanks separate them."""
    if string is None or edges is None:
        return None
    spans = tuple(zip(edges[::2], edges[1::2], strict=True))
    return Text(string, spans, None if units is None else tuple(units))


def refuse_pairs(examples: Sequence[Example], where: str) -> None:
    """Refuse pairs of texts, where only the first text would be used."""
    pair = next((example for example in examples if example.words_b is not None), None)
    if pair is not None:
        raise InputError(
            f"{where}: example '{pair.example_id}' is a pair of texts, and only single texts are "
            "supported here; leave the dataset out"
        )


def sample(examples: Sequence[Example], size: int | None) -> list[Example]:
    """Take a deterministic sample: whole matched sets, balanced by group, in original order.

    Matched sets and examples without a set are drawn in turn, each time one of the group that has
    the fewest examples yet. Among those of the same groups, a hash of the id gives the order. A
    larger sample holds the smaller ones; one has fewer than ``size`` if the next whole set does not
    fit.
    """
    if size is None or size >= len(examples):
        return list(examples)
    chosen: set[str] = set()
    for unit in _in_turn(examples):
        if len(chosen) + len(unit) > size:
            break
        chosen.update(example.example_id for example in unit)
    return [example for example in examples if example.example_id in chosen]


def _in_turn(examples: Sequence[Example]) -> Iterator[Sequence[Example]]:
    """Yield matched sets and single examples, each time one of the group that has the fewest."""
    units = grouped(
        examples, lambda e: (e.example_id, True) if e.match_id is None else (e.match_id, False)
    )
    order = sorted(units, key=lambda key: (sha256(key[0].encode()).digest(), key[1]), reverse=True)
    queues = grouped(
        [units[key] for key in order], lambda unit: tuple(sorted({e.group for e in unit}))
    )
    drawn: Counter[str] = Counter()
    drawn_from: Counter[tuple[tuple[str, ...], str]] = Counter()
    while queues:
        fewest = min({g for groups in queues for g in groups}, key=lambda g: (drawn[g], g))
        # As many from sets of several groups as from those of one; the former first.
        chosen = min(
            (groups for groups in queues if fewest in groups),
            key=lambda groups: (drawn_from[groups, fewest], -len(groups), groups),
        )
        unit = queues[chosen].pop()
        if not queues[chosen]:
            del queues[chosen]
        drawn.update(example.group for example in unit)
        drawn_from.update((chosen, example.group) for example in unit)
        yield unit
