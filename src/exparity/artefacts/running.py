"""How an analysis runs: what it returns, and how that is written."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from exparity.artefacts.analyses import ANALYSES, inputs_of, options_of_job
from exparity.artefacts.files import write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Output


class Made(NamedTuple):
    """What an analysis found.

    Attributes:
        rows: of its artefact, one mapping each, with the ids that the path of the file lacks.
        ids: those of the file, such as ``dataset``.
        facts: what else readers of the file need, such as the order of the ``groups``.
    """

    rows: Sequence[Mapping[str, Any]]
    ids: Mapping[str, Any]
    facts: Mapping[str, Any] = {}


def analysis(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an analysis under ``id`` with its facts, those of ``AnalysisFacts``.

    The function takes the paths of what it reads, and its options as keywords. It returns what it
    has :class:`Made`, which is written with its options. One that takes hours, and writes part by
    part, takes the path of its artefact as well, ``output``, and returns nothing.
    """
    register = ANALYSES.register(id, **facts)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if "output" not in inspect.signature(function).parameters:
            function = _written(function, id, str(facts.get("artefact")))
        inputs = inputs_of(function)
        if len(inputs) != len(facts.get("reads", ())):
            raise InputError(
                f"analysis '{id}': reads {len(facts.get('reads', ()))} artefacts, but the function "
                f"takes {len(inputs)}"
            )
        return register(function)

    return decorate


def _written(function: Callable[..., Any], id: str, artefact: str) -> Callable[..., Any]:
    """Return an analysis with one argument more, ``output``, the artefact that it writes."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = inspect.signature(function)
    taken = list(own.parameters.values())
    needed = [p.kind is kind and p.default is p.empty for p in taken]
    output = inspect.Parameter("output", kind, annotation=Output)
    taken.insert(sum(needed), output)
    signature = own.replace(parameters=taken)

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        start = time.monotonic()
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        path = given.arguments.pop("output")
        made: Made = function(**given.arguments)
        write_artefact(
            path,
            artefact,
            made.rows,
            made.ids,
            stage=id,
            parameters=options_of_job(function, given.arguments),
            seconds=time.monotonic() - start,
            extra=made.facts,
        )

    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, "output": Output, "return": None}
    explained = f"Args:\n        output: the {artefact} artefact to write.\n"
    run.__doc__ = (function.__doc__ or "").replace("Args:\n", explained, 1)
    return run
