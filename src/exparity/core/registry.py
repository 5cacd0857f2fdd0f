"""The registries of datasets, methods, metrics and the like: the only lists of what exists.

A registry discovers the modules of its package, the entry points of its group, and plug-ins named
in a config. Registering is cheap: implementing modules import torch and the like inside functions.
"""

from __future__ import annotations

import glob
import hashlib
import importlib
import importlib.util
import pkgutil
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict, ValidationError, dataclasses

from exparity.core.errors import ExparityError, InputError, reason_of, require_known, shown
from exparity.core.validation import (
    Settings,
    complete,
    defaults_of,
    faults_of,
    options_of,
    words_of,
)

Facts = TypeVar("Facts")
Registered = TypeVar("Registered", bound=Callable[..., object])
"""A registered function or class, which its decorator returns unchanged."""
SLUG = re.compile(r"[a-z][a-z0-9_]*")
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_SHARDS = re.compile(r"([^*]*)\*-of-([0-9]{1,5})([^*]*)")
_PLUGINS: dict[str, None] = {}
"""Plug-ins that this process has loaded, in order."""


@dataclass(frozen=True)
class Entry(Generic[Facts]):
    """One registered implementation: its id, function, facts and where it was written."""

    id: str
    function: Callable[..., Any]
    facts: Facts
    source: Path

    @cached_property
    def options(self) -> type[Settings]:
        """Its options with defaults, from the function's keyword-only arguments."""
        return options_of(self.function)

    @property
    def display(self) -> str:
        """Name for tables."""
        return getattr(self.facts, "display", None) or self.id.replace("_", " ").capitalize()

    @cached_property
    def summary(self) -> str:
        """First line of the docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0].rstrip(".")

    def input_files(self, options: Mapping[str, Any], where: str) -> list[Path]:
        """Return the files of the user's own that it reads, which its job must depend on."""
        paths = []
        for option in getattr(self.facts, "path_options", ()):
            value = options.get(option, self.options.model_fields[option].default)
            if value is None:
                continue
            place = f"{where}.{option}"
            if not value:
                raise InputError(
                    f"{place}: name the file to read; paths are relative to the current folder"
                )
            several = getattr(self.facts, "from_hub", False)
            for path in paths_of(value, place) if several else [value]:
                if not (several and is_on_hub(path)):
                    paths.append(_own_file(path, place))
        return paths

    @contextmanager
    def running(self) -> Iterator[None]:
        """Turn what the function raises into one line that says where it comes from."""
        try:
            yield
        except ExparityError:
            raise
        except (Exception, SystemExit) as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == str(self.source)]
            where = f"'{self.id}' in {self.source}" + (f", line {lines[-1]}" if lines else "")
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            if isinstance(error, ValueError) and "read-only" in reason:
                reason = "writes to a read-only array, as its inputs are; copy it first"
            raise ExparityError(f"{where}: {reason}") from error


def _first_fault(error: ValidationError) -> str:
    """Return what is wrong with facts: the first that does not fit, or all that are missing."""
    faults = faults_of(error)
    missing = [str(fault.steps[-1]) for fault in faults if fault.kind == "missing"]
    others = [fault for fault in faults if fault.kind != "missing"]
    if others:
        place = ".".join(map(str, others[0].steps))
        return f"{place}: {words_of([others[0]])}"
    return f"lacks {', '.join(missing)}; every fact without a default must be given"


