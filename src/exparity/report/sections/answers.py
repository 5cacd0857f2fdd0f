"""Questions of an auditor of one classifier, each answered in a sentence at the end of the page."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import NormalDist, fmean

from exparity.core.formats import signed
from exparity.report.conclusions.advice import partly_explained
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.preference import other_group
from exparity.report.provenance import dropped_rows_of
from exparity.report.rows import ExplanationRow, TextRow, VerdictRow
from exparity.report.verdicts import (
    effect_size,
    is_gap,
    names_favoured,
    skills_of,
)

_WORDS = 3
"""Words that are named for a group."""
_TEXTS = 3
"""Texts that each of them is in at least."""


def build(context: Context) -> Content | None:
    """Return the content of the section; None if models were trained several times."""
    study = context.study
    if not study.one_training or not study.verdicts:
        return None
    cells = [cell for table in context.tables for cell in table.cells.values()]
    standing = [cell.standing for cell in cells if cell.standing]
    judged = [row for row in standing if row.verdict]
    favouring = [row for row in judged if names_favoured(row) and row.better_group]
    largest = max(favouring, key=effect_size, default=None)
    uncounted = [
        *dropped_rows_of(context.origins),
        *((part.dataset, part.words) for part in partly_explained(context)),
    ]
    left_out = [f"{study.display('dataset', d)}: {words}" for d, words in uncounted]
    answers = {
        "Which words cause it?": _no_gap(standing, "cause") or _words(study, largest),
        "How large is that?": _no_gap(standing, "size") or _in_plain_numbers(largest),
        "Did every row of my table count?": f"No. {'; '.join(left_out)}."
        if left_out
        else "Yes: every row was predicted and explained.",
    }
    return Content({"answers": answers}, unfolded=True)


def _no_gap(standing: Sequence[VerdictRow], what: str) -> str:
    """Return that there is no gap to speak of the cause or size of; empty where there is one."""
    tested = [row for row in standing if row.verdict]
    if not tested:
        return "Unknown: nothing could be tested."
    if any(is_gap(row) for row in tested):
        return ""
    left = len(standing) - len(tested)
    others = f" {left:,} of {len(standing):,} cells were not tested." if left else ""
    return f"No gap was found in the cells that were tested, and so no {what}.{others}"


def _words(study: Study, largest: VerdictRow | None) -> str:
    if largest is None:
        return "No gap is shown, and so no cause is looked for."
    texts = study.read_records(TextRow, "data", dataset=largest.dataset)
    explanations = study.read_records(
        ExplanationRow,
        "explanations",
        dataset=largest.dataset,
        model=largest.model,
        method=largest.method,
        seed=study.seeds[0],
    )
    if not texts or not explanations:
        return "The explanations are missing."
    shares = _shares_by_group(texts, explanations)
    most = []
    for group in largest.groups:
        by_word = shares.get(group, {})
        means = {word: fmean(values) for word, values in by_word.items() if len(values) >= _TEXTS}
        if top := [f"“{word}”" for word, _ in Counter(means).most_common(_WORDS)]:
            most.append(f"in texts of {group} on {', '.join(top)}")
    if not most:
        return f"No word is in {_TEXTS} texts or more."
    return (
        f"{study.display('method', largest.method)}, with the largest gap, relies most "
        f"{'; '.join(most)} (words of {_TEXTS} texts or more by their mean share). That is "
        "where to look, and not proof of a cause."
    )


def _shares_by_group(
    texts: Sequence[TextRow], explanations: Sequence[ExplanationRow]
) -> dict[str, dict[str, list[float]]]:
    """Return the shares of a text's attributions that words have, by group and word."""
    by_id = {text.example_id: text for text in texts}
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for explanation in explanations:
        text = by_id[explanation.example_id]
        words = text.all_words
        sums: dict[str, float] = defaultdict(float)
        for place, score in zip(explanation.word_ids, explanation.scores, strict=True):
            if place >= 0:
                sums[words[place].lower()] += score
        total = sum(map(abs, sums.values())) or 1.0
        for word, attribution in sums.items():
            shares[text.group][word].append(attribution / total)
    return shares


def _in_plain_numbers(largest: VerdictRow | None) -> str:
    if largest is None:
        return "No gap is shown, and so no size is told."
    if largest.quantity == "skill":
        return f"{skills_of(largest)} (d = {signed(largest.d)})."
    better = largest.better_group
    worse = other_group(largest)
    share = NormalDist().cdf(abs(largest.d) / math.sqrt(2))
    return (
        f"The largest gap is d = {signed(largest.d)}: of one text of {better} and one of {worse}, "
        f"drawn at random, that of {better} has the better score in {100 * share:.0f} of 100 "
        "draws; without a gap it would be 50."
    )
