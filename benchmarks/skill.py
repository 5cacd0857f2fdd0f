"""Measure what forward simulation and skill call a gap, by simulation.

Usage: python benchmarks/skill.py [--runs N] [--rows TEXT ...] [--write PAGE]

Classifiers and explanations are closed forms (``closed_forms.py``), so that it is known whether one
group's explanations are worse (``planted.py``). Unless a row says otherwise, two groups of 100
texts of 16 words are explained in five trainings, three words count, and d is of the first minus
the second group. A verdict is by the product's own tests, at 5 % and in a family of one cell, and
flags are those that the product raises. The last table is of skill on one scale where there is no
gap, by how much room texts have.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from closed_forms import Group, Measured, drawn, measured, together
from earlier import earlier_word
from planted import SETTINGS, Mixture, Setting, Worse
from shared import markdown, write_between_marks

from exparity.core.settings import DEFAULTS
from exparity.metrics.foresight import ceiling_of
from exparity.quantities.quantity import Skill
from exparity.quantities.scales import over_scales, rooms_of
from exparity.stats.among import GroupFacts
from exparity.stats.behrens_fisher import upper_tail
from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.mean_gap import mean_gap
from exparity.stats.skill import SCALES, Scale, linearised, of_constant
from exparity.stats.typical_gap import typical_gap
from exparity.stats.verdicts import VERDICTS, judge
from exparity.types import FloatArray

ORDER = ("first", "second")
ALPHA = DEFAULTS.alpha
GAPS = [verdict.id for verdict in VERDICTS if verdict.is_gap]
_RUNS_OF_CEILINGS = 2
_LEAST_SPREAD = 1e-9
_NO_WARNING = ("one_training", "missing_cells")
_BEFORE = (
    "*Before* is the verdict of skill when limits were interpolated between tenths of the words, "
    "the reference was that of the search, *equivalent* was one of ranks, and each claim had all "
    "of α (`benchmarks/earlier.py`); there was no forward simulation then."
)


class Run(NamedTuple):
    """Values of two groups in one run, by quantity, and of what skill is made.

    Attributes:
        values: (s, n_first) and (s, n_second) by scale of skill, or ``foreseen``.
        n_units: (n_first + n_second,) words of the texts.
        skills: of each training.
        earlier: values of skill by the earlier rule, as ``values``.
        ceilings: of both groups; None where they were not computed.
    """

    values: Mapping[str, tuple[FloatArray, FloatArray]]
    n_units: FloatArray
    skills: Sequence[Skill]
    earlier: Mapping[str, tuple[FloatArray, FloatArray]]
    ceilings: tuple[float, float] | None


def one_run(setting: Setting, rng: np.random.Generator, with_ceilings: bool = False) -> Run:
    """Draw two groups, and measure their explanations."""
    n_first, n_second = setting.texts
    both = [
        texts_of(setting.first, setting.trainings, n_first, rng),
        texts_of(setting.second, setting.trainings, n_second, rng),
    ]
    skills = skills_of(both, [part.steps for part in both])
    values = _by_scale(skills, n_first)
    earlier = _by_scale(skills_of(both, [part.earlier for part in both]), n_first)
    values["foreseen"] = both[0].foreseen, both[1].foreseen
    n_units = np.concatenate([part.n_units for part in both])
    ceilings = (_ceiling(both[0]), _ceiling(both[1])) if with_ceilings else None
    return Run(values, n_units, skills, earlier, ceilings)


def _by_scale(skills: Sequence[Skill], n_first: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the values of both groups by scale."""
    values: dict[str, tuple[FloatArray, FloatArray]] = {}
    for scale in SCALES:
        rows = np.array([skill.values[scale] for skill in skills])
        values[scale] = rows[:, :n_first], rows[:, n_first:]
    return values


def texts_of(
    group: Group | Mixture, trainings: int, count: int, rng: np.random.Generator
) -> Measured:
    """Draw texts of a group, or of its parts, and measure their explanations."""
    parts = [(1.0, group)] if isinstance(group, Group) else group
    ends = np.round(np.cumsum([share for share, _ in parts]) * count).astype(int)
    counts = np.diff(ends, prepend=0)
    drawn_parts = []
    for (_, part), of_part in zip(parts, counts, strict=True):
        if of_part:
            drawn_parts.append(measured(drawn(part, trainings, of_part, rng), rng))
    return together(drawn_parts)


def skills_of(
    both: Sequence[Measured], steps_of_both: Sequence[Mapping[Scale, FloatArray]]
) -> list[Skill]:
    """Return the skill of the explanations of each training, by the steps of both groups."""
    trainings = len(both[0].foreseen)
    groups = np.repeat(ORDER, [part.foreseen.shape[1] for part in both]).tolist()
    skills = []
    for training in range(trainings):
        steps = {
            scale: np.concatenate([steps[scale][training] for steps in steps_of_both])
            for scale in SCALES
        }
        counting = np.concatenate([part.counting[training] for part in both])
        skills.append(Skill.of(steps, groups, counting=counting))
    return skills