@dataclass(eq=False)
class Registry(Generic[Facts]):
    """Ids to implementations of one kind.

    Attributes:
        kind: singular name for messages, such as ``metric``.
        package: package whose public modules are imported on first use.
        facts_type: class of the facts that every registration must give in full.
        options: returns the options that a config may set of an entry.
        also: further modules and packages that register.
    """

    kind: str
    package: str
    facts_type: type[Facts]
    options: Callable[[Entry[Facts]], type[Settings]] = lambda entry: entry.options
    also: Sequence[str] = ()
    _entries: dict[str, Entry[Facts]] = field(default_factory=dict, init=False)
    _discovered: bool = field(default=False, init=False)
    _discovering: bool = field(default=False, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    @cached_property
    def _checked_facts(self) -> Callable[..., object]:
        """The class of facts, with a check of the type of each."""
        config: ConfigDict = {"strict": True, "arbitrary_types_allowed": True, "extra": "forbid"}
        return dataclasses.dataclass(self.facts_type, frozen=True, config=config)

    def register(self, part_id: str, **facts: object) -> Callable[[Registered], Registered]:
        """Return a decorator that registers a function under ``part_id``."""
        if not SLUG.fullmatch(str(part_id)):  # a decorator without brackets has the function
            raise InputError(
                f"{self.kind} {shown(part_id)}: an id is lower-case letters, digits and underscores"
            )

        def decorate(function: Registered) -> Registered:
            module = sys.modules.get(function.__module__)
            source = Path(getattr(module, "__file__", None) or "interactive")
            where = f"{self.kind} '{part_id}' in {source}"
            try:
                self._checked_facts(**facts)
            except ValidationError as error:
                raise InputError(f"{where}: {_first_fault(error)}") from None
            if not (function.__doc__ or "").strip():
                raise InputError(f"{where}: needs a docstring; its first line is shown to users")
            existing = self._entries.get(part_id)
            again = existing is not None and existing.function.__qualname__ == function.__qualname__
            if existing is not None and not (again and existing.source == source):
                raise InputError(f"{where}: the id is taken by {existing.source}; choose another")
            entry = Entry(part_id, function, self.facts_type(**facts), source)
            options = self.options(entry)
            complete(options, defaults_of(options), f"{where}: default:")
            self._entries[part_id] = entry
            return function

        return decorate

    def _discover(self) -> None:
        """Import all that registers; what an interrupt or an error ended is done again next time.

        A module that is imported here may ask for ids: it gets those known so far. Other threads
        wait.
        """
        if self._discovered:
            return
        with self._lock:
            if self._discovered or self._discovering:
                return
            self._discovering = True
            try:
                self._import_all()
                self._discovered = True
            finally:
                self._discovering = False

    def _import_all(self) -> None:
        for name in (self.package, *self.also):
            package = importlib.import_module(name)
            for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
                if not module.name.startswith("_"):
                    importlib.import_module(f"{name}.{module.name}")
        for point in entry_points().select(group=self.package):
            try:
                point.load()
            except (Exception, SystemExit) as error:
                raise InputError(
                    f"plug-in '{point.name}' ({point.value}): {type(error).__name__}: "
                    f"{reason_of(error)}; mend or uninstall the package that offers it"
                ) from error

    def ids(self) -> list[str]:
        """All registered ids, sorted."""
        self._discover()
        return sorted(self._entries)

    def get(self, name: str, where: str = "") -> Entry[Facts]:
        """Return the entry with the id ``name``; an error begins with ``where``, its key."""
        self._discover()
        place = f"{where}: " if where else ""
        require_known(name, self._entries, f"{place}unknown {self.kind} '{name}'")
        return self._entries[name]


@cache
def entry_points() -> metadata.SelectableGroups:
    """Return what installed packages offer; looked up once, also for processes forked later."""
    return metadata.entry_points()


def paths_of(value: str | Sequence[str], where: str) -> list[str]:
    """Return the files that an option names: a path, a pattern with ``*``, or a list of these.

    Files that a pattern fits are sorted. Of the Hub, it counts them: ``train-*-of-00002.parquet``.
    """
    paths: list[str] = []
    for written in [value] if isinstance(value, str) else value:
        path = written if is_on_hub(written) else _local(written, where)
        if "*" not in path or (not is_on_hub(path) and Path(path).is_file()):
            fitting = [path]
        elif not is_on_hub(path):
            fitting = sorted(glob.glob(path))
        else:
            shards = _SHARDS.fullmatch(path)
            before, count, after = shards.groups() if shards else ("", "0", "")
            numbers = (str(i).zfill(len(count)) for i in range(int(count)))
            fitting = [f"{before}{number}-of-{count}{after}" for number in numbers]
        if not fitting:
            remedy = "list the files"
            if is_on_hub(path):
                remedy += ", or write how many there are, as in train-*-of-00002.parquet"
            raise InputError(f"{where}: {path}: fits no file; {remedy}")
        paths += fitting
    return paths


def _local(path: str, where: str) -> str:
    """Return a path, with the home folder for ``~``; it must be no address of the web."""
    if _ADDRESS.match(path):
        raise InputError(
            f"{where}: {path}: only hf://datasets/OWNER/NAME/FILE is read from the web; download "
            "the file, and name it here"
        )
    try:
        return str(Path(path).expanduser()) if path.startswith("~") else path
    except RuntimeError:  # nobody has that name
        return path


def _own_file(path: str, where: str) -> Path:
    """Return the path of a file of the user's own, which must be there."""
    if _local(path, where) != path:
        raise InputError(f"{where}: {path}: write out the home folder, {_local(path, where)}")
    if not Path(path).is_file():
        raise InputError(
            f"{where}: no file {Path(path).absolute()}; paths are relative to the current folder"
        )
    if set("{}") & set(str(path)):
        raise InputError(f"{where}: {path}: '{{' and '}}' are wildcards here; rename the file")
    return Path(path)


def is_on_hub(path: str | Path) -> bool:
    """Return whether a path is an address of the Hugging Face Hub."""
    return str(path).startswith("hf:")


def load_plugin(name: str) -> None:
    """Import a plug-in so that it registers itself: a path to a ``.py`` file or a module name."""
    load_module(name, "plugins")
    path = Path(name)
    _PLUGINS[str(path.resolve()) if path.suffix == ".py" else name] = None


def loaded_plugins() -> list[str]:
    """Return the plug-ins of this process in the order of loading, for processes that it starts."""
    return [*_PLUGINS]


def load_module(name: str, key: str) -> ModuleType:
    """Import a module of the user's, by a path to a ``.py`` file or its name; once a process."""
    path = Path(name)
    is_file = name.endswith(".py")
    if is_file and not path.is_file():
        raise InputError(
            f"{key}: no file {path.absolute()}; paths are relative to the current folder"
        )
    try:
        return _load_file(path.resolve()) if is_file else importlib.import_module(name)
    except InputError as error:
        message = str(error)
        raise InputError(message if str(path) in message else f"{key}: {path}: {message}") from None
    except (Exception, SystemExit) as error:
        what = f"{path}: {type(error).__name__}" if is_file else f"cannot import module '{name}'"
        raise InputError(f"{key}: {what}: {reason_of(error)}") from error


def _load_file(path: Path) -> ModuleType:
    # Named by its path, so that two plug-ins may have files of one name.
    tag = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"exparity_plugin_{path.stem}_{tag}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
