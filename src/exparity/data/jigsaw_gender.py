"""Jigsaw's comments on women or on men (Borkan et al. 2019, as Chen et al. 2024 take them)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path

from exparity.data import dataset
from exparity.data._known import known_facts, known_files
from exparity.data._rows import PlacedRow, csv_rows
from exparity.data.files import DataSource, read_published, split_of
from exparity.data.genders import GROUPS
from exparity.types import Example

FILES = known_files("jigsaw_gender")
AGREEMENT = "gender_agreement"
"""Attribute of a comment: the share of annotators who saw its gender mentioned, in (0.5, 1]."""


@dataset("jigsaw_gender", **known_facts("jigsaw_gender"))
def jigsaw_gender(source: DataSource, *, verify: bool = True) -> list[Example]:
    """Online comments that mention women or men, and whether they are toxic.

    Args:
        source: where the raw files lie.
        verify: refuse files whose SHA-256 is not the one expected.

    Returns:
        The comments whose shares of annotators who saw a woman and a man mentioned differ by more
        than 0.5; their group is the gender that more annotators saw, and the attribute
        ``gender_agreement`` the share of them.
    """
    return read_published(source, FILES, _rows_of, _example, verify=verify)


def _rows_of(path: Path) -> Iterator[PlacedRow]:
    """Yield the rows of a file; the test files have another name for the toxicity."""
    toxicity = "target" if path.stem == "train" else "toxicity"
    for where, row in csv_rows(path, ("id", "comment_text", toxicity, *GROUPS)):
        yield where, {**row, "toxicity": row[toxicity]}


def _example(row: Mapping[str, str], part: str, number: int) -> Example | None:
    """Return a comment that mentions one gender rather than the other, or None."""
    if not all(row[group] for group in GROUPS):  # no annotator was asked who is mentioned
        return None
    male, female = map(float, itemgetter(*GROUPS)(row))
    words = tuple(row["comment_text"].split())
    if abs(female - male) <= 0.5 or not words:
        return None
    return Example(
        example_id=row["id"],
        words=words,
        label=int(float(row["toxicity"]) > 0.5),
        group="female" if female > male else "male",
        split=split_of(part),
        attributes={AGREEMENT: repr(max(female, male))},
    )
