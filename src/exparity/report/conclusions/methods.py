"""Which method should I use? The best methods by the metric that comes first."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from exparity.core.formats import joined
from exparity.core.grouping import grouped
from exparity.report.conclusions.answer import MOST, Answer
from exparity.report.context import Context
from exparity.report.gather import Study
from exparity.report.ranking import Ranking

_NO_NAMES = ("No ", "For ")
"""Beginnings of sentences that no name of a method begins."""


def about_methods(context: Context) -> Answer:
    """Answer which method is best, and for whom."""
    study = context.study
    rankings: list[Ranking] = context.found_by("ranking").get("rankings", [])
    if not rankings:
        n_methods = len(study.methods)
        why = "Only one method was run" if n_methods == 1 else "Methods were not compared"
        return Answer(f"{why}, so none can be recommended.")
    conclusions = [
        (measure, _sentence(study, sentences, alike))
        for (measure, sentences), alike in grouped(rankings, _conclusion).items()
    ]
    more = [_by_measure([conclusion]) for conclusion in conclusions[MOST:]]
    return Answer(_by_measure(conclusions[:MOST]), more, "ranking")


def _by_measure(conclusions: Sequence[tuple[str, str]]) -> str:
    """Return conclusions, each measure named once."""
    return " ".join(
        f"By {measure}: {'; '.join(sentence for _, sentence in members)}."
        for measure, members in grouped(conclusions, itemgetter(0)).items()
    )


def _sentence(study: Study, sentences: Sequence[str], alike: Sequence[Ranking]) -> str:
    """Return what is concluded at some places, without its full stop."""
    places = joined(list(dict.fromkeys(_place(study, ranking) for ranking in alike)))
    verdict = " ".join(sentences).removesuffix(".")
    if verdict.startswith(_NO_NAMES):
        verdict = verdict[0].lower() + verdict[1:]
    return f"on {places}, {verdict}"


def _conclusion(ranking: Ranking) -> tuple[str, tuple[str, ...]]:
    return ranking.measure, tuple(ranking.sentences)


def _place(study: Study, ranking: Ranking) -> str:
    name = ranking.dataset
    return f"{name} ({ranking.model})" if study.has_several_models else name
