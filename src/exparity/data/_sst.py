"""Trees of the Stanford Sentiment Treebank (Socher et al. 2013): sentences with rated phrases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exparity.core.errors import InputError
from exparity.data.facts import RemoteFile
from exparity.data.files import DataSource, published_parts
from exparity.types import Example

FILES = {
    part: RemoteFile(
        path=f"sst/{part}.txt",
        url="https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
        sha256=digest,
        member=f"trees/{part}.txt",
    )
    for part, digest in (
        ("train", "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7"),
        ("dev", "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40"),
        ("test", "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761"),
    )
}
RATINGS = ("very_negative", "negative", "neutral", "positive", "very_positive")
NEUTRAL = RATINGS.index("neutral")
LABELS = ("negative", "positive")
Classes = Literal["two", "five"]
_BRACKETS = {"-LRB-": "(", "-RRB-": ")"}
_TOKEN = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True)
class Phrase:
    """A rated part of a sentence."""

    start: int  # index of its first word
    stop: int  # index after its last word
    rating: int  # index into ``RATINGS``


@dataclass(frozen=True)
class Sentence:
    """A sentence with its rated phrases."""

    number: int  # its line in the file, from 1
    words: tuple[str, ...]  # brackets and slashes as they are written in English
    # every phrase after those that it is made of; the sentence itself comes last
    phrases: tuple[Phrase, ...]

    @property
    def rating(self) -> int:
        """Rating of the sentence as a whole."""
        return self.phrases[-1].rating

    def example(
        self, part: str, classes: Classes, group: str, rationale: tuple[int, ...] | None = None
    ) -> Example:
        """Return it as an example of the part that it is published in."""
        return Example(
            example_id=f"{part}-{self.number:04d}",
            words=self.words,
            label=int(self.rating > NEUTRAL) if classes == "two" else self.rating,
            group=group,
            split="test" if part == "test" else "train",
            rationale=rationale,
        )


def sentences_of(
    source: DataSource, classes: Classes, *, dev: bool, verify: bool
) -> Iterator[tuple[str, Sentence]]:
    """Yield part and sentence of all that have a class."""
    for part, _, path in published_parts(source, FILES, verify=verify, held_out=dev):
        for sentence in read_sentences(path):
            if classes == "five" or sentence.rating != NEUTRAL:
                yield part, sentence


def read_sentences(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a file of trees, one a line: ``(3 (2 A) (4 (3 good) (2 film)))``."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason})") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            words, phrases = _parse(f"{path}:{number}", line)
            yield Sentence(number, tuple(words), tuple(phrases))


def _parse(where: str, line: str) -> tuple[list[str], list[Phrase]]:
    words: list[str] = []
    phrases: list[Phrase] = []
    opened: list[tuple[int, int]] = []  # first word and rating of the phrases not yet closed
    tokens = iter(_TOKEN.findall(line))
    for token in tokens:
        if token == "(" and (opened or not phrases):
            rating = next(tokens, "")
            if rating not in ("0", "1", "2", "3", "4"):
                raise InputError(f"{where}: a phrase is rated '{rating}', and not 0 to 4")
            opened.append((len(words), int(rating)))
        elif token == ")" and opened and opened[-1][0] < len(words):
            start, value = opened.pop()
            phrases.append(Phrase(start, len(words), value))
        elif token not in "()" and opened:
            words.append(_BRACKETS.get(token, token).replace("\\", ""))
        else:
            raise InputError(f"{where}: not a tree (a bracket too few, too many, or empty)")
    if opened:
        raise InputError(f"{where}: not a tree (a bracket too few, too many, or empty)")
    return words, phrases
