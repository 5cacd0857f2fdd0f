"""The command line: ``exparity <stage>``, what the workflow's rules call.

Every stage takes its options as flags for people, or as one JSON object (``--options``) from the
workflow. Modules are imported inside the command that needs them: a test job must not wait for
torch.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exparity.errors import ExparityError, InputError

log = logging.getLogger("exparity")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: arguments; those of the process if None.

    Returns:
        0 on success, 2 on bad input, 1 on another failure with a known cause.
    """
    arguments = _parser().parse_args(argv)  # sys.argv if None
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
        force=True,
    )
    logging.captureWarnings(True)
    for noisy in ("httpx", "httpcore", "urllib3", "huggingface_hub", "filelock"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if argv is None:
        _spare_pandas()
    try:
        from exparity.registry import load_plugin

        for plugin in getattr(arguments, "plugins", None) or []:
            load_plugin(plugin)
        arguments.run(arguments)
    except ExparityError as error:
        print(f"exparity: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("exparity: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, say) has what it wanted; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"exparity: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def run() -> None:
    """Run the command line as a process of its own.

    A job of a second must not spend half of it on garbage collection while modules load, or on
    taking torch's modules down again at the end.
    """
    gc.set_threshold(100_000, 50, 100)
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _spare_pandas() -> None:
    """Keep pyarrow from importing pandas, which would double the time of a one-second job.

    It does so on its first conversion, to recognise pandas objects, and remembers the outcome for
    the rest of the process. No stage hands it such objects.
    """
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


# Values of flags


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value


def _setting(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"'{text}' is not KEY=VALUE")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value  # a plain word


def _threads(arguments: argparse.Namespace) -> None:
    """Set up torch for a model job."""
    from exparity.engine.device import make_repeatable

    make_repeatable(arguments.threads)


def _options(arguments: argparse.Namespace, flags: Sequence[str]) -> dict[str, Any]:
    """Merge ``--options`` with the flags that were given; flags win."""
    merged = dict(arguments.options or {})
    merged.pop("digest", None)  # tells Snakemake when to rerun; the job has no use for it
    for flag in flags:
        value = getattr(arguments, flag)
        if value is not None:
            merged[flag] = value
    if arguments.param:
        merged["params"] = {**merged.get("params", {}), **dict(arguments.param)}
    return merged


def _use(options: dict[str, Any], kind: str) -> dict[str, Any]:
    if "use" not in options:
        raise InputError(f"name the {kind}: `--use ID` (`exparity list` shows them)")
    return {"params": {}, **options}


# Commands


def _prepare(arguments: argparse.Namespace) -> None:
    from exparity.data.files import DataSource
    from exparity.stages.prepare import prepare

    options = _use(_options(arguments, ["use"]), "dataset")
    source = DataSource(arguments.data_dir, download=not arguments.no_download)
    prepare(
        source=source,
        output=arguments.output,
        dataset_id=arguments.dataset_id or options["use"],
        **options,
    )


def _finetune(arguments: argparse.Namespace) -> None:
    options = dict(arguments.options or {})
    model = {**options.get("model", {}), **dict(arguments.model or [])}
    training = {**options.get("training", {}), **dict(arguments.training or [])}
    if arguments.processes > 1 and "LOCAL_RANK" not in os.environ:
        _relaunch(arguments)
        return
    _threads(arguments)
    from exparity.stages.finetune import finetune_cell

    finetune_cell(
        arguments.data,
        arguments.output,
        arguments.predictions,
        model=model,
        training=training,
        model_id=arguments.model_id or arguments.output.parent.name,
        seed=arguments.seed,
        digest=options.get("digest", ""),
        device=arguments.device,
        token_budget=arguments.token_budget,
    )


def _relaunch(arguments: argparse.Namespace) -> None:
    """Start one process per GPU through accelerate, each running this same command."""
    import subprocess

    where = ["--cpu"] if arguments.device == "cpu" else ["--multi_gpu"]
    command = [
        sys.executable, "-m", "accelerate.commands.launch", *where,
        "--num_processes", str(arguments.processes), "--num_machines", "1",
        "--mixed_precision", "no", "--dynamo_backend", "no",
        "-m", "exparity", *sys.argv[1:],
    ]  # fmt: skip
    code = subprocess.run(command, check=False).returncode
    if code:
        raise ExparityError(f"training with {arguments.processes} processes failed; see above")


def _explain(arguments: argparse.Namespace) -> None:
    flags = ["use", "target", "examples", "max_examples", "precision"]
    options = _use(_options(arguments, flags), "method")
    _threads(arguments)
    from exparity.stages.explain import explain_cell

    explain_cell(
        arguments.data,
        arguments.checkpoint,
        arguments.predictions,
        arguments.output,
        model_id=arguments.model_id or arguments.checkpoint.resolve().parent.name,
        method_id=arguments.method_id or options["use"],
        seed=arguments.seed,
        device=arguments.device,
        token_budget=arguments.token_budget,
        **options,
    )


def _evaluate(arguments: argparse.Namespace) -> None:
    options = _use(_options(arguments, ["use", "max_examples", "precision"]), "metric")
    from exparity.metrics import METRICS
    from exparity.stages.evaluate import evaluate_cell

    if METRICS.get(options["use"]).facts.needs != "attributions":
        _threads(arguments)
    evaluate_cell(
        arguments.data,
        arguments.explanations,
        arguments.checkpoint,
        arguments.output,
        metric_id=arguments.metric_id or options["use"],
        device=arguments.device,
        token_budget=arguments.token_budget,
        **options,
    )


def _test(arguments: argparse.Namespace) -> None:
    from exparity.parameters import complete, options_of
    from exparity.stages.test import test_cell
    from exparity.stats import compare_groups

    known = options_of(compare_groups)
    del known["seed"]  # follows from the cell
    given = {**(arguments.options or {}).get("statistics", {}), **dict(arguments.param or [])}
    test_cell(arguments.scores, arguments.output, statistics=complete(known, given, "statistics"))


def _report(arguments: argparse.Namespace) -> None:
    from exparity.stages.report import report

    report(arguments.results, arguments.output, arguments.options or {})


def _list(arguments: argparse.Namespace) -> None:
    from exparity.catalogue import describe

    print(describe(arguments.kind))


def _data(arguments: argparse.Namespace) -> None:
    from exparity.data.files import DataSource
    from exparity.stages import data_command

    source = DataSource(arguments.data_dir, download=arguments.action == "fetch")
    run: Callable[..., None] = getattr(data_command, f"{arguments.action}_data")
    run(source, arguments.ids)


def _bench(arguments: argparse.Namespace) -> None:
    _threads(arguments)
    from exparity.bench import bench

    bench(
        arguments.checkpoint,
        device=arguments.device,
        length=arguments.length,
        examples=arguments.examples,
        output=arguments.output,
    )


# Parsers


def _parser() -> argparse.ArgumentParser:
    from exparity import __version__

    parser = argparse.ArgumentParser(
        prog="exparity",
        description="Measure whether explanations of text classifiers work equally well for every "
        "group of people. Each stage reads and writes Parquet; the Snakemake workflow runs them "
        "all.",
    )
    parser.add_argument("--version", action="version", version=f"exparity {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_stages(commands)
    _add_others(commands)
    return parser


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _path(parser: argparse.ArgumentParser, flag: str, text: str, required: bool = True) -> None:
    parser.add_argument(f"--{flag}", type=Path, required=required, metavar="PATH", help=text)


def _add_options(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument("--use", metavar="ID", help=f"registered {kind}; see `exparity list`")
    parser.add_argument(
        "--param",
        action="append",
        type=_setting,
        metavar="KEY=VALUE",
        help=f"option of the {kind}; repeat for several",
    )
    _add_json(parser)
    parser.add_argument(
        "--plugins", nargs="*", default=[], metavar="FILE", help="modules with your own additions"
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--options",
        type=_json_object,
        metavar="JSON",
        help="all options as one object, as the workflow passes them; flags win over it",
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads of one operation")
    parser.add_argument(
        "--token-budget", type=int, metavar="N", help="padded tokens per batch; by device if unset"
    )


def _add_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--precision", choices=["fp32", "bf16"], help="arithmetic; fp32 if unset")


def _add_sample(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-examples", type=int, metavar="N", help="size of a sample; all examples if unset"
    )


def _add_stages(commands: Any) -> None:
    parser = _command(commands, "prepare", _prepare, "make the data artefact of a dataset")
    _path(parser, "output", "the data artefact to write")
    parser.add_argument(
        "--dataset-id", metavar="ID", help="name of the instance; as --use if unset"
    )
    parser.add_argument(
        "--data-dir", type=Path, default=Path("data"), metavar="PATH", help="folder of raw files"
    )
    parser.add_argument("--no-download", action="store_true", help="never use the network")
    _add_options(parser, "dataset")

    parser = _command(commands, "finetune", _finetune, "fine-tune a classifier and predict")
    _path(parser, "data", "the data artefact")
    _path(parser, "output", "folder of the checkpoint to write")
    _path(parser, "predictions", "the predictions artefact to write")
    parser.add_argument("--model-id", metavar="ID", help="name of the model; by --output if unset")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and dropout")
    for block in ("model", "training"):
        parser.add_argument(
            f"--{block}",
            action="append",
            type=_setting,
            metavar="KEY=VALUE",
            help=f"entry of the config's {block} block; repeat for several",
        )
    parser.add_argument("--processes", type=int, default=1, help="GPUs that train together")
    _add_json(parser)
    _add_machine(parser)

    parser = _command(commands, "explain", _explain, "explain the test split with one method")
    _path(parser, "data", "the data artefact")
    _path(parser, "checkpoint", "folder of the classifier")
    _path(parser, "predictions", "its predictions artefact")
    _path(parser, "output", "the explanations artefact to write")
    parser.add_argument("--model-id", metavar="ID", help="name of the model; by folder if unset")
    parser.add_argument("--method-id", metavar="ID", help="name of the instance; as --use if unset")
    parser.add_argument("--seed", type=int, default=0, help="of methods that draw random numbers")
    parser.add_argument("--target", choices=["label", "predicted"], help="class to explain")
    parser.add_argument("--examples", choices=["all", "correct"], help="examples to explain")
    _add_sample(parser)
    _add_precision(parser)
    _add_options(parser, "method")
    _add_machine(parser)

    parser = _command(commands, "evaluate", _evaluate, "score explanations with one metric")
    _path(parser, "data", "the data artefact")
    _path(parser, "explanations", "the explanations artefact")
    parser.add_argument(
        "--checkpoint",
        type=Path,
        nargs="?",
        metavar="PATH",
        help="folder of the classifier, for metrics that run it",
    )
    _path(parser, "output", "the scores artefact to write")
    parser.add_argument("--metric-id", metavar="ID", help="name of the instance; as --use if unset")
    _add_sample(parser)
    _add_precision(parser)
    _add_options(parser, "metric")
    _add_machine(parser)

    parser = _command(commands, "test", _test, "compare the groups of one scores artefact")
    _path(parser, "scores", "the scores artefact")
    _path(parser, "output", "the tests artefact to write")
    parser.add_argument(
        "--param",
        action="append",
        type=_setting,
        metavar="KEY=VALUE",
        help="entry of the config's statistics block; repeat for several",
    )
    _add_json(parser)

    parser = _command(commands, "report", _report, "gather all tests into tables and a page")
    _path(parser, "results", "folder of all results")
    _path(parser, "output", "folder of the report to write")
    _add_json(parser)
    parser.add_argument(
        "--plugins", nargs="*", default=[], metavar="FILE", help="modules with your own additions"
    )


def _add_others(commands: Any) -> None:
    parser = _command(commands, "list", _list, "list datasets, methods and metrics with options")
    parser.add_argument(
        "kind", nargs="?", choices=["datasets", "methods", "metrics"], help="all three if left out"
    )
    parser.add_argument(
        "--plugins", nargs="*", default=[], metavar="FILE", help="modules with your own additions"
    )

    parser = _command(commands, "data", _data, "list, fetch or check the raw files of datasets")
    parser.add_argument("action", choices=["list", "fetch", "check"])
    parser.add_argument("ids", nargs="*", metavar="DATASET", help="all with raw files if none")
    parser.add_argument(
        "--data-dir", type=Path, default=Path("data"), metavar="PATH", help="folder of raw files"
    )
    parser.add_argument(
        "--plugins", nargs="*", default=[], metavar="FILE", help="modules with your own additions"
    )

    parser = _command(
        commands, "bench", _bench, "measure the engine against the bare model and the machine"
    )
    _path(parser, "checkpoint", "folder of a classifier")
    parser.add_argument("--length", type=int, default=32, help="tokens of each text")
    parser.add_argument("--examples", type=int, default=512, help="number of texts")
    _path(parser, "output", "Parquet file to write as well", required=False)
    _add_machine(parser)
