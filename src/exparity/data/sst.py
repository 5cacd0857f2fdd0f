"""Stanford Sentiment Treebank (Socher et al. 2013): rationales of its phrases, or by gender."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from exparity.artefacts.lineage import sha256_of
from exparity.data import dataset
from exparity.data._known import known_facts, known_files
from exparity.data.files import DataSource, placed_lines, read_published, split_of
from exparity.data.genders import GROUPS, read_lexicon
from exparity.resources import shipped
from exparity.types import Example

FILES = known_files("sst")
NEUTRAL = 2
_BRACKETS = {"-LRB-": "(", "-RRB-": ")"}
LEXICON = shipped("gender_words/lexicon.yaml")
_PART = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"\(|\)|[^\s()]+")


class Phrase(NamedTuple):
    """A rated part of a sentence."""

    start: int  # index of its first word
    stop: int  # index after its last word
    rating: int  # 0, very negative, to 4, very positive


class Sentence(NamedTuple):
    """A sentence with its rated phrases."""

    words: tuple[str, ...]  # brackets and slashes as they are written in English
    # every phrase after those that it is made of; the sentence itself comes last
    phrases: tuple[Phrase, ...]


@dataset("sst", **known_facts("sst"))
def sst(source: DataSource, *, verify: bool = True) -> list[Example]:
    """Sentences of film reviews, with the phrases that are rated more strongly than their parts.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not the ones known, by their SHA-256.

    Returns:
        One example a sentence, of no group, labelled by its rating as a whole.
    """
    return _examples(source, None, verify=verify)


@dataset("sst_gender", **known_facts("sst_gender"))
def sst_gender(source: DataSource, *, verify: bool = True) -> list[Example]:
    """Sentences of film reviews with more words of one gender than of the other.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not the ones known, by their SHA-256.

    Returns:
        One example a sentence, labelled by its rating as a whole.
    """
    return _examples(source, gender_named, verify=verify)


def _examples(
    source: DataSource,
    group_of: Callable[[Sequence[str]], str | None] | None,
    *,
    verify: bool,
) -> list[Example]:
    """Return the sentences of a group that are not neutral as a whole, or all with rationales."""
    digests = tuple(sha256_of(source.fetch(file)) for file in FILES.values())
    return [*_examples_of_files(source, digests, group_of, verify=verify)]


@lru_cache(maxsize=1)  # a plan asks for them several times, which takes three seconds each
def _examples_of_files(
    source: DataSource,
    digests: tuple[str, ...],
    group_of: Callable[[Sequence[str]], str | None] | None,
    *,
    verify: bool,
) -> tuple[Example, ...]:
    """Read the sentences of the files that have these digests."""

    def example_of(line: str, part: str, number: int) -> Example | None:
        words, phrases = read_tree(line)
        rating = phrases[-1].rating
        group = group_of(words) if group_of else ""
        if rating == NEUTRAL or group is None:
            return None
        return Example(
            example_id=f"{part}-{number:04d}",
            words=words,
            label=int(rating > NEUTRAL),
            group=group,
            split=split_of(part),
            rationale=None if group_of else rationale_of(phrases),
        )

    return tuple(read_published(source, FILES, placed_lines, example_of, verify=verify))


def read_tree(line: str) -> Sentence:
    """Return the sentence of a tree: ``(3 (2 A) (4 (3 good) (2 film)))``."""
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
    return Sentence(tuple(words), tuple(phrases))


def rationale_of(phrases: Sequence[Phrase]) -> tuple[int, ...]:
    """Mark (0/1) the words of every phrase further from neutral than all phrases within it.

    A single word is one where it is not neutral. Carton et al. (2020), and ferret after them, go
    from the sentence down to the first such phrases; these hold the same words.
    """
    marks = [0] * phrases[-1].stop
    open_phrases: list[tuple[int, int]] = []  # start, and largest strength of it and within it
    for phrase in phrases:
        within = 0
        while open_phrases and open_phrases[-1][0] >= phrase.start:
            within = max(within, open_phrases.pop()[1])
        strength = abs(phrase.rating - NEUTRAL)
        if strength > within:
            marks[phrase.start : phrase.stop] = [1] * (phrase.stop - phrase.start)
        open_phrases.append((phrase.start, max(strength, within)))
    return tuple(marks)


def gender_named(words: Iterable[str]) -> str | None:
    """Return the gender that more words name; None if neither.

    A word counts beside other characters, too: ``she's``, ``(his``, ``mother-in-law``.
    """
    parts = [part for word in words for part in _PART.findall(word.lower())]
    telling = read_lexicon(LEXICON).telling
    counts = {gender: sum(part in telling[gender] for part in parts) for gender in GROUPS}
    if len(set(counts.values())) == 1:
        return None
    return max(GROUPS, key=counts.__getitem__)
