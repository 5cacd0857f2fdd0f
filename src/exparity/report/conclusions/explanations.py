"""Are the explanations of one group worse? The verdicts of a dataset and model, with levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter

from exparity.core.formats import in_sentence, joined
from exparity.core.grouping import grouped
from exparity.report.conclusions.answer import Answer
from exparity.report.context import Context
from exparity.report.gather import Study
from exparity.report.over_groups import OverAllGroups, over_all_groups
from exparity.report.preference import (
    ceilings_of,
    favoured_group,
    levels_of,
    other_group,
    preference_of,
)
from exparity.report.rows import VerdictRow
from exparity.report.verdicts import (
    any_tested,
    effect_size,
    is_alike,
    is_foreseen,
    is_gap,
    is_of,
    judgement_of,
    names_favoured,
    untested_sentences,
)
from exparity.report.witnesses import witness_tables
from exparity.stats.among import CEILINGS_DIFFER

_FORESIGHT = (
    "How well do explanations foresee what the classifier does when words are left out (0 not at "
    "all, 1 fully)?"
)
_WAY = "How far do explanations get from random ones (0) to the best found (1)?"
_MOST_NAMED = 4
"""Most methods that are named for one verdict; of more, the sentence gives the number."""
_MOST_EXPLAINED = 2
"""Most metrics that a sentence explains; of more, it gives the names."""
_METRIC = attrgetter("metric")
_FEWEST_DIGITS = 2
_MOST_DIGITS = 4
"""Decimal places of levels: two, or as many as tell both groups' apart."""


