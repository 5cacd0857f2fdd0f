"""exparity: does a post-hoc explanation method work equally well for every group of people?

The public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exparity.artefacts.files import read_results
    from exparity.core.errors import ExparityError, InputError
    from exparity.engine.classifier import Classifier, load_classifier
    from exparity.interface import Explanation
    from exparity.methods import explain
    from exparity.metrics import evaluate
    from exparity.report.plots import (
        plot_disparity,
        plot_distributions,
        plot_effects,
        plot_explanation,
    )
    from exparity.stats import GroupComparison, compare_groups

_HOMES = {
    "Classifier": "exparity.engine.classifier",
    "ExparityError": "exparity.core.errors",
    "Explanation": "exparity.interface",
    "GroupComparison": "exparity.stats",
    "InputError": "exparity.core.errors",
    "compare_groups": "exparity.stats",
    "evaluate": "exparity.metrics",
    "explain": "exparity.methods",
    "load_classifier": "exparity.engine.classifier",
    "plot_disparity": "exparity.report.plots",
    "plot_distributions": "exparity.report.plots",
    "plot_effects": "exparity.report.plots",
    "plot_explanation": "exparity.report.plots",
    "read_results": "exparity.artefacts.files",
}

__all__ = [
    "Classifier",
    "ExparityError",
    "Explanation",
    "GroupComparison",
    "InputError",
    "compare_groups",
    "evaluate",
    "explain",
    "load_classifier",
    "plot_disparity",
    "plot_distributions",
    "plot_effects",
    "plot_explanation",
    "read_results",
]
__version__ = version("exparity")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'exparity' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
