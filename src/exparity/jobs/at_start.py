"""What a run begins with where another workflow imports this one.

When a run starts, Snakemake calls one function, that of the main file, which may call those of its
modules and may forget to. A lock that can be forgotten protects nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exparity.core.errors import ExparityError


def at_start(workflow: Any, name: str, begin: Callable[[], object]) -> None:
    """Have Snakemake call a module's function before that of the main file.

    Args:
        workflow: Snakemake's workflow, while it reads the module.
        name: what the function is for. Snakemake reads a module once for each ``use rule``; the
            last function of a name is the one that is called.
        begin: the function.

    Raises:
        ExparityError: this version of Snakemake does not let it.
    """
    if not hasattr(workflow, "_onstart"):
        raise ExparityError(
            "this version of Snakemake calls no function of a module when a run starts, so that "
            "nothing would keep a second run out; run exparity from its own folder"
        )
    if not hasattr(workflow, "exparity_starts"):
        workflow.exparity_starts = {}
        _go_first(workflow)
    workflow.exparity_starts[name] = begin


def _go_first(workflow: Any) -> None:
    """Put the modules' functions before what the main file has set, or is going to set."""
    register = workflow.onstart

    def after_modules(own: Callable[[Any], object]) -> Callable[[Any], None]:
        def start(log: Any) -> None:
            for begin in workflow.exparity_starts.values():
                begin()
            own(log)

        return start

    def onstart(own: Callable[[Any], object]) -> None:
        register(after_modules(own) if workflow.modifier.is_main_snakefile() else own)

    workflow._onstart = after_modules(workflow._onstart)
    workflow.onstart = onstart
