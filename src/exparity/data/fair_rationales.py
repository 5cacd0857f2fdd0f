"""Sentences whose sentiment raters of six groups gave reasons for (Thorn Jakobsen et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from exparity.core.flags import Count
from exparity.core.grouping import grouped
from exparity.data import dataset
from exparity.data._known import known_facts, known_files, known_labels
from exparity.data._rows import csv_rows, marks_in
from exparity.data.facts import Marking
from exparity.data.files import DataSource, published_row
from exparity.data.sst import sst
from exparity.data.table import sample
from exparity.types import Example

FILES = known_files("fair_rationales")
_FACTS = known_facts("fair_rationales")
LABELS = known_labels("fair_rationales")
Corpus = Literal["sst", "dynasent"]
GROUPS = {
    f"{first}{second}": {"age": age, "ethnicity": ethnicity}
    for first, ethnicity in {"B": "Black", "L": "Latino", "W": "white"}.items()
    for second, age in {"O": "38+", "Y": "under 38"}.items()
}


@dataclass(frozen=True)
class _Answer:
    """Cells of an answer: of one rater to one text."""

    where: str
    text_id: str
    sentence: str
    original_label: str
    label: str
    rationale_binary: str
    group_id: str
    annotator_ID: str

    @property
    def marks(self) -> list[int]:
        """A 0 or 1 for each word."""
        return marks_in(self.where, "rationale_binary", self.rationale_binary)

    @property
    def example_id(self) -> str:
        """The text's id."""
        return f"text-{int(self.text_id):04d}"

    @property
    def marking(self) -> Marking:
        """What the rater marked, his group, and the label that he gave."""
        with published_row(self.where):
            groups = dict(GROUPS[self.group_id])
        return Marking(
            self.where, self.example_id, self.annotator_ID, groups, self.marks, self.label
        )


def _answers(source: DataSource, corpus: Corpus, *, verify: bool) -> Iterator[_Answer]:
    """Yield the answers of a corpus."""
    columns = [field.name for field in fields(_Answer) if field.name != "where"]
    for where, row in csv_rows(source.find(FILES[corpus], verify=verify), columns):
        yield _Answer(where, **row)


def _markings(
    source: DataSource,
    examples: Mapping[str, Example],
    *,
    corpus: Corpus,
    verify: bool,
    **others: object,
) -> Iterator[Marking]:
    """Yield what each rater marked."""
    return (answer.marking for answer in _answers(source, corpus, verify=verify))


@dataset("fair_rationales", **_FACTS, markings=_markings)
def fair_rationales(
    source: DataSource,
    *,
    corpus: Corpus = "sst",
    n_train: Count | None = None,
    verify: bool = True,
) -> list[Example]:
    """Sentences that people of two ages and three ethnicities labelled, and marked words of.

    Args:
        source: where the raw files lie or go.
        corpus: where the sentences come from: reviews of films (``sst``), or DynaSent
            (``dynasent``).
        n_train: sentences to train on, a sample of those of the Stanford Sentiment Treebank that
            are none of the marked ones; all if None.
        verify: refuse files whose published SHA-256 is not known, and altered ones; set it to false
            once you have compared them.

    Returns:
        One test example a marked sentence, of no group, with the label of the data. Of its
        rationale are the words that more than half of the raters marked who gave that label.
    """
    by_text = grouped(_answers(source, corpus, verify=verify), lambda answer: answer.text_id)
    tests = [_example(answers) for answers in by_text.values()]
    test_letters = {_letters(example.text) for example in tests}
    training = [
        example
        for example in sst(source, verify=verify)
        if example.split == "train" and _letters(example.text) not in test_letters
    ]
    # The published order is by class, as far as the first thousands go.
    return [*tests, *sample(training, n_train)]


def _letters(text: str) -> str:
    """Return a text without blanks and signs, in which copies of it differ."""
    return "".join(sign for sign in text.lower() if sign.isalnum())


def _example(answers: Sequence[_Answer]) -> Example:
    """Return a sentence with the words that most of those marked who agree with its label."""
    first = answers[0]
    label = first.original_label
    agreeing = [answer.marks for answer in answers if answer.label == label]
    with published_row(first.where):
        votes = [sum(word_marks) for word_marks in zip(*agreeing, strict=True)]
        marks = tuple(int(2 * count > len(agreeing)) for count in votes)
        return Example(
            example_id=first.example_id,
            words=tuple(first.sentence.split()),
            label=LABELS.index(label),
            group="",
            split="test",
            rationale=marks if any(marks) else None,
        )
