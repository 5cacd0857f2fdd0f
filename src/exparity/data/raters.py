"""Words that people marked, each person by himself: a long table, or what a dataset brings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from exparity.core.errors import InputError, name_list, shown
from exparity.core.validation import DISTINCT, Settings
from exparity.data._names import id_of, is_empty, is_missing, name_of
from exparity.data._rows import marks_in, read_rows, require_file
from exparity.data.facts import Marking
from exparity.types import Example

Form = Literal["marks", "spans", "words"]


class RaterTable(Settings):
    """A table with a row for each text and rater.

    Attributes:
        path: the file, relative to the current folder.
        groups: columns of the attributes of raters, such as age.
        text_id: column of the text's id in the dataset.
        rater: column of the rater.
        rationale: column of what the rater marked.
        form: what that is: ``marks``, a 0 or 1 for each word; ``spans``, start and end in
            characters of each part; or ``words``, the words, each wherever the text has it.
        label: column of the class that the rater gave the text, if any.
    """

    path: str
    groups: Annotated[list[str], DISTINCT]
    text_id: str = "id"
    rater: str = "rater"
    rationale: str = "rationale"
    form: Form = "marks"
    label: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        named = [self.text_id, self.rater, self.rationale, *self.groups]
        return [*named, self.label] if self.label else named

    def check(self) -> None:
        """Read the file as far as its first row."""
        require_file(Path(self.path))
        next(iter(read_rows(Path(self.path), self.columns)), None)

    def markings(self, examples: Mapping[str, Example]) -> Iterator[Marking]:
        """Yield the rows that belong to some examples, which are given by id."""
        for where, row in read_rows(Path(self.path), self.columns):
            example_id = id_of(where, self.text_id, row[self.text_id])
            rater = id_of(where, self.rater, row[self.rater])
            for column in (self.text_id, self.rater, *self.groups):
                if is_missing(row[column]):
                    raise InputError(f"{where}: {column} is empty; complete or remove the row")
            groups = {column: name_of(where, column, row[column]) for column in self.groups}
            example = example_named(where, example_id, examples)
            marks = self._marks(where, row[self.rationale], example)
            written = row[self.label] if self.label else None
            label = None
            if self.label and not is_missing(written):
                label = name_of(where, self.label, written)
            yield Marking(where, example_id, rater, groups, marks, label)

    def _marks(self, where: str, written: object, example: Example) -> list[int]:
        """Return a 0 or 1 for each word of a text; an empty cell marks none."""
        words = example.all_words
        if is_empty(written):
            return [0] * len(words)
        if self.form == "marks":
            return marks_in(where, self.rationale, written)
        if example.words_b is not None:
            raise InputError(
                f"{where}: '{example.example_id}' is a pair of texts, whose words are marked by 0 "
                "and 1 alone; write `form: marks`"
            )
        if self.form == "spans":
            return _within_spans(where, self.rationale, written, example)
        return _named_words(where, self.rationale, written, words)


def example_named(where: str, example_id: str, examples: Mapping[str, Example]) -> Example:
    """Return the example of an id; an unknown one is refused."""
    example = examples.get(example_id)
    if example is None:
        some = name_list([*examples][:3])
        raise InputError(
            f"{where}: the data have no text '{example_id}' (they have {some}, …); name the column "
            "of ids in both tables, or remove the row"
        )
    return example


def checked_markings(markings: Iterable[Marking], examples: Mapping[str, Example]) -> list[Marking]:
    """Return markings of some examples; each fits its text and the other markings.

    Raises:
        InputError: an unknown text; marks that are not one a word; a text that one rater marked
            twice; or a rater in two groups, or without one.
    """
    kept: dict[tuple[str, str], Marking] = {}
    groups_of: dict[str, Marking] = {}
    for marking in markings:
        example = example_named(marking.where, marking.example_id, examples)
        n_words = len(example.all_words)
        if len(marking.marks) != n_words:
            raise InputError(
                f"{marking.where}: {len(marking.marks)} marks for the {n_words} words of text "
                f"'{marking.example_id}'; give a 0 or 1 for each"
            )
        first = groups_of.setdefault(marking.rater, marking)
        if first.groups != marking.groups:
            raise InputError(
                f"{marking.where}: rater '{marking.rater}' is {' & '.join(marking.groups.values())}"
                f", and {' & '.join(first.groups.values())} in {first.where}; give each rater one "
                "group"
            )
        pair = (marking.example_id, marking.rater)
        if pair in kept:
            raise InputError(
                f"{marking.where}: rater '{marking.rater}' marked text '{marking.example_id}' "
                f"already in {kept[pair].where}; keep one of both rows"
            )
        kept[pair] = marking
    return list(kept.values())


def _within_spans(where: str, column: str, written: object, example: Example) -> list[int]:
    """Return which words of a single text share a character with a span."""
    text = example.parts
    assert not isinstance(text, tuple)
    try:
        edges = json.loads(written) if isinstance(written, str) else written
        if not isinstance(edges, list):
            raise ValueError
        spans = [(int(start), int(end)) for start, end in edges]
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            f"{where}: {column} must be the start and end of each part in characters, such as "
            f"[[0, 2], [5, 9]], found {shown(written)}"
        ) from None
    for start, end in spans:
        if not 0 <= start < end <= len(text.string):
            raise InputError(
                f"{where}: {column} has the span {start} to {end}, and the text of "
                f"'{example.example_id}' has the characters 0 to {len(text.string)}; give spans in "
                "it"
            )
    return [int(any(a < end and start < b for start, end in spans)) for a, b in text.spans]


def _named_words(where: str, column: str, written: object, words: Sequence[str]) -> list[int]:
    """Return which words of a text are among some."""
    named: object = written
    if isinstance(written, str):
        named = re.findall(r"[^\s,]+", written)
        if written.lstrip().startswith("["):
            with suppress(ValueError):
                named = json.loads(written)
    if not isinstance(named, list) or not all(isinstance(word, str) for word in named):
        raise InputError(
            f"{where}: {column} must be words, as a list or separated by blanks, found "
            f"{shown(written)}"
        )
    strangers = [word for word in named if word not in words]
    if strangers:
        raise InputError(
            f"{where}: {column} names '{strangers[0]}', which is no word of the text; write words "
            "as the text has them, between blanks"
        )
    return [int(word in named) for word in words]
