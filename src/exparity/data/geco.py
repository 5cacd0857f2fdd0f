"""GECO and its variants (Wilming et al. 2024): two or three genders, all words or the subject's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exparity.data import dataset
from exparity.data._known import known_facts, known_files
from exparity.data.files import DataSource, read_jsonl, read_published, split_of
from exparity.types import Example


def _register(id: str) -> None:
    """Register a published folder: pairs, or sets of three with a neutral sentence."""
    facts = known_facts(id)
    files = known_files(id)
    n_train, n_test = facts["sizes"]

    def load(source: DataSource, *, verify: bool = True) -> list[Example]:
        return read_published(source, files, read_jsonl, example_of, verify=verify)

    subject = id.endswith("subj")
    changed = "the words of the grammatical subject" if subject else "every gendered word"
    load.__doc__ = f"""GECO with {changed} changed between the sentences of a set.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not the published ones, by their SHA-256.

    Returns:
        {n_train:,} training and {n_test:,} test examples in 1,610 matched sets.
    """
    dataset(id, **facts)(load)


def example_of(row: Mapping[str, Any], part: str, number: int) -> Example:
    """Return the example in a row of a GECO file.

    A word that is only a blank is dropped with its mark. A row with one mark more than words, where
    nobody can tell which mark is too many, has no rationale.
    """
    words = row["sentence"]
    marks = row["ground_truth"]
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


for _id in ("geco_all", "geco_subj", "geco_nonbinary_all", "geco_nonbinary_subj"):
    _register(_id)
