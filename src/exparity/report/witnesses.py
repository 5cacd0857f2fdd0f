"""Witnesses: what metrics that err in different ways say of a method, and what they agree on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.core.formats import joined
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.preference import favoured_group
from exparity.report.rows import VerdictRow
from exparity.report.verdicts import is_alike, is_gap, labels_of, names_favoured
from exparity.stats.verdicts import WITNESSES

# Words of a witness, beside the name of a group whose texts it favours.
ALIKE = "alike"
DIFFER = "differ"
PARTED = "its metrics disagree"
UNDECIDED = labels_of("open")
NOT_TESTED = "not tested"
NOT_ASKED = "–"
_OPEN = (UNDECIDED, NOT_TESTED, NOT_ASKED)
_MOST_NAMED = 4
"""Most methods that are named; of more, the sentence gives the number."""


@dataclass(frozen=True)
class WitnessTable:
    """Verdicts of the witnesses on the methods, for one dataset and model.

    Attributes:
        place: dataset, and model where there are several.
        witnesses: those that tested some method, the headline first.
        words: the word of each of them, by the name of the method.
        metrics: names of the metrics of each, by witness.
    """

    place: str
    witnesses: Sequence[str]
    words: Mapping[str, Sequence[str]]
    metrics: Mapping[str, str]

    def sentence(self) -> str:
        """Return on which methods they agree, and on which they differ."""
        agreed: dict[str, list[str]] = {}
        parted: dict[str, list[str]] = {}
        waiting: list[str] = []
        for method, words in self.words.items():
            decided = {word for word in words if word not in _OPEN}
            if len(decided) > 1 or PARTED in decided:
                parted.setdefault(self._answers_on(method), []).append(method)
            elif decided and UNDECIDED not in words and NOT_TESTED not in words:
                agreed.setdefault(decided.pop(), []).append(method)
            else:
                waiting.append(method)
        parts = [
            f"agree that {_claim(word)} with {_named(methods)}" for word, methods in agreed.items()
        ]
        parts += [
            f"disagree about {_named(methods)} ({answers})" for answers, methods in parted.items()
        ]
        if waiting:
            parts.append(f"leave {_named(waiting)} open, since not all of them decide")
        return f"On {self.place}, {joined(self.witnesses)} {'; they '.join(parts)}."

    def _answers_on(self, method: str) -> str:
        answers = zip(self.witnesses, self.words[method], strict=True)
        return ", ".join(f"{witness}: {word}" for witness, word in answers if word != NOT_ASKED)


def witness_tables(study: Study) -> list[WitnessTable]:
    """Return what witnesses say of each dataset and model that more than one of them judged."""
    rows = [row for row in study.standing if row.witness]
    places = grouped(rows, attrgetter("dataset", "model"))
    tables = [_table(study, place, members) for place, members in places.items()]
    return [table for table in tables if len(table.witnesses) > 1]


def _table(study: Study, place: tuple[str, str], rows: Sequence[VerdictRow]) -> WitnessTable:
    tested = {row.witness for row in rows if row.verdict}
    witnesses = [witness for witness in WITNESSES.values() if witness in tested]
    words = {
        study.display("method", method): [*_words(members, witnesses)]
        for method, members in grouped(rows, attrgetter("method")).items()
    }
    metrics = {
        witness: joined(study.metric_names(answering))
        for witness, answering in grouped(rows, attrgetter("witness")).items()
    }
    return WitnessTable(study.place(*place), witnesses, words, metrics)


def _words(rows: Sequence[VerdictRow], witnesses: Collection[str]) -> Iterator[str]:
    """Yield the word of each witness on a method."""
    by_witness = grouped(rows, attrgetter("witness"))
    for witness in witnesses:
        yield _word(by_witness.get(witness, ()))


def _word(rows: Sequence[VerdictRow]) -> str:
    """Return what rows of one witness say together: a gap counts if any of them shows it."""
    if not rows:
        return NOT_ASKED
    tested = [row for row in rows if row.verdict]
    gaps = [row for row in tested if is_gap(row)]
    pairs = {row.groups for row in rows}
    if gaps:
        sides = {favoured_group(row) for row in gaps if names_favoured(row)}
        is_sided = len(pairs) == 1 and len(sides) == 1
        if len(pairs) == 1 and len(sides) > 1:
            return PARTED
        return (sides.pop() if is_sided else None) or DIFFER
    if not tested:
        return NOT_TESTED
    return ALIKE if len(tested) == len(rows) and all(map(is_alike, tested)) else UNDECIDED


def _claim(word: str) -> str:
    if word == ALIKE:
        return "groups are alike"
    return "groups differ" if word == DIFFER else f"{word} texts fare better"


def _named(methods: Sequence[str]) -> str:
    return joined(methods) if len(methods) <= _MOST_NAMED else f"{len(methods)} methods"
