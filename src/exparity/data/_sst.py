"""Trees of the Stanford Sentiment Treebank (Socher et al. 2013): sentences with rated phrases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exparity.data.facts import RemoteFile
from exparity.data.files import DataSource, published_parts, published_row, text_lines
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
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            with published_row(f"{path}:{number}"):
                words, phrases = _parse(line)
            yield Sentence(number, tuple(words), tuple(phrases))


def _parse(line: str) -> tuple[list[str], list[Phrase]]:
    words: list[str] = []
    phrases: list[Phrase] = []
    opened: list[tuple[int, int]] = []  # first word and rating of the phrases not yet closed
    tokens = iter(_TOKEN.findall(line))
    for token in tokens:
        if token == "(":
            opened.append((len(words), int(next(tokens, ""))))
        elif token == ")":
            start, rating = opened.pop()
            phrases.append(Phrase(start, len(words), rating))
        else:
            words.append(_BRACKETS.get(token, token).replace("\\", ""))
    if opened or not phrases or phrases[-1].start > 0:
        raise ValueError("not a tree")
    return words, phrases
