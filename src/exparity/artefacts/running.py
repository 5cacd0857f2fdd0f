"""The runner of stages and analyses: it calls one, and writes its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from exparity.artefacts.analyses import ANALYSES, OF_JOB, arguments_of
from exparity.artefacts.files import running, write_artefact
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

    rows: Sequence[Mapping[str, Any]]
    ids: Mapping[str, Any]
    facts: Mapping[str, Any] = {}
    parameters: Mapping[str, Any] | None = None
    further: Mapping[str, Sequence[Mapping[str, Any]]] = {}


def stage(name: str, *artefacts: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have artefacts that a function writes name its stage, and the time that it took.

    If there are ``artefacts``, the function returns a :class:`StageResult`, which is written as
    them. Their paths become arguments: ``output``, and the names of those after the first.
    """
    outputs = dict(zip(("output", *artefacts[1:]), artefacts, strict=False))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = _with_outputs(inspect.signature(function), outputs)

        @wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            with running(name):
                if not outputs:
                    return function(*arguments, **options)
                given = signature.bind(*arguments, **options)
                given.apply_defaults()
                paths = {one: given.arguments.pop(one) for one in outputs}
                result: StageResult = function(**given.arguments)
                parameters = result.parameters
                if parameters is None:
                    names = [one for one in arguments_of(function) if one not in OF_JOB]
                    parameters = {one: given.arguments[one] for one in names}
                rows = {"output": result.rows, **result.further}
                for one, artefact in outputs.items():
                    write_artefact(
                        paths[one],
                        artefact,
                        rows[one],
                        result.ids,
                        parameters=parameters,
                        extra=result.facts,
                    )
                return None

        if outputs:
            run.__signature__ = signature  # type: ignore[attr-defined]
            run.further = artefacts[1:]  # type: ignore[attr-defined]
            run.__annotations__ |= {**dict.fromkeys(outputs, Output), "return": None}
            lines = [f"        {one}: the {of} artefact to write.\n" for one, of in outputs.items()]
            explained = "".join(["Args:\n", *lines])
            run.__doc__ = (function.__doc__ or "").replace("Args:\n", explained, 1)
        return run

    return decorate


def _with_outputs(own: inspect.Signature, outputs: Iterable[str]) -> inspect.Signature:
    """Return a signature with an argument more for each artefact, after those that are needed."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    taken = list(own.parameters.values())
    needed = sum(p.kind is kind and p.default is p.empty for p in taken)
    taken[needed:needed] = [inspect.Parameter(name, kind, annotation=Output) for name in outputs]
    return own.replace(parameters=taken)


def analysis(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an analysis under ``id`` with its facts, those of ``AnalysisFacts``.

    The function takes the paths of what it reads, and its options as keywords. It returns a
    :class:`StageResult`, which is written with its options. One that takes hours, and writes part
    by part, takes the path of its artefact as well, ``output``, and returns nothing.
    """
    register = ANALYSES.register(id, **facts)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        writes = "output" in inspect.signature(function).parameters
        function = stage(id, *([] if writes else facts["writes"]))(function)
        return register(function)

    return decorate
