"""Agreement of explanations with groups of raters, in words and as lines of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.columns import Row, records
from exparity.artefacts.files import read_artefact
from exparity.core.formats import in_sentence, joined
from exparity.core.grouping import grouped
from exparity.explanations.markup import number_text, number_texts
from exparity.quantities.raters import EVERY, QUANTITIES
from exparity.report.gather import Study
from exparity.report.names import display_name
from exparity.report.verdicts import labels_of
from exparity.stats.flags import FLAGS
from exparity.stats.raters import RaterLevel, RaterTest
from exparity.stats.verdicts import VERDICTS, Verdict

STANDING = "skill"
"""What verdicts are of: the excess is larger where a group marks more words with the same care."""
_cell = attrgetter("dataset", "model", "method", "metric")
_VERDICTS = {verdict.id: verdict for verdict in VERDICTS}
_DIGITS = 0.123  # a number with as many decimals as tables show


@dataclass(frozen=True)
class GroupLine:
    """The level of a group of raters.

    Attributes:
        compared: attribute of the group, empty for all of them together.
        group: its name.
        n_raters: its raters.
        marked: share of words that they mark, in percent.
        score, random, excess: means in words.
        skill: the skill with its interval.
    """

    compared: str
    group: str
    n_raters: int
    marked: str
    score: str
    random: str
    excess: str
    skill: str


@dataclass(frozen=True)
class GapLine:
    """The gap between two groups of raters.

    Attributes:
        groups: first minus second.
        gaps: in score, excess and skill; bold where shown.
        smallest: gap in skill that would have been found.
        verdict: of the skill.
    """

    groups: str
    gaps: Sequence[tuple[str, bool]]
    smallest: str
    verdict: str


@dataclass(frozen=True)
class RaterTable:
    """Levels and gaps of one model, method and metric.

    Attributes:
        place: dataset, and model.
        method, metric: names.
        levels: lines of groups.
        gaps: lines of the planned contrasts, and of those of all groups that are shown.
        n_others: comparisons of all groups that are not shown.
    """

    place: str
    method: str
    metric: str
    levels: Sequence[GroupLine]
    gaps: Sequence[GapLine]
    n_others: int


@dataclass(frozen=True, kw_only=True)
class _Test(RaterTest):
    """A row of tests."""

    dataset: str
    model: str
    method: str
    metric: str
    compared: str
    planned: bool
    quantity: str
    minimal_detectable_effect_corrected: float
    verdict: str | None

    @property
    def rule(self) -> Verdict | None:
        """Its verdict; None where nothing is tested."""
        return _VERDICTS.get(self.verdict or "")

    @property
    def is_alike(self) -> bool:
        """Whether groups are shown to be treated alike."""
        return self.rule is not None and self.rule.tone == "good"

    @property
    def is_gap(self) -> bool:
        """Whether a gap is shown."""
        return self.rule is not None and self.rule.is_gap

    @property
    def smallest(self) -> float:
        """The gap that would have been found, in the unit of the quantity."""
        return self.minimal_detectable_effect_corrected * self.pooled_sd


@dataclass(frozen=True, kw_only=True)
class _Level(RaterLevel):
    """A row of levels."""

    dataset: str
    model: str
    method: str
    metric: str

    @property
    def line(self) -> GroupLine:
        """The level as a table shows it."""
        interval = f"{self.skill:.2f} ({self.ci_low:.2f} to {self.ci_high:.2f})"
        return GroupLine(
            "" if self.compared == EVERY else self.compared,
            self.rater_group,
            self.n_raters,
            f"{self.marked:.0%}",
            f"{self.score:.3f}",
            f"{self.random:.3f}",
            number_text(self.excess, like=_DIGITS),
            interval.replace("-", "−"),
        )


def rater_sentences(rows: Iterable[Row], study: Study) -> list[str]:
    """Return what is shown of the planned contrasts, one sentence for each dataset and model."""
    tests = records(_Test, rows)
    standing = [test for test in tests if test.planned and test.quantity == STANDING]
    cells = grouped(standing, attrgetter("dataset", "model"))
    return [_sentence(study.place(*key), cell, study) for key, cell in cells.items()]


def _sentence(place: str, tests: Sequence[_Test], study: Study) -> str:
    judged = [test for test in tests if test.rule]
    if not judged:
        return f"On {place}, {_why_untested(tests)}."
    untested = len(tests) - len(judged)
    ending = (
        f"; {untested} of {len(tests)} comparisons could not be tested: {_why_untested(tests)}"
        if untested
        else ""
    )
    if any(test.is_gap for test in judged):
        return f"On {place}, {'; '.join(_gaps(tests, study))}{ending}."
    return (
        f"On {place}, explanations are not shown to agree with one group of raters more than with "
        f"another; {_equal_or_power(judged)}{ending}."
    )


def _gaps(tests: Sequence[_Test], study: Study) -> Iterator[str]:
    """Yield with whom explanations agree more, and where that changes."""
    shown = [test for test in tests if test.is_gap]
    sided = [test for test in shown if test.rule and test.rule.favours]
    several = len({test.metric for test in tests}) > 1  # those that could not be tested, too
    beyond = "beyond what the number of marked words brings"
    if sided:
        clauses = [_clause(test, study, several=several) for test in sided]
        sides = "explanations agree more with some raters than with others"
        yield f"{sides}, {beyond}: {joined(clauses)}"
    unsided = [_name(test, study, several=several) for test in shown if test not in sided]
    if unsided:
        yield (
            f"agreement with groups of raters differs {beyond}, and the favoured group changes "
            f"from {study.run} to {study.run}: {joined(unsided)}"
        )


def _equal_or_power(judged: Sequence[_Test]) -> str:
    """Return how large a gap would have been found, and what is shown to be equivalent."""
    largest = max((test.smallest for test in judged if test.smallest >= 0), default=math.inf)
    power = (
        f"gaps in skill of {largest:.2f} would have been found with 80 % power"
        if largest <= 1
        else "with so few trainings, texts and raters, hardly any gap would have been found"
    )
    alike = sum(test.is_alike for test in judged)
    equal = f"{alike} of {len(judged)} comparisons are shown to be {labels_of('good')}"
    if alike == len(judged):
        return equal
    return f"{power}; {equal}" if alike else power


def _why_untested(tests: Sequence[_Test]) -> str:
    """Return why there is no verdict, in words."""
    flags = {flag for test in tests if not test.rule for flag in test.flags}
    meanings = "; ".join(FLAGS[flag].meaning for flag in FLAGS if flag in flags)
    if "too_few" in flags or not meanings:
        return "there are too few raters or texts to compare groups of raters"
    return f"groups of raters could not be compared ({meanings})"


def _name(test: _Test, study: Study, *, several: bool) -> str:
    """Return the method, and the metric where there are several."""
    method = study.display("method", test.method)
    metric = in_sentence(display_name("metric", test.metric, test.metric))
    return f"{method} by {metric}" if several else method


def _clause(test: _Test, study: Study, *, several: bool) -> str:
    groups = [(test.mean_a, test.group_a), (test.mean_b, test.group_b)]
    (lower, other), (higher, favoured) = sorted(groups)
    higher_text, lower_text = number_texts(higher, lower)
    name = _name(test, study, several=several)
    return f"{name} with {favoured} ({higher_text}) more than with {other} ({lower_text})"


def rater_tables(rows: Sequence[Row], study: Study) -> list[RaterTable]:
    """Return levels and gaps of each model, method and metric."""
    tests = records(_Test, rows)
    levels = grouped(_levels(tests, study), _cell)
    tables = []
    for key, cell in grouped(tests, _cell).items():
        dataset, model, method, metric = key
        gaps = grouped(cell, attrgetter("compared", "group_a", "group_b")).values()
        listed = [gap for gap in gaps if gap[0].planned or any(test.is_gap for test in gap)]
        tables.append(
            RaterTable(
                study.place(dataset, model),
                study.display("method", method),
                display_name("metric", metric, metric),
                [level.line for level in levels.get(key, ())],
                [_gap_line(gap) for gap in listed],
                len(gaps) - len(listed),
            )
        )
    return tables


def _levels(tests: Sequence[_Test], study: Study) -> Iterator[_Level]:
    """Yield the levels of the datasets of some tests."""
    for dataset in dict.fromkeys(test.dataset for test in tests):
        path = study.path("rater_levels", dataset=dataset)
        if path.is_file():
            yield from records(_Level, read_artefact(path, "rater_levels")[0])


def _gap_line(tests: Sequence[_Test]) -> GapLine:
    by_quantity = {test.quantity: test for test in tests}
    standing = by_quantity[STANDING]
    ordered = [by_quantity[name] for name in QUANTITIES]
    return GapLine(
        f"{standing.group_a} − {standing.group_b}",
        [(number_text(test.estimate, like=_DIGITS), test.is_gap) for test in ordered],
        f"{standing.smallest:.3f}",
        standing.rule.label if standing.rule else "–",
    )


@dataclass(frozen=True)
class ChosenRaters:
    """The raters of a dataset that are counted.

    Attributes:
        name: of the dataset.
        agreeing: see the option of the analysis.
        disagreeing: share of answers with another label than the data; None where unknown.
        n_texts, n_raters: texts and raters that are counted.
    """

    name: str
    agreeing: bool | None
    disagreeing: float | None
    n_texts: int
    n_raters: int


def chosen_raters(dataset: str, study: Study) -> ChosenRaters:
    """Return which raters of a dataset are counted."""
    _, metadata = read_artefact(study.path("whose_rationale", dataset=dataset), "whose_rationale")
    facts = [{"name": study.display("dataset", dataset), **metadata}]
    return records(ChosenRaters, facts)[0]
