"""GECO and its variants (Wilming et al. 2024): two or three genders, all words or the subject's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exparity.artefacts.columns import records
from exparity.core.plain import as_int, as_list
from exparity.data import dataset
from exparity.data._known import known_facts, known_files
from exparity.data.files import DataSource, read_jsonl, read_published, split_of
from exparity.types import Example


def _register(name: str) -> None:
    """Register a published folder: pairs, or sets of three with a neutral sentence."""
    facts = known_facts(name)
    files = known_files(name)
    n_train, n_test = map(as_int, as_list(facts["sizes"]))

    def load(source: DataSource, *, verify: bool = True) -> list[Example]:
        return read_published(source, files, read_jsonl, example_of, verify=verify)

    subject = name.endswith("subj")
    changed = "the words of the grammatical subject" if subject else "every gendered word"
    load.__doc__ = f"""GECO with {changed} changed between the sentences of a set.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not the published ones, by their SHA-256.

    Returns:
        {n_train:,} training and {n_test:,} test examples in 1,610 matched sets.
    """
    dataset(name, **facts)(load)


@dataclass(frozen=True)
class _Sentence:
    """A row of a GECO file."""

    sentence_idx: int
    gender: str
    target: int
    sentence: list[str]
    ground_truth: list[float]


def example_of(row: Mapping[str, object], part: str, number: int) -> Example:
    """Return the example in a row of a GECO file.

    A word that is only a blank is dropped with its mark. A row with one mark more than words, where
    nobody can tell which mark is too many, has no rationale.
    """
    (sentence,) = records(_Sentence, [row])
    words = sentence.sentence
    marks = sentence.ground_truth
    match = f"{sentence.sentence_idx:04d}"
    rationale = None
    if len(marks) != len(words) + 1:
        pairs = zip(words, marks, strict=True)
        rationale = tuple(int(mark) for word, mark in pairs if word.strip())
    return Example(
        example_id=f"{match}-{sentence.gender}",
        words=tuple(word.strip() for word in words if word.strip()),
        label=sentence.target,
        group=sentence.gender,
        split=split_of(part),
        match_id=match,
        rationale=rationale,
    )


for _id in ("geco_all", "geco_subj", "geco_nonbinary_all", "geco_nonbinary_subj"):
    _register(_id)
