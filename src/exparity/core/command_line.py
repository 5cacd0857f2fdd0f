"""Commands from functions: flags from a signature, help from its docstring.

A positional-only argument of the function has no flag. ``Path``, numbers with a
:class:`~exparity.core.flags.Range`, ``Literal``, ``bool``, sequences and mappings are read from
text and checked. A :class:`~exparity.core.flags.Flag` on the type of an argument holds all else.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, NoReturn

from pydantic import create_model

from exparity.core.errors import InputError, did_you_mean
from exparity.core.flags import Flag
from exparity.core.strict import parse_json
from exparity.core.validation import Settings, complete, documented

_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
_SECTION = re.compile(r"^(?:Args|Returns|Raises|Attributes):$", re.MULTILINE)
_METAVARS: dict[object, str] = {Path: "PATH", int: "N", float: "X"}
_RENAMED = {"compare": "compare-groups"}
"""Commands of analyses whose id is a tool's; `exparity compare` compares two runs."""


class Parser(argparse.ArgumentParser):
    """Parser that answers a mistyped flag with the nearest."""

    def error(self, message: str) -> NoReturn:
        """Refuse a line."""
        raise InputError(f"{self.prog.removeprefix('exparity').strip()}: {message}".lstrip(": "))

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Parse arguments after a look at the names of all flags."""
        actions = self._option_string_actions
        for word in takewhile(lambda word: word != "--", args or ()):
            name = word.partition("=")[0]
            if name.startswith("--") and " " not in word and name not in actions:
                self.error(f"there is no flag {name}; {did_you_mean(name, actions)}")
        return super().parse_args(args, namespace)


class Argument:
    """An argument of a function, as the command line has it.

    Attributes:
        kind: its type without marks; the type of the items of a list.
        several: whether it is a list.
        optional: whether it may be None.
        part_of: name and class of the dataclass that it is a field of.
        flag: its form as a flag.
        written: the flag with its dashes.
        is_option: whether ``--options`` may hold it.
        is_block: whether it is a mapping that ``KEY=VALUE`` extends.
        is_required: whether a call needs it; a block may be empty.
    """

    empty = inspect.Parameter.empty

    def __init__(
        self,
        parameter: inspect.Parameter,
        annotation: object,
        help: str,
        part_of: tuple[str, type] | None = None,
    ) -> None:
        self.name = parameter.name
        self.default = parameter.default
        self.help = help
        self.part_of, self.annotation = part_of, annotation
        self.positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        self.kind, marks, self.optional = _unwrapped(annotation)
        self.several = typing.get_origin(self.kind) in (list, Sequence)
        if self.several:
            self.kind, inner, _ = _unwrapped(typing.get_args(self.kind)[0])
            marks = [*inner, *marks]
        # The type may not say so in an analysis of the user's own.
        self.flag = Flag(path="output") if self.name == "output" else Flag()
        for mark in marks:
            if isinstance(mark, Flag):
                set_fields = {field: value for field, value in vars(mark).items() if value}
                self.flag = replace(self.flag, **set_fields)
        self.written = f"--{(self.flag.name or self.name).replace('_', '-')}"
        is_keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        self.is_option = is_keyword_only and self.kind is not Path
        is_mapping = typing.get_origin(self.kind) is Mapping
        is_flat = is_mapping and typing.get_args(self.kind)[1] in (Any, object, str)
        self.is_block = is_flat and not self.several
        self.is_required = self.default is self.empty and not self.optional and not self.is_block
        usual = _METAVARS.get(self.kind, self.name.upper())
        if is_mapping:
            usual = "KEY=VALUE" if self.is_block else "JSON"
        self._metavar = self.flag.metavar or usual

    def read(self, text: str) -> object:
        """Return a value from its text."""
        if self.is_block:
            key, sign, setting = text.partition("=")
            if not sign:
                raise argparse.ArgumentTypeError(f"'{text}' is not KEY=VALUE")
            return key, _json_or_word(setting)
        if self.kind is Path:
            if self.flag.path == "output" and not Path(text).name:
                raise argparse.ArgumentTypeError(f"'{text}' is no name of a file")
            return Path(text)
        value = text if self.kind is str else _json_or_word(text)
        if self.kind is float:
            with suppress(ValueError):
                value = float(text)
        return value

    def add_to(self, parser: argparse.ArgumentParser, *, required: bool) -> None:
        """Add it to a parser."""
        settings: dict[str, Any] = {
            "help": self._help(required=required),
            "default": self._default(),
        }
        if self.kind is bool:
            settings["action"] = argparse.BooleanOptionalAction
        else:
            is_choice = typing.get_origin(self.kind) is Literal
            settings |= {"type": self.read, "metavar": None if is_choice else self._metavar}
            settings["choices"] = typing.get_args(self.kind) if is_choice else None
        if self.several:
            settings["nargs"] = "*" if self.optional else "+"
        elif self.optional and self.default is self.empty:
            settings["nargs"] = "?"  # the workflow may have none to name
        if self.positional:
            if not required:
                settings |= {"nargs": "*" if self.several else "?", "default": self.default}
            parser.add_argument(self.name, **settings)
            return
        if self.several or self.is_block:
            settings["action"] = "append" if self.is_block else "extend"
        parser.add_argument(self.written, dest=self.name, required=required, **settings)

    def _default(self) -> object:
        """Return the default that the environment sets, for argparse to read; None otherwise."""
        value = os.environ.get(f"EXPARITY_{self.flag.environment}") if self.flag.environment else ""
        if not value:
            return argparse.SUPPRESS
        return value == "1" if self.kind is bool else value

    def _help(self, *, required: bool) -> str:
        text = self.help
        if self.is_block:
            text += "; repeat for several"
        defaults = self.default if isinstance(self.default, tuple) else (self.default,)
        values = [str(value) for value in defaults if isinstance(value, str | int | float | Path)]
        if not required and self.kind is not bool and any(values):
            text += f" (default: {' '.join(values)})"
        return text.replace("%", "%%")


def command_of(analysis: str) -> str:
    """Return the command of an analysis: ``exparity <command>``."""
    return _RENAMED.get(analysis, analysis.replace("_", "-"))


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """Add ``--plugins`` to a parser."""
    parser.add_argument(
        "--plugins",
        nargs="*",
        metavar="FILE",
        default=[path for path in os.environ.get("EXPARITY_PLUGINS", "").split(os.pathsep) if path],
        help="modules with your own additions",
    )


def _json_or_word(text: str) -> object:
    try:
        return parse_json(text, "")
    except InputError:
        return text


@cache
def arguments_of(
    function: Callable[..., object], part_of: tuple[str, type] | None = None
) -> dict[str, Argument]:
    """Return the arguments of a function by name, and the fields of those that are dataclasses."""
    hints = typing.get_type_hints(function, include_extras=True)
    lines = documented(function)
    arguments: dict[str, Argument] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if isinstance(kind := hints[name], type) and is_dataclass(kind):
            arguments |= arguments_of(kind, part_of=(name, kind))
        else:
            line = plain(lines.get(name, "")).replace("if None", "if unset")
            arguments[name] = Argument(parameter, kind, line, part_of)
    return arguments


@cache
def options_of_command(function: Callable[..., object]) -> type[Settings]:
    """Return what ``--options`` of a command may hold."""
    types: dict[str, Any] = {
        name: (argument.annotation, ... if argument.is_required else None)
        for name, argument in arguments_of(function).items()
        if argument.is_option
    }
    return create_model("Options", __base__=Settings, **types)


def _unwrapped(annotation: object) -> tuple[object, list[object], bool]:
    """Return a type without its notes, the notes, and whether None is allowed."""
    marks: list[object] = []
    optional = False
    while True:
        origin = typing.get_origin(annotation)
        args = typing.get_args(annotation)
        others = [part for part in args if part is not types.NoneType]
        if origin is Annotated:
            annotation = args[0]
            marks = [*args[1:], *marks]
        elif origin in (typing.Union, types.UnionType) and len(others) == 1:
            annotation = others[0]
            optional = True
        else:
            return annotation, marks, optional


def plain(text: str) -> str:
    """Return text of a docstring without its markup, on one line."""
    return " ".join(_ROLE.sub(r"\1", text).replace("``", "").split())


@dataclass(frozen=True)
class Command:
    """A function as a command.

    Attributes:
        name: its name on the command line.
        place: the function, or ``module:function`` below ``exparity``, imported when needed.
        takes_options: whether the workflow calls it, with all its options as one object.
        takes_plugins: whether plug-ins may register what it works with.
        keeps_parts: whether it keeps finished parts when a signal stops it.
        running: context in which it runs.
    """

    name: str
    place: str | Callable[..., object]
    takes_options: bool = field(default=False, kw_only=True)
    takes_plugins: bool = field(default=False, kw_only=True)
    keeps_parts: bool = field(default=False, kw_only=True)
    running: Callable[[], AbstractContextManager[None]] = field(default=nullcontext, kw_only=True)

    @property
    def function(self) -> Callable[..., object]:
        """The function, its module imported."""
        if not isinstance(self.place, str):
            return self.place
        function: Callable[..., object] = resolve_name(f"exparity.{self.place}")
        return function

    @cached_property
    def arguments(self) -> dict[str, Argument]:
        """Arguments of the function, by name."""
        return arguments_of(self.function)

    def parser(self, *, has_options: bool = False) -> Parser:
        """Return a parser, with defaults that the environment sets now."""
        description = _SECTION.split(inspect.getdoc(self.function) or "", maxsplit=1)[0]
        parser = Parser(
            prog=f"exparity {self.name}", description=plain(description), allow_abbrev=False
        )
        for name, argument in self.arguments.items():
            if name != "options" and not argument.flag.hidden:
                required = argument.is_required and not (has_options and argument.is_option)
                argument.add_to(parser, required=required)
        if self.takes_options:
            parser.add_argument(
                "--options",
                metavar="JSON",
                help="all options as one object, as the workflow passes them; flags win over it",
            )
        if self.takes_plugins:
            add_plugins(parser)
        return parser

    def parse(self, argv: Sequence[str]) -> Call:
        """Return the call that a command line asks for.

        Raises:
            InputError: the line is no call of the command.
        """
        bare = next((argument for argument in self.arguments.values() if argument.flag.bare), None)
        if bare and argv and not argv[0].startswith("-"):
            argv = [bare.written, *argv]
        has_options = any(word.partition("=")[0] == "--options" for word in argv)
        flags = vars(self.parser(has_options=has_options).parse_args(argv))
        plugins = flags.pop("plugins", [])
        options = flags.pop("options", None)
        if options is not None:
            options = parse_json(options, "--options")
            if not isinstance(options, dict):
                raise InputError("--options: must be a JSON object")
        return Call(self, flags, options, plugins)


@dataclass(frozen=True)
class Call:
    """Call of a command by a command line.

    Attributes:
        command: the command.
        flags: values of its flags, by argument; of a block, pairs of key and value.
        options: content of ``--options``; None without it.
        plugins: modules to load first.
    """

    command: Command
    flags: Mapping[str, Any]
    options: Mapping[str, Any] | None
    plugins: Sequence[str]

    def run(self) -> None:
        """Call the function."""
        keywords = dict(self.keywords)
        arguments = self.command.arguments.values()
        positional = [keywords.pop(argument.name) for argument in arguments if argument.positional]
        records = dict.fromkeys(argument.part_of for argument in arguments if argument.part_of)
        for name, kind in records:
            names = {field.name for field in fields(kind)} & keywords.keys()
            keywords[name] = kind(**{field: keywords.pop(field) for field in names})
        self.command.function(*positional, **keywords)

    def files(self) -> Iterator[Path]:
        """Yield the files and checkpoints that the job reads."""
        for name, argument in self.command.arguments.items():
            if argument.kind is Path and not argument.flag.path:
                paths = self.flags.get(name) or []
                yield from [paths] if isinstance(paths, Path) else paths

    def outputs(self) -> Iterator[Path]:
        """Yield the files and folders that flags name to be written."""
        for name, argument in self.command.arguments.items():
            if argument.flag.path == "output" and isinstance(self.flags.get(name), Path):
                yield self.flags[name]

    def overrides(self) -> bool:
        """Return whether a flag replaces an option or adds to one."""
        option_names = self.options or {}
        return any(
            name in option_names or self.command.arguments[name].is_block for name in self.flags
        )

    @cached_property
    def keywords(self) -> dict[str, Any]:
        """The arguments of the function: options, checked, and flags, which win over them."""
        arguments = self.command.arguments
        flags = self.flags
        options = self.options or {}
        unset = {name: None for name, a in arguments.items() if a.optional and a.default is a.empty}
        if "options" in arguments:
            return {**unset, **flags, "options": options}
        keywords = {**options, **flags}
        for name, argument in arguments.items():
            if argument.is_block and (name in keywords or argument.default is argument.empty):
                block = options.get(name, {})
                is_extended = name in flags and isinstance(block, Mapping)
                keywords[name] = {**block, **dict(flags[name])} if is_extended else block
        if "digest" not in arguments:
            keywords.pop("digest", None)  # tells Snakemake when to rerun; the job has no use for it
        checked = options_of_command(self.command.function)
        others = arguments.keys() - checked.model_fields.keys()
        values = {name: value for name, value in keywords.items() if name not in others}
        complete(checked, values, "")
        return {**unset, **keywords}
