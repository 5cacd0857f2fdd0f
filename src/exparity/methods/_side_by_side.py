"""Libraries that explain one text at a time, run side by side, so that their passes share batches.

Such a library calls a function of the model now and then, and waits for the answer. Each text has a
thread. Only one thread runs at a time, until it asks; what all of them ask is answered together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

import numpy as np

from exparity.core.seeding import GlobalDraws
from exparity.types import FloatArray

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Ask = Callable[[Question], Answer]
Explain = Callable[[int, Ask[Question, Answer]], FloatArray]
"""From a text's number, and a function that asks for it, to the text's scores."""

TOGETHER = 64
"""Texts that run side by side; more would only hold more memory."""


def explained_side_by_side(
    explain: Explain[Question, Answer],
    answer: Callable[[Mapping[int, Question]], Sequence[Answer]],
    generators: Sequence[np.random.Generator],
) -> list[FloatArray]:
    """Explain texts with a library, a text in a thread, and answer what they ask in batches.

    Args:
        explain: explains one text; draws from the global generators are the text's own.
        answer: receives questions by the number of the text, and returns an answer to each.
        generators: of each text's draws.

    Raises:
        Exception: what ``explain`` raises for the first text that fails.
    """
    scores: list[FloatArray] = [np.zeros(0)] * len(generators)
    for first in range(0, len(generators), TOGETHER):
        numbers = range(first, min(first + TOGETHER, len(generators)))
        texts = {number: _Text(explain, number, generators[number]) for number in numbers}
        try:
            questions = _next_questions(texts, dict.fromkeys(texts))
            while questions:
                answers = dict(zip(questions, answer(questions), strict=True))
                questions = _next_questions(texts, answers)
        finally:
            for text in texts.values():
                text.stop()
        for number, text in texts.items():
            scores[number] = text.scores
    return scores


def _next_questions(
    texts: Mapping[int, _Text[Question, Answer]], answers: Mapping[int, Answer | None]
) -> dict[int, Question]:
    """Go on with the texts that have an answer, and return what they ask next."""
    questions = {}
    for number, reply in answers.items():
        for question in texts[number].go_on(reply):
            questions[number] = question
    return questions


class _Stopped(BaseException):
    """Ends a thread that nobody answers any more; no library catches it."""


class _Text(Generic[Question, Answer]):
    """A text in a thread of its own.

    Attributes:
        scores: its scores, once it has ended.
    """

    def __init__(
        self, explain: Explain[Question, Answer], number: int, rng: np.random.Generator
    ) -> None:
        self.scores: FloatArray = np.zeros(0)
        self._explain = explain
        self._number = number
        self._draws = GlobalDraws(rng)
        self._answers: SimpleQueue[Answer | type[_Stopped] | None] = SimpleQueue()
        self._questions: SimpleQueue[list[Question] | BaseException] = SimpleQueue()
        self._thread = Thread(target=self._run, daemon=True)

    def go_on(self, reply: Answer | None) -> list[Question]:
        """Run the thread until it asks, and return its question; none if it has ended."""
        if not self._thread.ident:
            self._thread.start()
        with self._draws.in_use():
            self._answers.put(reply)
            outcome = self._questions.get()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def stop(self) -> None:
        """End the thread."""
        if self._thread.ident:
            self._answers.put(_Stopped)
            self._thread.join()

    def _run(self) -> None:
        try:
            self._next_answer()
            self.scores = self._explain(self._number, self._ask)
        except _Stopped:
            return
        except BaseException as error:
            self._questions.put(error)
        else:
            self._questions.put([])

    def _ask(self, question: Question) -> Answer:
        self._questions.put([question])
        reply = self._next_answer()
        assert reply is not None
        return reply

    def _next_answer(self) -> Answer | None:
        reply = self._answers.get()
        if reply is _Stopped:
            raise _Stopped
        return reply  # type: ignore[return-value]
