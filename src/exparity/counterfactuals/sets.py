"""Matched sets from one text: a text for each group, and the words in which they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from exparity.core.errors import InputError
from exparity.counterfactuals import GENERATORS, changed_words, counterfactuals_of
from exparity.counterfactuals._text import tokens_of
from exparity.data.sentences import group_names
from exparity.data.table import PreparedData
from exparity.types import Example, Text

Changes = Literal["all", "subject"]
"""Words that differ between the texts of a set: all that tell a group, or the subject's."""
_OF_SUBJECT = frozenset(("he", "she", "his", "himself", "herself"))


class MatchedSet(NamedTuple):
    """What became of a text.

    Attributes:
        members: the text of each group, in the order of the groups, each with the words marked that
            another member does not have; empty if there is no such set.
        reason: why there is none.
    """

    members: tuple[Example, ...]
    reason: str = ""


@dataclass(frozen=True)
class SetMaker:
    """What makes a matched set of a text.

    Attributes:
        groups: the groups, one text each.
        changes: which words differ between the texts of a set.
        make: makes the counterfactuals of an example, with the words of all groups set to one.
    """

    groups: tuple[str, ...]
    changes: Changes
    make: Callable[[Example], tuple[Example, ...]]

    def __call__(self, text: Text) -> MatchedSet:
        """Return the matched set of a text."""
        written = None if text.is_plain else text
        original = Example("", text.words, 0, self.groups[0], "test", written=written)
        # No counterfactual is made of a text's own group, so that the first is made from another.
        starts = [replace(original, group=group) for group in self.groups[:2]]
        others = [{other.group: other for other in self.make(start)} for start in starts]
        by_group = others[0] | others[1]
        if len(by_group) < len(self.groups):
            return MatchedSet((), "without a counterfactual")
        members = [by_group[group] for group in self.groups]
        if self.changes == "subject":
            if len({len(member.words) for member in members}) > 1:
                return MatchedSet((), "whose groups have other numbers of words")
            members = _of_subject(original, members)
        if len({member.words for member in members}) < len(members):
            return MatchedSet((), "in which no word tells the groups apart")
        marks = [_marks(member, members) for member in members]
        if not all(map(any, marks)):
            return MatchedSet((), "to which a group adds words alone")
        pairs = zip(members, marks, strict=True)
        return MatchedSet(
            tuple(replace(member, rationale=rationale) for member, rationale in pairs)
        )


def set_maker(
    use: str,
    params: Mapping[str, object],
    groups: Sequence[str] = (),
    changes: Changes = "all",
) -> SetMaker:
    """Return what makes matched sets by a generator.

    Args:
        use: id of the generator, which needs the option ``mode``.
        params: its options but ``mode``.
        groups: the groups; those that the generator makes if empty.
        changes: ``all`` words that tell a group, or those of the ``subject``: the first of them,
            and later ones of the same gender that are *he*, *she*, *his*, *her* before a noun,
            *himself* or *herself*.

    Raises:
        InputError: an unknown generator or option, one that does not fit the groups, or fewer than
            two groups.
    """
    entry = GENERATORS.get(use)
    if "mode" not in entry.options.model_fields:
        raise InputError(
            f"--use: '{use}' cannot set the words of a text to a group; take a generator with the "
            "option 'mode', such as gender_words or word_pairs"
        )
    if "mode" in params:
        raise InputError("--param: 'mode' is always 'set' here; leave it out")
    chosen = group_names("--groups", tuple(groups) or entry.facts.groups)
    data = PreparedData("", (), chosen, chosen, "group")
    options = {**params, "mode": "set"}
    return SetMaker(chosen, changes, counterfactuals_of(data, use, options, "generate"))


def _marks(member: Example, members: Sequence[Example]) -> tuple[int, ...]:
    """Mark the words of a member that another one does not have."""
    changed = [changed_words(member.words, other.words) for other in members if other != member]
    return tuple(np.any(changed, axis=0).astype(int).tolist())


def _of_subject(original: Example, members: Sequence[Example]) -> list[Example]:
    """Return members that differ in the words of the grammatical subject alone."""
    columns = list(zip(*(member.words for member in members), strict=True))
    places = [place for place, words in enumerate(columns) if len(set(words)) > 1]
    if not places:
        return list(members)
    first = places[0]
    owners = [member for member in members if member.words[first] == original.words[first]]
    chosen = {first}
    for place in places[1:]:
        is_of_gender = original.words[place] in {owner.words[place] for owner in owners}
        if is_of_gender and _may_be_subject(original.words[place], columns[place]):
            chosen.add(place)
    subjects = []
    for member in members:
        pairs = enumerate(zip(original.words, member.words, strict=True))
        words = tuple(new if place in chosen else old for place, (old, new) in pairs)
        subjects.append(replace(original, words=words, group=member.group))
    return subjects


def _may_be_subject(word: str, forms: Sequence[str]) -> bool:
    """Return whether a word, which has these forms, may speak of the subject of its sentence."""
    tokens = {token.lower for token in tokens_of([word])}
    owns = "her" in tokens and any(token.lower == "his" for token in tokens_of(forms))
    return owns or bool(tokens & _OF_SUBJECT)
