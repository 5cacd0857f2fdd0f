"""What a study says: five questions and their answers, in one order everywhere.

Does the classifier work for everybody? Are explanations of one group worse? Why do scores differ?
Which method should I use? What next, and what not to say? Page, terminal and audit print the same
words. Each answer is made of findings of its own module, and where nothing was measured it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from exparity.report.conclusions.advice import next_steps
from exparity.report.conclusions.answer import Answer
from exparity.report.conclusions.classifiers import about_classifiers
from exparity.report.conclusions.explanations import about_explanations
from exparity.report.conclusions.methods import about_methods
from exparity.report.conclusions.sources import about_sources
from exparity.report.context import Context

__all__ = ["Answer", "conclusions_of", "in_lines"]
_QUESTIONS: dict[str, Callable[[Context], Answer]] = {
    "Does the classifier work for everybody?": about_classifiers,
    "Are the explanations of one group worse?": about_explanations,
    "Why do scores differ?": about_sources,
    "Which method should I use?": about_methods,
    "What next, and what not to say?": next_steps,
}


def conclusions_of(context: Context) -> dict[str, Answer]:
    """Return the answer to each question; a study without groups asks none of them."""
    if not context.study.compares:
        return {}
    return {question: answer(context) for question, answer in _QUESTIONS.items()}


def in_lines(answers: Mapping[str, Answer]) -> Iterator[str]:
    """Yield a line of text for each question, with its answer."""
    for number, (question, answer) in enumerate(answers.items(), start=1):
        left = f" ({len(answer.more)} more on the page.)" if answer.more else ""
        yield f"{number}. {question} {answer.text}{left}"
