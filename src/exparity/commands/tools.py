"""Commands for people: results, plans and costs, registries, files, measurements."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path

from exparity.arguments.flags import Run, default_of
from exparity.commands.given import set_threads
from exparity.core.errors import InputError
from exparity.core.escaping import say


def _show(arguments: argparse.Namespace) -> None:
    from exparity.tools.show import IDS, show

    filters = {kind: getattr(arguments, kind) for kind in IDS}
    show(arguments.results, filters, arguments.correction)


def _list(arguments: argparse.Namespace) -> None:
    from exparity.tools.catalogue import describe

    say(describe(arguments.kind))


def _data(arguments: argparse.Namespace) -> None:
    from exparity.data.files import DataSource
    from exparity.tools import data as data_tool

    fetch, names = arguments.action == "fetch", arguments.models
    if names is not None and not fetch:
        raise InputError("--models goes with `exparity data fetch`")
    experiment = None
    if arguments.configfile:
        experiment = data_tool.read_experiment(arguments.configfile)
    configured = experiment.config["data_dir"] if experiment else None
    folder = arguments.data_dir or configured or default_of("DATA_DIR", "data")
    if names is None or arguments.ids:
        run: Callable[..., None] = getattr(data_tool, f"{arguments.action}_data")
        run(DataSource(Path(folder), download=fetch), arguments.ids, experiment)
    if fetch and (names is not None or (experiment and not arguments.ids)):
        data_tool.fetch_models(data_tool.wanted_models(names or (), experiment))


def _plan(arguments: argparse.Namespace) -> None:
    from exparity.tools.plan import Request, measure, plan, write_probe

    # What is odd in the data is for the job to say that prepares them.
    logging.getLogger("exparity.data").setLevel(logging.ERROR)
    request = Request(arguments.configfile, arguments.sources, arguments.device, arguments.data_dir)
    if arguments.write_probe:
        folder = write_probe(request, arguments.examples, arguments.write_probe)
        say(f"snakemake --configfile {arguments.write_probe}")
        say(f"exparity plan --configfile {arguments.configfile} --from {folder}")
        return
    if arguments.measure:
        measure(request, arguments.examples, arguments.cores)
    plan(request, plain=arguments.json)


def _cost(arguments: argparse.Namespace) -> None:
    from exparity.stages.cost import cost

    output = arguments.output
    cost(arguments.results or (output.parent if output else Path("results")), output)


def _compare_published(arguments: argparse.Namespace) -> None:
    from exparity.stages.compare_published import compare_published

    models = {mine: str(published) for mine, published in arguments.map or []}
    compare_published(arguments.results, arguments.study, models, arguments.output)


def _bench(arguments: argparse.Namespace) -> None:
    set_threads(arguments)
    from exparity.tools.bench import bench

    bench(
        arguments.checkpoint,
        parts=arguments.parts,
        device=arguments.device,
        precisions=arguments.precisions,
        length=arguments.length,
        examples=arguments.examples,
        output=arguments.output,
    )


COMMANDS: dict[str, Run] = {
    "cost": _cost,
    "plan": _plan,
    "show": _show,
    "list": _list,
    "data": _data,
    "compare-published": _compare_published,
    "bench": _bench,
}
