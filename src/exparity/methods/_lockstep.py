"""Running many explainers at once, although each asks the model about one text at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

Ask = Callable[[Any], Any]


class _Task:
    """A function that runs in a thread when asked to, with a state of numpy's random numbers."""

    def __init__(self, function: Callable[[Ask], Any], seed: int) -> None:
        self._function = function
        self._random = np.random.RandomState(seed).get_state()
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self.question: Any = None
        self.answer: Any = None
        self.result: Future[Any] = Future()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            self.result.set_result(self._function(self._ask))
        except BaseException as error:
            self.result.set_exception(error)
        self._stopped.release()

    def _ask(self, question: Any) -> Any:
        self.question = question
        self._stopped.release()
        self._go.acquire()
        return self.answer

    def proceed(self) -> None:
        """Let it run until it asks, ends or fails."""
        outside = np.random.get_state()  # noqa: NPY002 - libraries draw from the global state
        np.random.set_state(self._random)  # noqa: NPY002
        self._go.release()
        self._stopped.acquire()
        self._random = np.random.get_state()  # noqa: NPY002
        np.random.set_state(outside)  # noqa: NPY002
        if self.result.done():
            self.result.result()  # raises what the function raised


def run_in_lockstep(
    functions: Sequence[Callable[[Ask], Any]],
    seeds: Sequence[int],
    answer: Callable[[list[int], list[Any]], Sequence[Any]],
) -> list[Any]:
    """Run functions that ask questions, and answer the questions of all of them together.

    One function runs at a time, from one question to its next, with numpy's global random numbers
    as its seed gives them, so that results depend neither on chance nor on how many run. ``answer``
    receives positions of the functions that ask and their questions, and returns their answers.
    """
    tasks = [_Task(function, seed) for function, seed in zip(functions, seeds, strict=True)]
    active = list(range(len(tasks)))
    while active:
        for position in active:
            tasks[position].proceed()
        active = [position for position in active if not tasks[position].result.done()]
        if active:
            answers = answer(active, [tasks[position].question for position in active])
            for position, reply in zip(active, answers, strict=True):
                tasks[position].answer = reply
    return [task.result.result() for task in tasks]
