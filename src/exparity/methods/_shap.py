"""The two classes of shap that decide on Owen values, without the rest of the package.

``import shap`` brings matplotlib and numba, and the first explanation waits until numba has
compiled five small functions: seconds of every job, for nothing that changes a value. The same
source files are loaded here under another name, without those of plots and of other explainers, and
functions run as they are written, as under numba's own ``NUMBA_DISABLE_JIT``. Who imports shap gets
the whole package, before and after.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = f"{__name__}_files"


def _parts() -> tuple[Any, Any]:
    """Load shap's explainer of partitions and its masker of texts."""
    shap = find_spec("shap")
    folders = shap.submodule_search_locations if shap else None
    for package in ("", "explainers", "maskers"):  # without their own files, which import all
        module = ModuleType(f"{_NAME}.{package}".rstrip("."))
        module.__path__ = [str(Path(folder, package)) for folder in folders or ()]
        sys.modules[module.__name__] = module
    with _numba_without_compiler():
        explanation = import_module(f"{_NAME}._explanation")
        vars(sys.modules[_NAME])["Explanation"] = explanation.Explanation
        explainer = import_module(f"{_NAME}.explainers._partition")
        masker = import_module(f"{_NAME}.maskers._text")
    return explainer.PartitionExplainer, masker.Text


@contextmanager
def _numba_without_compiler() -> Iterator[None]:
    """Let ``numba.njit`` leave functions as they are while modules load."""
    real = sys.modules.get("numba")
    sys.modules["numba"] = ModuleType("numba")
    vars(sys.modules["numba"])["njit"] = lambda function: function
    try:
        yield
    finally:
        del sys.modules["numba"]
        if real:
            sys.modules["numba"] = real


def _whole() -> tuple[Any, Any]:
    from shap import PartitionExplainer
    from shap.maskers import Text

    return PartitionExplainer, Text


try:
    PartitionExplainer, Text = _parts()
except (ImportError, AttributeError, TypeError):  # shap is another version, laid out differently
    PartitionExplainer, Text = _whole()
