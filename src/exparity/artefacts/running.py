"""Decorators of stages and analyses whose result is written for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from exparity.artefacts.analyses import ANALYSES, OF_JOB, arguments_of
from exparity.artefacts.files import write_artefact
from exparity.core.flags import Output


class StageResult(NamedTuple):
    """Result of a stage or an analysis.

    Attributes:
        rows: of its artefact, one mapping each, with the ids that the path of the file lacks.
        ids: those of the file, such as ``dataset``.
        facts: what else readers of the file need, such as the order of the ``groups``.
        parameters: what the rows depend on; the options of the function if None.
        further: rows of the other artefacts that the job makes, by artefact.
    """

    rows: Sequence[Mapping[str, object]]
    ids: Mapping[str, str | int]
    facts: Mapping[str, object] = {}
    parameters: Mapping[str, object] | None = None
    further: Mapping[str, Sequence[Mapping[str, object]]] = {}


def writes_result(*artefacts: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have the :class:`StageResult` that a function returns written as artefacts.

    Their paths become arguments: ``output``, and the names of those after the first.
    """
    outputs = dict(zip(("output", *artefacts[1:]), artefacts, strict=True))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        without_outputs = inspect.signature(function)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        all_parameters = list(without_outputs.parameters.values())
        needed = sum(p.kind is kind and p.default is p.empty for p in all_parameters)
        all_parameters[needed:needed] = [
            inspect.Parameter(name, kind, annotation=Output) for name in outputs
        ]
        signature = without_outputs.replace(parameters=all_parameters)

        @wraps(function)
        def run(*arguments: Any, **options: Any) -> None:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            paths = {name: bound.arguments.pop(name) for name in outputs}
            result: StageResult = function(**bound.arguments)
            parameters = result.parameters
            if parameters is None:
                names = [name for name in arguments_of(function) if name not in OF_JOB]
                parameters = {name: bound.arguments[name] for name in names}
            rows = {"output": result.rows, **result.further}
            for name, artefact in outputs.items():
                write_artefact(
                    paths[name],
                    artefact,
                    rows[name],
                    result.ids,
                    parameters=parameters,
                    extra=result.facts,
                )

        run.__signature__ = signature  # type: ignore[attr-defined]
        run.further = artefacts[1:]  # type: ignore[attr-defined]
        run.__annotations__ |= {**dict.fromkeys(outputs, Output), "return": None}
        lines = [
            f"    {name}: the {artefact} artefact to write.\n" for name, artefact in outputs.items()
        ]
        explained = "".join(["Args:\n", *lines])
        # From Python 3.13 on, docstrings have lost their indentation by now.
        run.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("Args:\n", explained, 1)
        return run

    return decorate


def analysis(name: str, /, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an analysis under its id ``name`` with its facts, those of ``AnalysisFacts``.

    The function takes the paths of what it reads, and its options as keywords. It returns a
    :class:`StageResult`, which is written with its options. One that takes hours, and writes part
    by part, takes the path of its artefact as well, ``output``, and returns nothing.
    """
    register = ANALYSES.register(name, **facts)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        writes = "output" in inspect.signature(function).parameters
        return register(function if writes else writes_result(*facts["writes"])(function))

    return decorate
