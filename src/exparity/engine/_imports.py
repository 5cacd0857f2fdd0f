"""Loading libraries without the parts that no job uses.

Many jobs of a grid work for less than a second, and the libraries that run their model took 2.9 s
to load, most of it for torch's compiler, tensors over several machines, pictures, plots and the
files of 500 families of models. :func:`spare_imports` leaves those out:

- A *waiting* package loads its submodules as ever, and runs its own code as soon as something
  asks it for more than these and a few names that are known. Nothing is missing, only later.
- transformers is told that scipy and distributed torch are absent, which it then does without.

This is for a process that is one job, and nothing of it happens elsewhere. Each library is spared
only in the versions that this was tested with; others load as they are.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

_OWN_NAMES = ("__all__", "__version__")  # set by a package's own code
# Waking a package may wake another one, in the same thread.
_lock = threading.RLock()


@dataclass(frozen=True)
class Waiting:
    """What is known of a package, so that its own code can wait.

    Attributes:
        values: names that it offers, and what stands in for them.
        homes: names that it takes from a submodule, and that submodule's name.
        alone: the only submodules that may load before the package; all of them if None.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    alone: frozenset[str] | None = None


@dataclass(frozen=True)
class Library:
    """What to spare of a library.

    Attributes:
        versions: beginnings of the versions that this was tested with, by distribution.
        packages: the packages that wait.
        changes: what to do with a module as soon as it is loaded.
    """

    versions: Mapping[str, str]
    packages: Mapping[str, Waiting]
    changes: Mapping[str, Callable[[ModuleType], None]] = field(default_factory=dict)

    def is_known(self) -> bool:
        """Tell whether the installed versions are those that this was tested with."""
        try:
            return all(version(name).startswith(known) for name, known in self.versions.items())
        except PackageNotFoundError:
            return False


class _Package(ModuleType):
    """A package whose own code has not run."""

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__.get("_exparity_waits")
        if known is None:  # awake; a package may have put another object in its place
            now = sys.modules.get(self.__name__, self)
            if now is self:
                raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
            return getattr(now, name)
        if name.startswith("__") and name not in _OWN_NAMES:
            raise AttributeError(name)  # what the import system looks for
        if name in known.homes:
            return getattr(importlib.import_module(known.homes[name]), name)
        submodule = f"{self.__name__}.{name}"
        if _may_load_alone(known, name) and importlib.util.find_spec(submodule):
            return importlib.import_module(submodule)
        wake(self)
        return getattr(sys.modules[self.__name__], name)


def _may_load_alone(known: Waiting, submodule: str) -> bool:
    return known.alone is None or submodule in known.alone


def wake(package: ModuleType) -> None:
    """Run a waiting package's own code, in the same module object; others stay as they are."""
    with _lock:
        known = package.__dict__.pop("_exparity_waits", None)
        if known is None:
            return
        for name in known.values:
            package.__dict__.pop(name, None)
        spec = PathFinder.find_spec(package.__name__, _search_path(package.__name__))
        assert spec is not None
        assert spec.loader is not None
        package.__spec__, package.__loader__ = spec, spec.loader
        spec.loader.exec_module(package)


def _search_path(name: str) -> Sequence[str] | None:
    parent = name.rpartition(".")[0]
    return sys.modules[parent].__path__ if parent else None


class _Waits(Loader):
    """Makes a package that waits."""

    def __init__(self, known: Waiting) -> None:
        self._known = known

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Package(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(self._known.values, _exparity_waits=self._known)


class _Changes(Loader):
    """Loads a module and changes it."""

    def __init__(self, loader: Loader, change: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)


class _Loaded(Loader):
    """Hands out a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class SparingFinder(MetaPathFinder):
    """Finds the modules of some libraries in the form that spares what no job uses."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        self._packages = {n: known for lib in libraries for n, known in lib.packages.items()}
        self._changes = {n: change for lib in libraries for n, change in lib.changes.items()}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See :class:`importlib.abc.MetaPathFinder`."""
        parent, _, own_name = name.rpartition(".")
        waiting = sys.modules.get(parent)
        if isinstance(waiting, _Package):
            known = waiting.__dict__.get("_exparity_waits")
            if known is not None and not _may_load_alone(known, own_name):
                wake(waiting)
                if name in sys.modules:  # the package has loaded it
                    return ModuleSpec(name, _Loaded(sys.modules[name]))
        if name in self._packages:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.submodule_search_locations is not None:
                spec.loader = _Waits(self._packages[name])
                return spec
        elif name in self._changes:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _Changes(spec.loader, self._changes[name])
                return spec
        return None


def _as_it_is(function: Any = None, *_: Any, **__: Any) -> Any:
    """Stand in for a decorator that only matters to a compiler."""
    return _as_it_is if function is None else function


def _do_without(module: ModuleType) -> None:
    """Have transformers do without what no classifier needs."""
    for name in ("is_scipy_available", "is_torch_distributed_available"):
        if hasattr(module, name):
            setattr(module, name, lambda: False)
    # It would run the package's own code once more.
    module.direct_transformers_import = lambda *_: sys.modules["transformers"]  # type: ignore[attr-defined]


class _NoFrame:
    """Stands in for the class of pandas objects, of which there are none."""


def libraries() -> list[Library]:
    """Return what is spared of the libraries that are installed in a known version."""
    torch = Library(
        {"torch": "2."},
        {
            "torch._dynamo": Waiting(
                {
                    "disable": _as_it_is,
                    "allow_in_graph": _as_it_is,
                    "assume_constant_result": _as_it_is,
                },
                alone=frozenset({"_trace_wrapped_higher_order_op"}),
            )
        },
    )
    transformers = Library(
        {"transformers": "5.23."},
        {
            # Both read the source of all models first, 1,600 files.
            "transformers": Waiting(
                {"__version__": version("transformers")},
                homes={"PreTrainedTokenizer": "transformers.tokenization_python"},  # for shap
            ),
            "transformers.models": Waiting(),
        },
        {"transformers.utils.import_utils": _do_without},
    )
    shap = Library(
        {"shap": "0.51."},
        {
            "shap": Waiting(
                homes={
                    "Explanation": "shap._explanation",
                    "PartitionExplainer": "shap.explainers._partition",
                }
            ),
            "shap.explainers": Waiting(),
            "shap.maskers": Waiting(homes={"Text": "shap.maskers._text"}),
            "sklearn": Waiting(alone=frozenset()),
            "numba": Waiting({"njit": _as_it_is}, alone=frozenset()),
            "pandas": Waiting({"DataFrame": _NoFrame, "Series": _NoFrame}, alone=frozenset()),
        },
    )
    return [library for library in (torch, transformers, shap) if library.is_known()]


def spare_imports() -> None:
    """Spare this process, from now on, what a job that runs a classifier does not use."""
    sys.meta_path.insert(0, SparingFinder(libraries()))