@dataclass(frozen=True)
class Place:
    """The comparisons of one dataset and model that one sentence covers.

    Attributes:
        study: the study.
        dataset, model: ids.
        rows: standing rows of one rank.
        measures: what the rows are scored by, if the sentence has to say it.
    """

    study: Study
    dataset: str
    model: str
    rows: Sequence[VerdictRow]
    measures: Sequence[str] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of groups."""
        return list(dict.fromkeys(row.groups for row in self.rows))

    @property
    def severity(self) -> float:
        """Size of the largest gap; 0 without one."""
        return max((effect_size(row) for row in self.rows if is_gap(row)), default=0.0)

    @property
    def name(self) -> str:
        """Dataset, and model where there are several."""
        return self.study.place(self.dataset, self.model)

    def sentence(self) -> str:
        """Return what is said of it."""
        words = self._about_pair() if len(self.pairs) == 1 else self._about_pairs()
        by = f" by {joined(self.measures)}," if self.measures else ""
        return f"On {self.name},{by} {words}."

    def by_metric(self) -> list[Place]:
        """Return it for each metric with a gap, the largest first, and for the others together."""
        metrics = [replace(self, rows=rows) for rows in grouped(self.rows, _METRIC).values()]
        differing = sorted((place for place in metrics if place.severity), key=_least_severe_last)
        rest = [row for place in metrics if not place.severity for row in place.rows]
        return [*differing, *([replace(self, rows=rest)] if rest else [])]

    def _about_pair(self) -> str:
        """Return what is said where two groups are compared."""
        tested = [row for row in self.rows if row.verdict]
        alike = [row for row in tested if is_alike(row)]
        still_open = [row for row in tested if not is_gap(row) and row not in alike]
        (pair,) = self.pairs
        parts = [*self._gaps()]
        texts = f"{joined(pair)} texts"
        if alike:
            parts.append(f"{texts} are alike with {self._with(alike)}")
        if still_open:
            who = "they" if parts else texts
            parts.append(f"whether {who} differ is open with {self._with(still_open)}")
        untested = [row for row in self.rows if not row.verdict]
        if untested:
            parts.append(f"not tested: {self._with(untested)}")
        return "; ".join([*parts, *self._best_possible()])

    def _best_possible(self) -> Iterator[str]:
        """Yield how well the best explanation of either group would do, where it is known."""
        all_ceilings = [ceilings for row in self.rows if (ceilings := ceilings_of(row))]
        if not all_ceilings or any(ceilings != all_ceilings[0] for ceilings in all_ceilings):
            return  # methods explain other texts
        best = joined([f"{ceiling:.2f} for {group}" for group, ceiling in all_ceilings[0].items()])
        harder = min(all_ceilings[0], key=lambda group: all_ceilings[0][group])
        differ = any(CEILINGS_DIFFER in row.flags for row in self.rows)
        why = f", since the classifier itself is harder to foresee on {harder} texts"
        yield f"the best possible is about {best}{why * differ}"

    def _about_pairs(self) -> str:
        """Return what is said where more than two groups are compared: all at once, then pairs."""
        gaps = [row for row in self.rows if is_gap(row)]
        n_groups = len(self.study.declared(self.dataset).groups)
        n_pairs = len(self.pairs)
        if all(map(is_alike, self.rows)):
            return (
                f"no group differs from another: all {n_pairs} pairs of the {n_groups} groups are "
                "alike"
            )
        cells = over_all_groups(self.rows, self.study.statistics.alpha)
        differing = [cell for cell in cells if cell.differs]
        if not differing:
            untested = [cell for cell in cells if not cell.is_tested]
            if len(untested) == len(cells):
                return f"the {n_groups} groups could not be tested"
            missing = f"; not tested: {self._with_cells(cells, untested)}" if untested else ""
            return (
                f"none of the {n_groups} groups is shown to differ from another, nor are all "
                f"shown to be alike{missing}"
            )
        methods = self._with_cells(cells, differing)
        if not gaps:
            return f"groups differ with {methods}, but no pair of the {n_groups} groups is shown to"
        largest = max(gaps, key=effect_size)
        n_differing = len(grouped(gaps, attrgetter("group_a", "group_b")))
        sentence = f"groups differ with {methods}, in {n_differing} of {n_pairs} pairs"
        if not names_favoured(largest):
            return sentence
        favoured = favoured_group(largest)
        return (
            f"{sentence}, most of all {favoured} and {other_group(largest)}. There, {favoured} "
            f"texts {self._better(largest)}: "
            f"{self._item(largest, _digits_apart(largest))}"
        )

    def _with_cells(self, cells: Sequence[OverAllGroups], chosen: Sequence[OverAllGroups]) -> str:
        """Return the methods of some cells; each cell has a row for every pair of groups."""
        first = replace(self, rows=[cell.rows[0] for cell in cells])
        return first._with([cell.rows[0] for cell in chosen])

    def _gaps(self) -> Iterator[str]:
        """Yield a part for each group that gaps favour, and one for those that favour none."""
        gaps = sorted(filter(is_gap, self.rows), key=effect_size, reverse=True)
        sided = [row for row in gaps if names_favoured(row) and favoured_group(row)]
        by_side = grouped(sided, lambda row: (favoured_group(row), self._better(row)))
        for (favoured, better), rows in by_side.items():
            named = rows[:_MOST_NAMED]
            n_digits = max(map(_digits_apart, named))
            often = {self._how_often(row) for row in rows}
            is_said_once = len(often) == 1 < len(rows)
            items = [self._item(row, n_digits, is_counted=not is_said_once) for row in named]
            rest = len(rows) - len(items)
            items += [f"and {rest} more"] if rest else []
            in_trainings = (
                f" (each{often.pop().removeprefix(',')})" if is_said_once and any(often) else ""
            )
            yield f"{favoured} texts {better}: {', '.join(items)}{in_trainings}"
        unsided = [row for row in gaps if row not in sided]
        if unsided:
            yield (
                f"groups differ with {self._with(unsided)}, and the favoured one changes from "
                f"{self.study.run} to {self.study.run}"
            )

    def _item(self, row: VerdictRow, n_digits: int, *, is_counted: bool = True) -> str:
        """Return a method, with the levels of both groups, or the gap where they are unknown."""
        levels = levels_of(row)
        better = favoured_group(row) or row.group_a
        worse = row.other_than(better)
        often = self._how_often(row) if is_counted else ""
        if not levels:
            return f"{self._label(row)} (by {abs(row.d):.2f} standard deviations{often})"
        numbers = {group: _rounded(level, n_digits) for group, level in levels.items()}
        return f"{self._label(row)} {numbers[better]} ({worse} {numbers[worse]}{often})"

    def _how_often(self, row: VerdictRow) -> str:
        """Return in how many trainings a group is favoured where the next may favour another."""
        judgement = judgement_of(row)
        if judgement is None or judgement.settles:
            return ""
        n_alike = row.seeds_above if row.d > 0 else row.seeds_below
        return f", in {n_alike} of {row.n_seeds} {self.study.run}s"

    def _better(self, row: VerdictRow) -> str:
        """Return what follows the favoured group: what a skill is was said before the measures."""
        preference = preference_of(row)
        return preference.in_few_words if self.measures else preference.in_words

    def _label(self, row: VerdictRow) -> str:
        method = self.study.display("method", row.method)
        if len({other.metric for other in self.rows}) == 1:
            return method
        return f"{method} by {self.study.display('metric', row.metric)}"

    def _with(self, rows: Sequence[VerdictRow]) -> str:
        """Return the methods of some rows, by name if they are few."""
        if len(rows) == len(self.rows) > 1:
            return f"each of {len(rows)} {self._kind}s"
        if len(rows) > _MOST_NAMED:
            return f"{len(rows)} of {len(self.rows)} {self._kind}s"
        return joined([self._label(row) for row in rows])

    @property
    def _kind(self) -> str:
        one_metric = len({row.metric for row in self.rows}) == 1
        return "method" if one_metric else "result"


def _digits_apart(row: VerdictRow) -> int:
    """Return how many decimal places show which group has the larger level, from two on."""
    levels = levels_of(row)
    if not levels:
        return _FEWEST_DIGITS
    places = range(_FEWEST_DIGITS, _MOST_DIGITS)
    texts = {n: {_rounded(level, n) for level in levels.values()} for n in places}
    return next((n for n in places if len(texts[n]) > 1), _MOST_DIGITS)


def _rounded(level: float, n_digits: int) -> str:
    return f"{level:.{n_digits}f}".replace("-", "−")


def _least_severe_last(place: Place) -> float:
    return -place.severity


def places_of(study: Study, rank: str) -> list[Place]:
    """Return the comparisons of a rank by dataset and model, the largest gap first."""
    rows = [row for row in study.judged if is_of(row, rank)]
    cells = grouped(rows, attrgetter("dataset", "model"))
    places = [Place(study, *ids, members) for ids, members in cells.items()]
    return sorted(places, key=_least_severe_last)


def measured(places: Sequence[Place]) -> Iterator[Place]:
    """Yield places by metric, which the sentences name: first that of the largest gap of each.

    What a metric measures is said where its name comes first.
    """
    all_metrics = [place.by_metric() for place in places]
    explained: set[str] = set()
    firsts = [metrics[0] for metrics in all_metrics]
    for place in (*firsts, *chain.from_iterable(metrics[1:] for metrics in all_metrics)):
        metrics = dict.fromkeys(map(_METRIC, place.rows))
        unknown = metrics.keys() - explained if len(metrics) <= _MOST_EXPLAINED else ()
        explained.update(unknown)
        name = partial(place.study.display, "metric")
        yield replace(
            place,
            measures=[
                place.study.measure(metric) if metric in unknown else in_sentence(name(metric))
                for metric in metrics
            ],
        )


def about_explanations(context: Context) -> Answer:
    """Answer whether explanations are as good for every group: what comes first, and the rest."""
    study = context.study
    rows = study.standing
    if not rows:
        return Answer("Nothing was explained, so nothing is known.")
    if not any_tested(rows):
        reasons = " ".join(untested_sentences(rows))
        return Answer(f"Unknown: nothing could be tested. {reasons}")
    places = places_of(study, "headline")
    before = _FORESIGHT
    if not is_foreseen(rows):
        gaps = filter(is_gap, chain.from_iterable(place.rows for place in places))
        before = _WAY if any(row.quantity == "skill" for row in gaps) else ""
        places = [*measured(places)]
    parts = [place.sentence() for place in places]
    first, *more = context.found_by("positive_control").get("sentences", [""])
    together = (table.sentence() for table in witness_tables(study))
    rest = (*more, *together, *_beside(study), *untested_sentences(rows))
    answer = Answer.of(parts, *rest, before=before, evidence="disparity")
    return replace(answer, text=f"{answer.text} {first}".rstrip())


def _beside(study: Study) -> Iterator[str]:
    """Yield what other metrics say, and which explanations are more concentrated."""
    beside = places_of(study, "beside")
    rows = chain.from_iterable(place.rows for place in beside)
    names = joined([*map(in_sentence, study.metric_names(rows))])
    for place in beside:
        yield f"By {names}: {in_sentence(place.sentence())}"
    for place in places_of(study, "description"):
        if place.severity:
            yield (f"Concentration, where neither end is better: {in_sentence(place.sentence())}")
