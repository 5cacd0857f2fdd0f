"""The command line: ``exparity COMMAND``, what people and the workflow's rules call.

Every command is a function, whose signature and docstring say what its flags are. Its module is
imported when it is called: comparing groups must not wait for torch.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
import time
import warnings
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import NoReturn

import exparity
from exparity.core.command_line import Command, Parser, add_plugins, command_of, plain
from exparity.core.device import has_gpu_context
from exparity.core.errors import ExparityError, did_you_mean, system_reason
from exparity.core.escaping import LogFormatter, say, visible
from exparity.core.usage import begin_usage, holds_more_than_its_share
from exparity.jobs.stop import Stopped, stoppable

_HOME = Path(__file__).parent
# The id of an analysis, the name of a function, and the first line of its docstring.
_DOCUMENTED = re.compile(
    r'^(?:@analysis\(\s+"(\w+)".*?)?^def (\w+)\((?:(?!^def ).)*?"""(.+?)\.?(?:"""|$)',
    re.MULTILINE | re.DOTALL,
)
log = logging.getLogger(__name__)
_job = partial(Command, takes_options=True)

_GROUPS = {
    "start here": (
        Command("audit", "tools.audit:audit"),
        Command("plan", "tools.plan:plan"),
        Command("list", "tools.catalogue:print_catalogue", takes_plugins=True),
        Command("data", "tools.data:data", takes_plugins=True),
        Command("generate", "tools.generate:generate", takes_plugins=True),
    ),
    "after a run": (
        Command("show", "tools.show:show"),
        Command("share", "tools.share:share"),
        Command("compare", "tools.compare:compare"),
        Command("compare-published", "stages.compare_published:compare_published"),
        Command("cost", "tools.cost:cost", takes_plugins=True),
    ),
    "stages, run by the workflow": (
        _job("check-models", "config.start:check_models", takes_plugins=True),
        _job("prepare", "stages.prepare:prepare", takes_plugins=True),
        _job("finetune", "stages.finetune:finetune_cell", takes_plugins=True),
        _job("explain", "stages.explain:explain_cell", takes_plugins=True, keeps_parts=True),
        _job("evaluate", "stages.evaluate:evaluate_cell", takes_plugins=True, keeps_parts=True),
        _job("report", "stages.report:report", takes_plugins=True),
    ),
}
COMMANDS = {command.name: command for group in _GROUPS.values() for command in group}


def known_commands() -> dict[str, Command]:
    """Return all commands, and import every analysis, which may be one."""
    from exparity.artefacts.analyses import ANALYSES

    commands = dict(COMMANDS)
    for analysis in ANALYSES.ids():
        entry = ANALYSES.get(analysis)
        name = command_of(analysis)
        commands[name] = _job(name, entry.function, takes_plugins=True, running=entry.running)
    return commands


def _command(name: str, arguments: Sequence[str]) -> Command:
    """Return a command, which a plug-in may have brought; end the process if there is none."""
    if name in COMMANDS:  # most need not look at all analyses
        return COMMANDS[name]
    if not name or name.startswith("-"):
        _without_command([name, *arguments] if name else [])
    if name not in known_commands():
        from exparity.core.registry import load_plugin

        parser = Parser(add_help=False, allow_abbrev=False)
        add_plugins(parser)
        for plugin in parser.parse_known_args(arguments)[0].plugins:
            load_plugin(plugin)
    commands = known_commands()
    if name not in commands:
        _parser().error(f"there is no command '{name}'; {did_you_mean(name, commands)}")
    return commands[name]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code.

    It is 0; 1 on a known failure; 2 on bad input; 3 where a report lacks a part; 130 after Ctrl-C;
    and 143 after SIGTERM, of commands that keep parts. Others end by that signal itself.
    """
    if hasattr(sys.stdout, "reconfigure"):  # a terminal of old lacks letters, and shows numbers
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _run_command(sys.argv[1:] if argv is None else argv, is_process=argv is None)
        sys.stdout.flush()
    except (ExparityError, Stopped) as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader (head, say) has what it wanted; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        _complain(system_reason(error))
        return 1
    return 0


def _run_command(argv: Sequence[str], *, is_process: bool) -> None:
    """Run a command, and log what it says."""
    name, *rest = argv or [""]
    command = _command(name, rest)
    call = command.parse(rest)
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(handlers=[handler], force=True)
    logging.captureWarnings(True)
    _set_levels()
    if is_process:
        _spare_pandas()
    from exparity.artefacts.files import job
    from exparity.core.registry import load_plugin
    from exparity.jobs.inputs import lineage_of

    for plugin in call.plugins:
        load_plugin(plugin)
    stop = stoppable() if command.keeps_parts else nullcontext()
    start = time.monotonic()
    with stop, job(lineage_of(call)) as running, command.running():
        call.run()
    if call.options is None:  # by hand, not by the workflow
        for path in filter(Path.exists, call.outputs()):
            if path not in running.left:
                log.info("wrote %s in %.1f s", path, time.monotonic() - start)


def prepare() -> None:
    """Do what most jobs do first, once for all that this process forks; nothing of the user's."""
    from exparity.artefacts.schemas import prepare_schemas
    from exparity.core.command_line import options_of_command

    _set_levels()
    _spare_pandas()
    prepare_schemas()
    for command in COMMANDS.values():
        if command.keeps_parts:  # of these there are many
            options_of_command(command.function).model_rebuild()


def run(at_end: Callable[[], object] = lambda: None) -> None:
    """Run the command line as a process of its own."""
    # A job of a second must not spend half of it on garbage, or on taking torch's modules down.
    gc.set_threshold(100_000, 50, 100)
    _end(main(), at_end)


def run_and_stay(at_end: Callable[[], object]) -> int:
    """Run the command line, and return the exit code: this process keeps what it has loaded.

    A training on a GPU ends it, since torch keeps the GPU's memory that an optimiser has held.
    """
    from exparity.jobs.loop import keep_model

    keep_model()
    begin_usage()
    gc.set_threshold(100_000, 50, 100)
    with warnings.catch_warnings():
        pass  # Python forgets which warnings it has shown, to an earlier job
    code = main()
    logging.shutdown()
    if sys.argv[1] == "finetune" and has_gpu_context():
        _end(code, at_end)
    return code


def run_and_stay_if_small(at_end: Callable[[], object]) -> int:
    """Run the command line, and return the exit code, unless what is kept may be in others' way.

    The jobs of a run on one machine share its memory and its GPUs: a process that holds much, or
    the context of a GPU, ends.
    """
    code = run_and_stay(at_end)
    if holds_more_than_its_share() or has_gpu_context():
        _end(code, at_end)
    return code


def _end(code: int, at_end: Callable[[], object]) -> NoReturn:
    """End this process, without taking down what it has loaded."""
    at_end()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _parser() -> Parser:
    """Return the parser of a line without a command."""
    parser = Parser(
        prog="exparity",
        usage="exparity [-h] COMMAND ...",
        description="Measure whether explanations of text classifiers work equally well for every\n"
        "group of people. Each stage reads and writes Parquet; the Snakemake workflow\n"
        "runs them all.",
        formatter_class=RawDescriptionHelpFormatter,  # the list of commands is broken by hand
        allow_abbrev=False,
    )
    version = f"exparity {exparity.__version__}"
    parser.add_argument("--version", action="version", version=version, help="show the version")
    parser.add_argument(
        "--print-completion",
        choices=("bash", "zsh", "tcsh"),
        help="print a script that completes commands and flags in a shell",
    )
    return parser


def _commands_in_words() -> str:
    """Return all commands in groups, with a line for each."""
    groups = {
        title: [(command.name, _summary(command)) for command in group]
        for title, group in _GROUPS.items()
    }
    files = [*_HOME.glob("stages/**/*.py"), *_HOME.glob("analyses/**/*.py")]
    documented = [match for file in files for match in _DOCUMENTED.findall(file.read_text("utf-8"))]
    groups["analyses, run by the workflow"] = sorted(
        (command_of(name), plain(line)) for name, _, line in documented if name
    )
    parts = [
        "\n".join([f"{title}:", *(f"  {name:<26} {summary}" for name, summary in group)])
        for title, group in groups.items()
    ]
    return "\n\n".join(parts)


def _summary(command: Command) -> str:
    """Return the first line of a command's docstring without the seconds that an import takes."""
    module, _, function = str(command.place).partition(":")
    file = _HOME.joinpath(*module.split(".")).with_suffix(".py")
    documented = _DOCUMENTED.findall(file.read_text("utf-8"))
    return next(plain(line) for _, name, line in documented if name == function)


def _completion(shell: str) -> str:
    """Return the script that completes command lines."""
    import shtab

    parser = _parser()
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, command in known_commands().items():
        subparser = commands.add_parser(name, help=name, parents=[command.parser()], add_help=False)
        paths = {n for n, argument in command.arguments.items() if argument.kind is Path}
        for action in subparser._actions:
            if action.dest in paths:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell)
    return script


def _without_command(arguments: Sequence[str]) -> NoReturn:
    """Answer a command line that names no command: help, version, or what is wrong with it."""
    parser = _parser()
    if "-h" in arguments or "--help" in arguments:
        parser.epilog = _commands_in_words()
    if shell := parser.parse_args(arguments).print_completion:
        say(_completion(shell))
        parser.exit()
    parser.error("name a command: `exparity --help` lists them")


def _complain(problem: object) -> None:
    lines = visible(problem, keep="\n")
    print(f"exparity: {lines}", file=sys.stderr)


def _set_levels() -> None:
    """Log from INFO on, without what libraries say of each request and file."""
    noisy = ("httpx", "httpcore", "urllib3", "huggingface_hub", "filelock", "fontTools")
    levels = {"": logging.INFO, **dict.fromkeys(noisy, logging.WARNING)}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        if logger.level != level:  # to set it again takes a walk through all loggers
            logger.setLevel(level)


def _spare_pandas() -> None:
    """Keep pyarrow from importing pandas at its first conversion: no stage hands it any."""
    import pyarrow as pa

    class NoPandas:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "pandas":
                raise ModuleNotFoundError(name)

    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, NoPandas)
        pa.array([0])
        sys.meta_path.remove(NoPandas)
