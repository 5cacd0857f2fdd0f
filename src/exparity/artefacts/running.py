"""How stages and analyses run: what they return, and how that is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from exparity.artefacts.analyses import ANALYSES, inputs_of, options_of_job
from exparity.artefacts.files import running, write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Output


class Made(NamedTuple):
    """What a stage or an analysis made.

    Attributes:
        rows: of its artefact, one mapping each, with the ids that the path of the file lacks.
        ids: those of the file, such as ``dataset``.
        facts: what else readers of the file need, such as the order of the ``groups``.
        parameters: what the rows depend on; the options of the function if None.
    """

    rows: Sequence[Mapping[str, Any]]
    ids: Mapping[str, Any]
    facts: Mapping[str, Any] = {}
    parameters: Mapping[str, Any] | None = None


def stage(name: str, artefact: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have artefacts that a function writes name its stage, and the time that it took.

    If the function returns what it has :class:`Made`, ``artefact`` is what that is written as: the
    path of it becomes an argument, ``output``.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        writing = _written(function, artefact) if artefact else function

        @wraps(writing)
        def run(*arguments: Any, **options: Any) -> Any:
            with running(name):
                return writing(*arguments, **options)

        return run

    return decorate


def analysis(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an analysis under ``id`` with its facts, those of ``AnalysisFacts``.

    The function takes the paths of what it reads, and its options as keywords. It returns what it
    has :class:`Made`, which is written with its options. One that takes hours, and writes part by
    part, takes the path of its artefact as well, ``output``, and returns nothing.
    """
    register = ANALYSES.register(id, **facts)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        writes = "output" in inspect.signature(function).parameters
        function = stage(id, "" if writes else str(facts.get("artefact")))(function)
        inputs = inputs_of(function)
        if len(inputs) != len(facts.get("reads", ())):
            raise InputError(
                f"analysis '{id}': reads {len(facts.get('reads', ()))} artefacts, but the function "
                f"takes {len(inputs)}"
            )
        return register(function)

    return decorate


def _written(function: Callable[..., Any], artefact: str) -> Callable[..., Any]:
    """Return a function with one argument more, ``output``, the artefact that it writes."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = inspect.signature(function)
    taken = list(own.parameters.values())
    needed = [p.kind is kind and p.default is p.empty for p in taken]
    output = inspect.Parameter("output", kind, annotation=Output)
    taken.insert(sum(needed), output)
    signature = own.replace(parameters=taken)

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        path = given.arguments.pop("output")
        made: Made = function(**given.arguments)
        parameters = made.parameters
        if parameters is None:
            parameters = options_of_job(function, given.arguments)
        write_artefact(path, artefact, made.rows, made.ids, parameters=parameters, extra=made.facts)

    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, "output": Output, "return": None}
    explained = f"Args:\n        output: the {artefact} artefact to write.\n"
    run.__doc__ = (function.__doc__ or "").replace("Args:\n", explained, 1)
    return run
