"""Tabulate which witness is right where, by simulation.

Usage: python benchmarks/witnesses.py [--runs N] [--texts N] [--rows TEXT ...] [--write PAGE]

Two groups differ in one thing. Explanations are each word's weight and an error in proportion to
the weights of a text: 0.7 in both groups where their quality is equal, 4 in the second one where it
is worse there, and 1.5 in the first one where it is a little worse there. Forward simulation,
removal (skill) and rationales see the closed forms of ``skill.py``, in five trainings;
communication sees the texts of ``communication.py``, in one, with one draw of random words. People
mark the words that count; the agreement is ``rationale_auprc``, in excess over words in random
order.

Entries are a word, and the percentages of runs that call the explanations of the first and of the
second group worse. Of equal quality, a witness is *wrong* if more than 8 % of runs name a group:
5 % and two standard errors of 200 runs. Of worse quality, it is *right* if 80 % name the group and
at most 8 % the other one, and *silent* if fewer do. One that raises ``texts_not_comparable`` in
most runs is silent, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import communication as reader
import numpy as np
from closed_forms import Group, drawn
from planted import RELATIVE, Setting, relative
from shared import markdown, write_between_marks
from skill import GAPS, Judged, judged_foresight, judged_scores, judged_skill, one_run

from exparity.metrics import METRICS
from exparity.types import FloatArray

RIGHT, SILENT, WRONG = "right", "silent", "wrong"
MOST_WRONG, LEAST_SHOWN = 8.0, 80.0
_AGREEMENT = METRICS.get("rationale_auprc")
_RUNS_OF_CEILINGS = 2
_NOT_COMPARABLE = "texts_not_comparable"
_SHOWN_FLAGS = (_NOT_COMPARABLE, "ceilings_differ", "room_differs", "depends_on_scale")


class Quality(NamedTuple):
    """How good the explanations of two groups are.

    Attributes:
        name: in words.
        worse: the group whose explanations are worse.
        errors: of both groups.
    """

    name: str
    worse: Literal["none", "first", "second"]
    errors: tuple[float, float]


QUALITIES = (
    Quality("equal", "none", (0.7, 0.7)),
    Quality("second worse", "second", (0.7, 4.0)),
    Quality("first a little worse", "first", (1.5, 0.7)),
)


@dataclass(frozen=True)
class Difference:
    """What differs between two groups, beside the quality of their explanations.

    Attributes:
        name: in words, of the second group.
        first, second: groups in closed form.
        messages: both groups as a reader sees them.
        misread: share of the texts of the second group in which people mark other words.
    """

    name: str
    first: Group = RELATIVE
    second: Group = RELATIVE
    messages: tuple[reader.Group, reader.Group] = (reader.PLAIN, reader.PLAIN)
    misread: float = 0.0


DIFFERENCES = (
    Difference("nothing else"),
    Difference(
        "sure without words",
        second=relative(base=4),
        messages=(reader.PLAIN, reader.Group(unsaid=2.0)),
    ),
    Difference(
        "twice as sure",
        second=relative(temperature=0.5),
        messages=(reader.PLAIN, reader.Group(certainty=2.0)),
    ),
    Difference(
        "length 12 / 24",
        relative(n=12),
        relative(n=24),
        (reader.Group(n=12), reader.Group(n=24)),
    ),
    Difference(
        "2 / 5 words that count",
        relative(words=2),
        relative(words=5),
        (reader.PLAIN, reader.Group(telling=5)),
    ),
    Difference(
        "either of two words is enough",
        second=relative(form="either"),
        messages=(reader.PLAIN, reader.Group(redundant=True)),
    ),
    Difference("people mark other words in 3 of 10 texts", misread=0.3),
)


class Said(NamedTuple):
    """What a witness says in the runs of a row.

    Attributes:
        first, second: percentages of runs that call the group's explanations worse.
        flags: those that most runs raise.
    """

    first: float
    second: float
    flags: Sequence[str] = ()

    def word(self, worse: Literal["none", "first", "second"]) -> str:
        """Return whether it is right."""
        if _NOT_COMPARABLE in self.flags:
            return SILENT
        if worse == "none":
            return WRONG if self.first + self.second > MOST_WRONG else RIGHT
        is_first = worse == "first"
        named = self.first if is_first else self.second
        other = self.second if is_first else self.first
        if other > MOST_WRONG:
            return WRONG
        return RIGHT if named >= LEAST_SHOWN else SILENT


def of_verdicts(judged: Judged) -> Said:
    """Return what a witness says by the product's verdicts."""
    is_gap = np.array([row["verdict"] in GAPS for row in judged.verdicts])
    d = np.array([row["d"] for row in judged.verdicts])
    raised = [flag for row in judged.verdicts for flag in set(row["flags"])]
    flags = [flag for flag in _SHOWN_FLAGS if raised.count(flag) > len(judged.verdicts) / 2]
    # The first group minus the second is above 0 where the second one is worse.
    return Said(_percent(is_gap & (d < 0)), _percent(is_gap & (d > 0)), flags)


