"""Questions of an auditor of one classifier, each answered in a sentence at the end of the page."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple

from exparity.core.formats import signed
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.preference import other_group
from exparity.report.provenance import dropped_rows_of
from exparity.report.sections.findings import (
    DEPENDENT,
    INSEPARABLE,
    strongest_dependence,
    unreliable_sentences,
)
from exparity.report.tables import Row, by_dataset
from exparity.report.verdicts import (
    CONTROLLED,
    certainty,
    detectable,
    effect_size,
    is_decided,
    named,
    skills_of,
    standing_of,
    untested_sentences,
)
from exparity.stats.verdicts import is_description

_WORDS, _TEXTS = 3, 3
"""Words that are named for a group, and texts that each of them is in at least."""


def build(context: Context) -> Content | None:
    """Return the content of the section; None if models were trained several times."""
    study = context.study
    if not study.one_training or not study.verdicts:
        return None
    cells = [cell for table in context.tables for cell in table.cells.values()]
    standing = [cell.standing for cell in cells if cell.standing]
    judged = [row for row in standing if row["verdict"]]
    favouring = [row for row in judged if named(row["verdict"]).favours and row["better_group"]]
    largest = max(favouring, key=effect_size, default=None)
    partly = list(_partly_explained(context))
    uncounted = [*dropped_rows_of(context.origins), *((one.dataset, one.words) for one in partly)]
    left_out = [f"{study.display('dataset', d)}: {words}" for d, words in uncounted]
    answers = {
        "Do the explanations differ, or is the classifier only surer of one group?": (
            _explanations_or_certainty(context)
        ),
        "Which words cause it?": _no_gap(standing, "cause") or _words(study, largest),
        "How large is that?": _no_gap(standing, "size") or _in_plain_numbers(largest),
        "What should I do next?": " ".join(_next(study, standing, largest, partly)),
        "Did every row of my table count?": f"No. {'; '.join(left_out)}."
        if left_out
        else "Yes: every row was predicted and explained.",
    }
    return Content({"answers": answers}, unfolded=True)


class PartlyExplained(NamedTuple):
    """A dataset of which some predicted texts are not explained."""

    dataset: str
    least: int  # explained texts of the method that has fewest
    most: int
    predicted: int

    @property
    def words(self) -> str:
        """How many are explained, in words."""
        span = "–".join(f"{n:,}" for n in sorted({self.least, self.most}))
        return f"of {self.predicted:,} predicted texts {span} are explained"


def _partly_explained(context: Context) -> Iterator[PartlyExplained]:
    """Yield the datasets of which some predicted texts are not explained."""
    predicted = {one.whole["dataset"]: one.whole["n"] for one in context.study.accuracies}
    explained = defaultdict(list)
    for origin in context.origins:
        if origin.artefact == "explanations":
            explained[origin.ids["dataset"]].append(origin.facts["rows"])
    for dataset, sizes in explained.items():
        if min(sizes) < predicted[dataset]:
            yield PartlyExplained(dataset, min(sizes), max(sizes), predicted[dataset])


def _no_gap(standing: Sequence[Row], what: str) -> str:
    """Return that there is no gap to speak of the cause or size of; empty where there is one."""
    tested = [row for row in standing if row["verdict"]]
    if not tested:
        return "Unknown: nothing could be tested."
    if any(_is_gap(row) for row in tested):
        return ""
    left = len(standing) - len(tested)
    others = f" {left:,} of {len(standing):,} cells were not tested." if left else ""
    return f"No gap was found in the cells that were tested, and so no {what}.{others}"


def _explanations_or_certainty(context: Context) -> str:
    if not any(row["quantity"] in CONTROLLED for row in context.study.tests):
        return "Unknown: no random explanations were scored."
    each = (
        cell
        for table in context.tables
        for cell in table.cells.values()
        if not is_description(cell.standing)
    )
    # Scores that nothing is compared with cannot tell.
    cells = [cell.verdicts for cell in each if cell.standing.get("quantity") in CONTROLLED]
    tested = [cell for cell in cells if standing_of(cell.values())["verdict"]]
    if not tested:
        return " ".join(
            ["Unknown: nothing could be tested.", *untested_sentences(_standing(cells))]
        )
    differ = [cell for cell in tested if _is_gap(cell.get("score"))]
    beyond = sum(_is_gap(standing_of(cell.values())) for cell in differ)
    sentence = (
        f"Scores differ in {len(differ) or 'none'} of {len(tested)} tested cells with a control."
    )
    if differ:
        others = "; in the others no difference of explanations is shown"
        sentence += (
            f" In {beyond} of these the skill of explanations differs, too (the excess, if a "
            f"metric has no skill){others if beyond < len(differ) else ''}."
        )
    threshold = context.study.statistics["threshold"]
    of_datasets = by_dataset(context.tables).values()
    sure = (certainty((row for t in of for row in t.judged), threshold) for of in of_datasets)
    return " ".join([sentence, *(f"{words}." for words in sure if words)])


def _is_gap(row: Row | None) -> bool:
    return bool(row and row["verdict"] and named(row["verdict"]).is_gap)


def _words(study: Study, largest: Row | None) -> str:
    if largest is None:
        return "No gap was found, and so no cause."
    cell = {kind: largest[kind] for kind in ("dataset", "model", "method")}
    texts = study.by_example("data", dataset=largest["dataset"])
    explanations = study.by_example("explanations", **cell, seed=study.seeds[0])
    if not texts or not explanations:
        return "The explanations are missing."
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)  # by group and word
    for id, row in explanations.items():
        text = texts[id]
        words = [*text["words"], *(text.get("words_b") or ())]
        sums: dict[str, float] = defaultdict(float)
        for place, score in zip(row["word_ids"], row["scores"], strict=True):
            if place >= 0:
                sums[words[place].lower()] += score
        whole = sum(map(abs, sums.values())) or 1.0
        for word, attribution in sums.items():
            shares[text["group"], word].append(attribution / whole)
    most = []
    for group in (largest["group_a"], largest["group_b"]):
        means = {w: fmean(of) for (g, w), of in shares.items() if g == group and len(of) >= _TEXTS}
        if top := [f"“{word}”" for word, _ in Counter(means).most_common(_WORDS)]:
            most.append(f"in texts of {group} on {', '.join(top)}")
    if not most:
        return f"No word is in {_TEXTS} texts or more."
    return (
        f"{study.display('method', largest['method'])}, with the largest gap, relies most "
        f"{'; '.join(most)} (words of {_TEXTS} texts or more by their mean share). That is "
        "where to look, and not proof of a cause."
    )


def _in_plain_numbers(largest: Row | None) -> str:
    if largest is None:
        return "No gap was found, and so no size."
    d, better, worse = largest["d"], largest["better_group"], other_group(largest)
    if largest["quantity"] == "skill":
        return f"{skills_of(largest)} (d = {signed(d)})."
    share = NormalDist().cdf(abs(d) / math.sqrt(2))
    return (
        f"The largest gap is d = {signed(d)}: of one text of {better} and one of {worse}, drawn at "
        f"random, that of {better} has the better score in {100 * share:.0f} of 100 draws; "
        "without a gap it would be 50."
    )


def _standing(cells: Iterable[Mapping[str, Row]]) -> list[Row]:
    """Return the row that counts of each cell."""
    return [standing_of(cell.values()) for cell in cells]


def _next(
    study: Study,
    standing: Sequence[Row],
    largest: Row | None,
    partly: Sequence[PartlyExplained],
) -> Iterator[str]:
    """Yield what to do next, first what limits all else."""
    if unreliable_sentences(study):
        yield "Improve the classifier first: explanations of one that guesses show little."
    yield from untested_sentences(standing)
    dependence = max(strongest_dependence(study).values(), default=0.0)
    if dependence >= INSEPARABLE:
        yield "Compare on other texts, in which every class has texts of each group."
    elif dependence >= DEPENDENT:
        yield (
            "Compare within classes, since label and group go together: the dialog of each cell "
            "has the gap at equal class."
        )
    if largest is not None:
        yield (
            f"Read explanations of {other_group(largest)} in the section Explanations. If the "
            "classifier can be trained again, do so with other seeds: a gap that stays is one of "
            "the model."
        )
    yield from _about_open_cells(study, standing, partly)
    if largest is None and all(row["verdict"] and is_decided(row["verdict"]) for row in standing):
        yield "Nothing, for these groups and texts; check again after each training."


def _about_open_cells(
    study: Study, standing: Sequence[Row], partly: Sequence[PartlyExplained]
) -> Iterator[str]:
    """Yield what cells without a decision need: the texts that were left out, then others."""
    judged = [row for row in standing if row["verdict"]]
    n_open = sum(not is_decided(row["verdict"]) for row in judged)
    if n_open or len(judged) < len(standing):
        for one in partly:
            yield (
                f"Explain the texts of {study.display('dataset', one.dataset)} that were left out: "
                f"{one.words}. Raise max_examples, or leave out --quick."
            )
    if not n_open:
        return
    least = detectable(judged)
    shows = f", and with these texts half of the cells show no gap below |d| = {least:.2g}"
    yield (
        f"Take {'still ' if partly else ''}more texts: {n_open} of {len(judged)} tested cells are "
        f"undecided{shows if least == least else ''}."
    )