def _levels(runs: Sequence[Run], name: str) -> str:
    """Return the mean of a quantity in both groups."""
    first = np.array([_mean(run.values[name][0]) for run in runs])
    second = np.array([_mean(run.values[name][1]) for run in runs])
    return _two((_mean(first), _mean(second)))


def _mean(values: FloatArray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


def _ceiling(group: Measured) -> float:
    """Return the mean ceiling of the first training's texts."""
    pairs = zip(group.masks, group.drops[0], strict=True)
    return _mean(np.array([ceiling_of(masks, drops) for masks, drops in pairs]))


@np.errstate(all="ignore")
def tests_of(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> list[CrossedTest]:
    """Return the crossed test of each run, without intervals; all runs are tested at once."""
    first = np.array([pair[0] for pair in pairs])
    second = np.array([pair[1] for pair in pairs])
    trainings, n_first = first.shape[1:]
    n_second = second.shape[2]
    deviation = np.sqrt((_variance(first) + _variance(second)) / 2)
    estimate = mean_gap(first, second)
    gap = typical_gap(estimate)
    bound = DEFAULTS.threshold * deviation
    columns = {
        "n_seeds": np.full(len(pairs), trainings),
        "n_a": np.full(len(pairs), n_first),
        "n_b": np.full(len(pairs), n_second),
        "estimate": estimate.gap,
        "pooled_sd": deviation,
        "d": estimate.gap / deviation,
        "p_mean": gap.p_mean,
        "equivalence_p": upper_tail(bound - np.abs(estimate.gap), estimate.errors),
    }
    if trainings > 1:
        columns |= {
            "p_large": gap.p_large(bound),
            "p_small": gap.p_small(bound),
            "p_large_others": gap.p_large_others(bound),
            "p_cross": estimate.p_cross,
        }
    tests = []
    for number, (a, b) in enumerate(pairs):
        if deviation[number] > _LEAST_SPREAD:
            own = {name: column[number].item() for name, column in columns.items()}
            tests.append(CrossedTest(group_a=ORDER[0], group_b=ORDER[1], **own))
            continue
        groups = np.repeat(ORDER, [n_first, n_second]).tolist()  # what does not vary is no number
        rows = list(np.round(np.concatenate([a, b], axis=1), 9))
        tests.append(crossed_tests(rows, groups, ORDER)[0])
    return tests


def _variance(values: FloatArray) -> FloatArray:
    """Return the mean over trainings of the variance within a group, by run."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # where all are NaN
        return np.asarray(np.nanvar(values, axis=-1, ddof=1).mean(axis=-1))


class Judged(NamedTuple):
    """What was found in the runs of a setting, by one instrument.

    Attributes:
        verdicts: of each run, with the columns of the product's verdicts.
        d, p: of the mean gap, by quantity.
    """

    verdicts: Sequence[Mapping[str, Any]]
    d: Mapping[str, FloatArray]
    p: Mapping[str, FloatArray]


def judged_skill(runs: Sequence[Run]) -> Judged:
    """Judge the skill of each run as a study of one cell."""
    tests: dict[Scale | None, list[CrossedTest]] = {
        scale: tests_of([run.values[scale] for run in runs]) for scale in SCALES
    }
    rows = []
    for number, run in enumerate(runs):
        of_run = {scale: [by_run[number]] for scale, by_run in tests.items()}
        ((test, scales),) = over_scales(run.skills, of_run)
        rooms, flags = rooms_of(run.skills, *ORDER)
        test.flags.extend(flags)
        rows.append(_row(number, "skill", test, scales, rooms))
    return _judged(rows, {str(scale): by_run for scale, by_run in tests.items()})


def judged_earlier(runs: Sequence[Run]) -> Judged:
    """Judge the skill of each run by the earlier rule."""
    tests = {scale: tests_of([run.earlier[scale] for run in runs]) for scale in SCALES}
    rows = []
    for number in range(len(runs)):
        on_scales = {scale: by_run[number] for scale, by_run in tests.items()}
        row = _row(number, "skill", on_scales["ranks"])
        rows.append({**row, "verdict": earlier_word(on_scales, ALPHA)})
    return Judged(rows, *_d_and_p({str(scale): by_run for scale, by_run in tests.items()}))


def judged_foresight(runs: Sequence[Run]) -> Judged:
    """Judge forward simulation of each run as a study of one cell, lengths like with like."""
    ceilings = [run.ceilings for run in runs if run.ceilings is not None]
    ceiling_a, ceiling_b = np.mean(ceilings, axis=0)
    facts = GroupFacts(ceiling_a=ceiling_a, ceiling_b=ceiling_b)
    flags = facts.ceiling_flags(is_gap_shown=True)  # over all runs, chance makes none
    if all(np.ptp(run.n_units) == 0 for run in runs):  # strata of one length change no value
        tests = tests_of([run.values["foreseen"] for run in runs])
    else:
        tests = [_by_length(run) for run in runs]
    tests = [of_constant(test) for test in tests]
    for test in tests:
        test.flags.extend(flag for flag in flags if flag not in test.flags)
    rows = [_row(number, "score", test) for number, test in enumerate(tests)]
    return _judged(rows, {"foreseen": tests})


def judged_scores(
    pairs: Sequence[tuple[FloatArray, FloatArray]], quantity: str = "score"
) -> Judged:
    """Judge scores (s, n_first) and (s, n_second) of each run as a study of one cell."""
    tests = tests_of(pairs)
    rows = [_row(number, quantity, test) for number, test in enumerate(tests)]
    return _judged(rows, {quantity: tests})


def _by_length(run: Run) -> CrossedTest:
    """Return the test of forward simulation within strata of the number of units."""
    first, second = run.values["foreseen"]
    groups = np.repeat(ORDER, [first.shape[1], second.shape[1]]).tolist()
    rows = list(np.concatenate([first, second], axis=1))
    (test,) = crossed_tests(rows, groups, ORDER, covariate=run.n_units)
    return test


def _row(number: int, quantity: str, *columns: Any) -> dict[str, Any]:
    ids = {"dataset": f"run {number}", "model": "m", "method": "e", "metric": "x"}
    row = {**ids, "quantity": quantity}
    for part in columns:
        row |= asdict(part)
    return row


def _judged(rows: Sequence[dict[str, Any]], tests: Mapping[str, Sequence[CrossedTest]]) -> Judged:
    return Judged(judge(rows, ("dataset",), alpha=ALPHA), *_d_and_p(tests))


def _d_and_p(
    tests: Mapping[str, Sequence[CrossedTest]],
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return d and p-value of the mean gap of each run, by quantity."""
    d = {name: np.array([test.d for test in by_run]) for name, by_run in tests.items()}
    p = {name: np.array([test.p_mean for test in by_run]) for name, by_run in tests.items()}
    return d, p


def shares(judged: Judged, worse: Worse) -> dict[str, float]:
    """Return the percentages of runs with a gap, without one, and with a wrong verdict.

    A verdict is wrong if it names a gap where there is none or the other group, and if it is
    *equivalent* where the mean d is as large as the threshold. Nobody knows where no group is known
    to be worse.
    """
    words = np.array([row["verdict"] or "" for row in judged.verdicts])
    d = np.array([row["d"] for row in judged.verdicts])
    is_gap = np.isin(words, GAPS)
    is_equivalent = words == "equivalent"
    if worse == "none":
        is_wrong = is_gap
    else:
        # The first group minus the second is above 0 where the second one is worse.
        favours = "second" if worse == "first" else "first"
        sign = 1.0 if favours == "first" else -1.0
        is_wrong = is_gap & (sign * d < 0)
        if abs(_mean(d)) >= DEFAULTS.threshold:
            is_wrong |= is_equivalent
    percent = {"gap": is_gap, "equivalent": is_equivalent, "wrong": is_wrong}
    found = {name: 100 * float(np.mean(values)) for name, values in percent.items()}
    return found if worse else {**found, "wrong": np.nan}


def table_row(setting: Setting, runs: int, seed: int) -> dict[str, Any]:
    """Return what forward simulation and skill make of a setting, as a row of the table."""
    rng = np.random.default_rng([0, seed])
    drawn_runs = [one_run(setting, rng, number < _RUNS_OF_CEILINGS) for number in range(runs)]
    skill = judged_skill(drawn_runs)
    foresight = judged_foresight(drawn_runs)
    earlier = judged_earlier(drawn_runs)
    by_skill = shares(skill, setting.worse)
    by_foresight = shares(foresight, setting.worse_foreseen)
    by_earlier = shares(earlier, setting.worse)
    ceilings = [run.ceilings for run in drawn_runs if run.ceilings is not None]
    d_of_skill = np.array([row["d"] for row in skill.verdicts])
    return {
        "second group": setting.name,
        "r": _levels(drawn_runs, "foreseen"),
        "ceiling": _two(np.mean(ceilings, axis=0)),
        "worse by r": setting.worse_foreseen or "?",
        "d of r, gap, equivalent": _verdicts(foresight.d["foreseen"], by_foresight),
        "wrong by r": _wrong(by_foresight),
        "flags of r": _flags(foresight),
        "skill": _levels(drawn_runs, "ranks"),
        "worse by skill": setting.worse or "?",
        **{scale.replace("_", " "): _significant(skill, scale) for scale in SCALES},
        "before": _verdicts(earlier.d["ranks"], by_earlier),
        "wrong before": _wrong(by_earlier),
        "d of skill, gap, equivalent": _verdicts(d_of_skill, by_skill),
        "wrong by skill": _wrong(by_skill),
        "flags of skill": _flags(skill),
    }


def _flags(judged: Judged) -> str:
    """Return the product's flags, and in which percentage of runs each is raised, from 1 %."""
    counts = Counter(flag for row in judged.verdicts for flag in set(row["flags"]))
    runs = len(judged.verdicts)
    return ", ".join(
        f"`{flag}` {100 * count / runs:.0f}"
        for flag, count in sorted(counts.items())
        if flag not in _NO_WARNING and 100 * count >= runs
    )


def _two(values: Sequence[float] | FloatArray) -> str:
    first, second = values
    return f"{first:.2f} {second:.2f}"


def _significant(judged: Judged, scale: str) -> str:
    differs = 100 * (judged.p[scale] <= ALPHA).mean()
    return f"{_number(_mean(judged.d[scale]))}, {differs:.0f}"


def _verdicts(d: FloatArray, percent: Mapping[str, float]) -> str:
    return f"{_number(_mean(d))}, {percent['gap']:.0f}, {percent['equivalent']:.0f}"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _wrong(percent: Mapping[str, float]) -> str:
    wrong = percent["wrong"]
    if np.isnan(wrong):
        return ""
    return f"**{wrong:.0f}**" if wrong > 5 else f"{wrong:.0f}"


def settings(runs: int, rows: Sequence[str] = ()) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the heading and the rows of each part of the table; all, or those that are named."""
    seed = 0
    for heading, of_heading in SETTINGS.items():
        part = []
        for setting in of_heading:
            seed += 1
            if not rows or any(text in f"{heading}: {setting.name}" for text in rows):
                part.append(table_row(setting, runs, seed))
        if part:
            yield heading, part


ROOMS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], FloatArray]] = {
    "equal": lambda rng, size: rng.uniform(0.2, 0.6, size),
    "halved in one group": lambda rng, size: rng.uniform(0.1, 0.3, size),
    "often near 0 in one group": lambda rng, size: rng.beta(0.4, 1.2, size),
}


def sizes(runs: int) -> Iterator[dict[str, Any]]:
    """Yield how often skill of equal groups differs on one scale, and its bias."""
    for number, (name, second) in enumerate(ROOMS.items()):
        for seeds, n in ((3, 12), (3, 60), (5, 60), (8, 150)):
            rng = np.random.default_rng([1, number, seeds, n])
            groups = np.repeat(ORDER, n).tolist()
            pairs = []
            for _ in range(runs):
                parts = [
                    _gain_and_room(rooms, (seeds, n), rng) for rooms in (ROOMS["equal"], second)
                ]
                gain, room = np.concatenate(parts, axis=-1)
                rows = np.array([linearised(*row, groups) for row in zip(gain, room, strict=True)])
                pairs.append((rows[:, :n], rows[:, n:]))
            tests = tests_of(pairs)
            p = np.array([test.p_mean for test in tests])
            yield {
                "room": name,
                "trainings": seeds,
                "texts": n,
                "at 5 %": float((p <= 0.05).mean()),
                "at 0.5 %": float((p <= 0.005).mean()),
                "bias": float(np.mean([test.estimate for test in tests])),
            }


def _gain_and_room(
    rooms: Callable[[np.random.Generator, tuple[int, ...]], FloatArray],
    shape: tuple[int, int],
    rng: np.random.Generator,
) -> FloatArray:
    """Return (2, s, n) gains of a skill of one half, and the room of the texts."""
    room = rooms(rng, shape)
    gain = room * (0.5 + rng.normal(0, 0.25, shape) + rng.normal(0, 0.2, shape[1]))
    return np.array([gain, room])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="of each row")
    parser.add_argument("--rows", nargs="*", default=[], help="rows whose name has such a text")
    parser.add_argument("--write", type=Path, help="page that has the tables between its marks")
    options = parser.parse_args()
    tables = []
    for heading, part in settings(options.runs, options.rows):
        tables.append(f"**{heading}**\n\n{markdown(part)}\n")
        print(tables[-1], flush=True)
    if not options.rows:
        by_room = pd.DataFrame(sizes(options.runs))
        tables.append(f"**Room**\n\n{by_room.to_markdown(index=False, floatfmt='.3f')}\n")
        print(tables[-1])
    if options.write is not None:
        text = "\n".join([f"{options.runs} runs a row. {_BEFORE}\n", *tables])
        write_between_marks(options.write, "simulated skill", text)


if __name__ == "__main__":
    main()
