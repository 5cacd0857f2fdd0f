"""The runner of stages and analyses: it calls one, and writes its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from exparity.artefacts.analyses import ANALYSES, inputs_of, options_of_job
from exparity.artefacts.files import running, write_artefact
from exparity.core.errors import InputError
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


def stage(
    name: str, artefact: str = "", *further: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have artefacts that a function writes name its stage, and the time that it took.

    If there is an ``artefact``, the function returns a :class:`StageResult` that is written as it:
    its path becomes an argument, ``output``. Those of ``further`` artefacts are named after them.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        writing = _written(function, artefact, further) if artefact else function

        @wraps(writing)
        def run(*arguments: Any, **options: Any) -> Any:
            with running(name):
                return writing(*arguments, **options)

        return run

    return decorate


def analysis(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an analysis under ``id`` with its facts, those of ``AnalysisFacts``.

    The function takes the paths of what it reads, and its options as keywords. It returns a
    :class:`StageResult`, which is written with its options. One that takes hours, and writes part
    by part, takes the path of its artefact as well, ``output``, and returns nothing.
    """
    register = ANALYSES.register(id, **facts)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        writes = "output" in inspect.signature(function).parameters
        artefacts = () if writes else (str(facts.get("artefact")), *facts.get("further", ()))
        function = stage(id, *artefacts)(function)
        inputs = inputs_of(function)
        if len(inputs) != len(facts.get("reads", ())):
            raise InputError(
                f"analysis '{id}': reads {len(facts.get('reads', ()))} artefacts, but the function "
                f"takes {len(inputs)}"
            )
        return register(function)

    return decorate


def _written(
    function: Callable[..., Any], artefact: str, further: Sequence[str]
) -> Callable[..., Any]:
    """Return a function with an argument more for each artefact that it writes."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = inspect.signature(function)
    taken = list(own.parameters.values())
    needed = sum(p.kind is kind and p.default is p.empty for p in taken)
    outputs = {"output": artefact, **{name: name for name in further}}
    taken[needed:needed] = [inspect.Parameter(name, kind, annotation=Output) for name in outputs]
    signature = own.replace(parameters=taken)

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        paths = {name: given.arguments.pop(name) for name in outputs}
        result: StageResult = function(**given.arguments)
        parameters = result.parameters
        if parameters is None:
            parameters = options_of_job(function, given.arguments)
        for name, written in outputs.items():
            rows = result.rows if name == "output" else result.further[name]
            write_artefact(
                paths[name], written, rows, result.ids, parameters=parameters, extra=result.facts
            )

    run.__signature__ = signature  # type: ignore[attr-defined]
    run.further = tuple(further)  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, **dict.fromkeys(outputs, Output)}
    run.__annotations__["return"] = None
    lines = [f"        {name}: the {of} artefact to write.\n" for name, of in outputs.items()]
    explained = "".join(["Args:\n", *lines])
    run.__doc__ = (function.__doc__ or "").replace("Args:\n", explained, 1)
    return run
