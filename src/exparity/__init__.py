"""exparity: does a post-hoc explanation method work equally well for every group of people?

The public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
import sys

# Every job imports this and exparity.warm.client, without typing and pathlib: they would take a
# fifth of the time of the process that hands a job over.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from exparity.artefacts.files import read_results as read_results
    from exparity.benchmarking import Benchmark as Benchmark
    from exparity.benchmarking import benchmark as benchmark
    from exparity.core.errors import ExparityError as ExparityError
    from exparity.core.errors import InputError as InputError
    from exparity.engine.classifier import Classifier as Classifier
    from exparity.engine.loading import load_classifier as load_classifier
    from exparity.explanations import Explanation as Explanation
    from exparity.methods import explain as explain
    from exparity.metrics import evaluate as evaluate
    from exparity.report.answers import read_answers as read_answers
    from exparity.report.plots import plot_distributions as plot_distributions
    from exparity.report.plots import plot_effects as plot_effects
    from exparity.report.plots import plot_verdicts as plot_verdicts
    from exparity.stats.compare import GroupComparison as GroupComparison
    from exparity.stats.compare import compare_groups as compare_groups
    from exparity.types import Text as Text

    __version__: str

_HOMES = {
    "artefacts.files": ["read_results"],
    "benchmarking": ["Benchmark", "benchmark"],
    "core.errors": ["ExparityError", "InputError"],
    "engine.classifier": ["Classifier"],
    "engine.loading": ["load_classifier"],
    "explanations": ["Explanation"],
    "methods": ["explain"],
    "metrics": ["evaluate"],
    "report.answers": ["read_answers"],
    "report.plots": ["plot_distributions", "plot_effects", "plot_verdicts"],
    "stats.compare": ["GroupComparison", "compare_groups"],
    "types": ["Text"],
}

__all__ = sorted(name for names in _HOMES.values() for name in names)


if not TYPE_CHECKING:  # a type checker that sees it takes every name for one of the package

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            # What reads it takes longer to import than all else that hands a job over.
            from importlib.metadata import version

            return version("exparity")
        for module, names in _HOMES.items():
            if name in names:
                return getattr(importlib.import_module(f"exparity.{module}"), name)
        message = f"module 'exparity' has no attribute '{name}'"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