def _percent(values: Any) -> float:
    return 100 * float(np.mean(values))


@cache
def of_readers(
    messages: tuple[reader.Group, reader.Group],
    qualities: tuple[Quality, ...],
    runs: int,
    n_texts: int,
) -> Mapping[Quality, Said]:
    """Return what communication says: a skill that differs on both ways; texts are shared."""
    rng = np.random.default_rng([3, runs])
    gaps = {quality: np.zeros(runs) for quality in qualities}
    for number in range(runs):
        study = reader.study_of(messages, n_texts, rng, draws=1)
        for quality, signs in gaps.items():
            test = reader.compared(study, quality.errors).both
            if test.p_mean <= reader.ALPHA:
                signs[number] = np.sign(test.estimate)
    return {
        quality: Said(_percent(signs < 0), _percent(signs > 0)) for quality, signs in gaps.items()
    }


def excess_of(
    group: Group, trainings: int, n_texts: int, misread: float, rng: np.random.Generator
) -> FloatArray:
    """Return (s, t) agreement with the words that count, above that of words in random order."""
    texts = drawn(group, trainings, n_texts, rng)
    marks = texts.weights.mean(axis=0) > group.weight / 2
    is_misread = rng.random((n_texts, 1)) < misread
    marks = np.where(is_misread, rng.permuted(marks, axis=1), marks)
    words = np.ones_like(marks)
    scores = [_AGREEMENT.function(np.abs(shown), marks, words) for shown in texts.shown]
    assert _AGREEMENT.facts.at_random is not None
    return np.array(scores) - _AGREEMENT.facts.at_random(words.sum(axis=1), marks.sum(axis=1))


def of_classifiers(
    difference: Difference, quality: Quality, runs: int, n_texts: int, rng: np.random.Generator
) -> dict[str, Said]:
    """Return what witnesses say that see classifiers in closed form."""
    first_error, second_error = quality.errors
    first = replace(difference.first, error=first_error)
    second = replace(difference.second, error=second_error)
    setting = Setting(difference.name, first, second, quality.worse, texts=(n_texts, n_texts))
    studies = [one_run(setting, rng, number < _RUNS_OF_CEILINGS) for number in range(runs)]
    agreements = [
        (
            excess_of(first, setting.trainings, n_texts, 0.0, rng),
            excess_of(second, setting.trainings, n_texts, difference.misread, rng),
        )
        for _ in range(runs)
    ]
    return {
        "forward simulation": of_verdicts(judged_foresight(studies)),
        "removal": of_verdicts(judged_skill(studies)),
        "rationales": of_verdicts(judged_scores(agreements, "excess")),
    }


def table_row(difference: Difference, quality: Quality, said: Mapping[str, Said]) -> dict[str, str]:
    """Return a row of the table, with the number of witnesses that are right."""
    words = [witness.word(quality.worse) for witness in said.values()]
    cells = {
        name: _cell(word, witness)
        for word, (name, witness) in zip(words, said.items(), strict=True)
    }
    right = str(words.count(RIGHT)) if RIGHT in words else "**none**"
    return {"explanations": quality.name, "second group": difference.name, **cells, "right": right}


def _cell(word: str, said: Said) -> str:
    shown = f"**{word}**" if word == WRONG else word
    flags = "".join(f", `{flag}`" for flag in said.flags)
    return f"{shown}: {said.first:.0f}, {said.second:.0f}{flags}"


def rows(runs: int, n_texts: int, wanted: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of the table; all, or those whose name has a text that is wanted."""
    chosen = [
        (quality, difference)
        for quality, difference in product(QUALITIES, DIFFERENCES)
        if not wanted or any(text in f"{quality.name}: {difference.name}" for text in wanted)
    ]
    for quality, difference in chosen:
        seed = [2, QUALITIES.index(quality), DIFFERENCES.index(difference)]
        said = of_classifiers(difference, quality, runs, n_texts, np.random.default_rng(seed))
        messages = difference.messages
        together = tuple(dict.fromkeys(q for q, other in chosen if other.messages == messages))
        said["communication"] = of_readers(messages, together, runs, n_texts)[quality]
        yield table_row(difference, quality, said)


def main() -> None:
    """Print a table of all rows, and those in which no witness is right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=200, help="of each row")
    parser.add_argument("--texts", type=int, default=100, help="of each group")
    parser.add_argument("--rows", nargs="*", default=[], help="rows whose name has such a text")
    parser.add_argument("--write", type=Path, help="page that has the table between its marks")
    options = parser.parse_args()
    table = []
    for row in rows(options.runs, options.texts, options.rows):
        table.append(row)
        print(row, flush=True)
    alone = [
        f"{row['explanations']}, {row['second group']}" for row in table if "none" in row["right"]
    ]
    text = "\n\n".join(
        [
            f"{options.runs} runs a row, {options.texts} texts a group.",
            markdown(table),
            f"Rows in which no witness is right: {'; '.join(alone) or 'none'}.",
        ]
    )
    print(text)
    if options.write is not None:
        write_between_marks(options.write, "witnesses", text)


if __name__ == "__main__":
    main()
