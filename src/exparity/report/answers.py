"""The five answers of a finished run, for a notebook or a script: :func:`read_answers`."""

from __future__ import annotations

from pathlib import Path

from exparity.artefacts import layout
from exparity.artefacts.grid import read_grid
from exparity.core.errors import InputError
from exparity.explanations.markup import notebook_html
from exparity.report.conclusions import Answer, conclusions_of, in_lines
from exparity.report.context import Context
from exparity.report.gather import gather

_TEMPLATE = Path(__file__).parent / "templates" / "answers.html.j2"


class Answers(dict[str, Answer]):
    """The answer to each question, in order, as a notebook and ``print`` show them."""

    def __str__(self) -> str:
        return "\n".join(in_lines(self))

    def _repr_html_(self) -> str:
        """Return how notebooks show them."""
        return notebook_html(_TEMPLATE, answers=self)


def read_answers(folder: str | Path) -> Answers:
    """Return what a run says: five questions and their answers, as its page begins.

    Args:
        folder: the results folder of a finished run, such as ``results``.

    Returns:
        By question an answer, whose ``text`` is said first, and whose ``more`` are further
        sentences.

    Raises:
        InputError: there is no finished run in the folder, or it compares no groups.

    Examples:
        >>> import exparity
        >>> list(exparity.read_answers("results"))[0]
        'Does the classifier work for everybody?'
    """
    results = Path(folder)
    grid = read_grid(results)
    is_judged = (results / layout.path_of("verdicts", {})).is_file()
    if grid is None or not is_judged:
        raise InputError(f"{results}: there are no verdicts yet; run the experiment first")
    answers = Answers(conclusions_of(Context(gather(results, grid), results / "report")))
    if not answers:
        raise InputError(f"{results}: no groups are compared; the report has the means of scores")
    return answers
