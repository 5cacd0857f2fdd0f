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
from exparity.report.tables import Row
from exparity.report.verdicts import (
    effect_size,
    is_gap,
    skills_of,
    verdict_of,
)

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
    favouring = [
        row for row in judged if verdict_of(row["verdict"]).favours and row["better_group"]
    ]
    largest = max(favouring, key=effect_size, default=None)
    uncounted = [
        *dropped_rows_of(context.origins),
        *((one.dataset, one.words) for one in partly_explained(context)),
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


def _no_gap(standing: Sequence[Row], what: str) -> str:
    """Return that there is no gap to speak of the cause or size of; empty where there is one."""
    tested = [row for row in standing if row["verdict"]]
    if not tested:
        return "Unknown: nothing could be tested."
    if any(is_gap(row) for row in tested):
        return ""
    left = len(standing) - len(tested)
    others = f" {left:,} of {len(standing):,} cells were not tested." if left else ""
    return f"No gap was found in the cells that were tested, and so no {what}.{others}"


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
