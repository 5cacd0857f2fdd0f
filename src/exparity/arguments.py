"""The arguments of the command line: one parser a command.

Defaults may come from ``EXPARITY_`` environment variables, as the workflow sets them for its jobs.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Run = Callable[[argparse.Namespace], None]


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


def _sample_size(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of examples, from 2")
    return int(text)


def build_parser(runs: Mapping[str, Run]) -> argparse.ArgumentParser:
    """Return the parser of all commands.

    Args:
        runs: what each command does with its parsed arguments.
    """
    from exparity import __version__

    parser = argparse.ArgumentParser(
        prog="exparity",
        description="Measure whether explanations of text classifiers work equally well for every "
        "group of people. Each stage reads and writes Parquet; the Snakemake workflow runs them "
        "all.",
    )
    parser.add_argument("--version", action="version", version=f"exparity {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_stages(commands, runs)
    _add_analyses(commands, runs)
    _add_show(commands, runs)
    _add_costs(commands, runs)
    _add_others(commands, runs)
    return parser


def _command(commands: Any, name: str, run: Run, text: str) -> argparse.ArgumentParser:
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


def _paths(parser: argparse.ArgumentParser, flag: str, text: str) -> None:
    parser.add_argument(f"--{flag}", type=Path, nargs="+", required=True, metavar="PATH", help=text)


def _add_settings(parser: argparse.ArgumentParser, flag: str, text: str) -> None:
    parser.add_argument(
        f"--{flag}",
        action="append",
        type=_setting,
        metavar="KEY=VALUE",
        help=f"{text}; repeat for several",
    )


def _add_options(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument("--use", metavar="ID", help=f"registered {kind}; see `exparity list`")
    _add_settings(parser, "param", f"option of the {kind}")
    _add_json(parser)
    _add_plugins(parser)


def _default(name: str, otherwise: str = "") -> str:
    """Return a default that the environment may set, as the workflow does for its jobs."""
    return os.environ.get(f"EXPARITY_{name}", otherwise)


def _add_plugins(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugins",
        nargs="*",
        metavar="FILE",
        default=[part for part in _default("PLUGINS").split(os.pathsep) if part],
        help="modules with your own additions",
    )


def _add_data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="PATH",
        default=Path(_default("DATA_DIR", "data")),
        help="folder of raw files",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--options",
        type=_json_object,
        metavar="JSON",
        help="all options as one object, as the workflow passes them; flags win over it",
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default=_default("DEVICE", "auto"), help="auto, cpu or cuda:N")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads of one operation")
    parser.add_argument(
        "--token-budget",
        type=int,
        metavar="N",
        default=_default("TOKEN_BUDGET") or None,
        help="padded tokens per batch; by device if unset",
    )


def _add_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--precision", choices=["fp32", "bf16"], help="arithmetic; fp32 if unset")


def _add_sample(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-examples", type=int, metavar="N", help="size of a sample; all examples if unset"
    )


def _add_shortcuts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shortcuts",
        action="store_true",
        default=_default("SHORTCUTS") == "1",
        help="leave out work that cannot reach the output (BERT, RoBERTa, GPT-2)",
    )


def _add_shards(parser: argparse.ArgumentParser) -> None:
    split = parser.add_mutually_exclusive_group()
    split.add_argument(
        "--shard", metavar="K/N", help="do the K-th of N shares of the examples; all if unset"
    )
    split.add_argument(
        "--gather",
        type=Path,
        nargs="*",
        metavar="SHARD",
        help="put finished shards together as `exparity gather` does, and compute nothing",
    )


def _add_stages(commands: Any, runs: Mapping[str, Run]) -> None:
    parser = _command(commands, "prepare", runs["prepare"], "make the data artefact of a dataset")
    _path(parser, "output", "the data artefact to write")
    parser.add_argument(
        "--dataset-id", metavar="ID", help="name of the instance; as --use if unset"
    )
    _add_data_dir(parser)
    parser.add_argument(
        "--no-download",
        action="store_true",
        default=_default("DOWNLOAD") == "0",
        help="never use the network",
    )
    _add_options(parser, "dataset")

    parser = _command(commands, "finetune", runs["finetune"], "fine-tune a classifier and predict")
    _path(parser, "data", "the data artefact")
    _path(parser, "output", "folder of the checkpoint to write")
    _path(parser, "predictions", "the predictions artefact to write")
    parser.add_argument("--model-id", metavar="ID", help="name of the model; by --output if unset")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and dropout")
    for block in ("model", "training"):
        _add_settings(parser, block, f"entry of the config's {block} block")
    _add_json(parser)
    _add_machine(parser)

    parser = _command(commands, "explain", runs["explain"], "explain test texts with one method")
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
    _add_shortcuts(parser)
    _add_shards(parser)
    _add_precision(parser)
    _add_options(parser, "method")
    _add_machine(parser)

    parser = _command(commands, "evaluate", runs["evaluate"], "score explanations with one metric")
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
    _add_shortcuts(parser)
    _add_shards(parser)
    _add_precision(parser)
    _add_options(parser, "metric")
    _add_machine(parser)

    parser = _command(
        commands, "gather", runs["gather"], "put the shards of one explain or evaluate job together"
    )
    _path(parser, "output", "the artefact to write")
    parser.add_argument(
        "shards", type=Path, nargs="+", metavar="SHARD", help="artefacts made with --shard, all N"
    )

    parser = _command(commands, "test", runs["test"], "compare the groups of one scores artefact")
    _path(parser, "scores", "the scores artefact")
    _path(parser, "output", "the tests artefact to write")
    _add_settings(parser, "param", "entry of the config's statistics block")
    _add_json(parser)

    parser = _command(
        commands, "bias", runs["bias"], "measure how a classifier's predictions differ by group"
    )
    _path(parser, "data", "the data artefact, which declares groups and classes")
    _path(parser, "predictions", "the predictions artefact")
    _path(parser, "output", "the bias artefact to write")
    _add_settings(parser, "param", "confidence or resamples of the config's statistics block")
    _add_json(parser)

    parser = _command(
        commands, "control", runs["control"], "test the scores of one classifier, groups permuted"
    )
    _paths(parser, "scores", "the scores artefacts of one dataset, model and seed")
    _path(parser, "output", "the controls artefact to write")
    _add_settings(parser, "param", "alpha, repeats or schemes")
    _add_json(parser)

    parser = _command(commands, "report", runs["report"], "gather all tests into tables and a page")
    _path(parser, "page", "the page to write; tables are put beside it")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="PATH",
        help="folder of results; two above --page if unset",
    )
    _add_json(parser)
    _add_plugins(parser)


def _add_analyses(commands: Any, runs: Mapping[str, Run]) -> None:
    name = "correctness"
    parser = _command(
        commands, name, runs[name], "describe scores on all and on correctly classified examples"
    )
    _paths(parser, "scores", "the scores artefacts of one dataset, model and seed")
    _path(parser, "predictions", "the predictions artefact")
    _path(parser, "output", "the correctness artefact to write")
    _add_json(parser)

    name = "attribution-difference"
    parser = _command(
        commands, name, runs[name], "compare the attribution of words between matched texts"
    )
    _path(parser, "data", "the data artefact")
    _paths(parser, "explanations", "the explanations artefacts of one dataset, model and seed")
    _path(parser, "output", "the attribution_differences artefact to write")
    _add_settings(parser, "param", "attribution or min_sets")
    _add_json(parser)

    name = "dataset-bias"
    parser = _command(commands, name, runs[name], "measure what words say of groups and classes")
    _path(parser, "data", "the data artefact")
    _path(parser, "output", "the dataset_bias artefact to write")
    parser.add_argument(
        "--terms",
        type=_json_object,
        metavar="JSON",
        help='words that name each group, by form: {"male": [["he"], ["him", "his"]], ...}; no '
        "co-occurrence if unset",
    )
    _add_json(parser)

    name = "mlm-score"
    parser = _command(
        commands, name, runs[name], "ask a tuned encoder for masked words through its original head"
    )
    _path(parser, "data", "the data artefact")
    _path(parser, "checkpoint", "folder of the fine-tuned classifier")
    _path(parser, "output", "the mlm_scores artefact to write")
    parser.add_argument("--original", metavar="NAME", help="masked language model it started from")
    parser.add_argument("--revision", metavar="COMMIT", help="revision of the original on the Hub")
    parser.add_argument("--model-id", metavar="ID", help="name of the model; by folder if unset")
    parser.add_argument("--seed", type=int, default=0, help="seed of the training run")
    _add_sample(parser)
    _add_json(parser)
    _add_machine(parser)


def _add_costs(commands: Any, runs: Mapping[str, Run]) -> None:
    parser = _command(commands, "cost", runs["cost"], "gather what every finished job took")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="PATH",
        help="folder of results; that of --output if unset, or results",
    )
    _path(parser, "output", "the cost artefact to write; cost.parquet there if unset", False)
    _add_plugins(parser)

    parser = _command(
        commands, "plan", runs["plan"], "estimate what an experiment takes, from finished jobs"
    )
    parser.add_argument(
        "--configfile",
        type=Path,
        default=Path("config/config.yaml"),
        metavar="FILE",
        help="the experiment",
    )
    parser.add_argument(
        "--from",
        dest="sources",
        type=Path,
        action="append",
        default=[],
        metavar="RESULTS",
        help="folder of results of another run to learn from; repeat for several",
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help="first run a small part of the experiment here: one seed, an epoch, few examples",
    )
    parser.add_argument(
        "--write-probe",
        type=Path,
        metavar="FILE",
        help="write the config of that small run, to run it elsewhere, and plan nothing",
    )
    parser.add_argument(
        "--examples",
        type=_sample_size,
        default=20,
        metavar="N",
        help="examples of that run for a method or metric of many model passes",
    )
    parser.add_argument("--cores", default="all", metavar="N", help="CPU cores for that run")
    parser.add_argument(
        "--device",
        choices=["cpu", "cuda"],
        help="where jobs that run a model are to run; by the config, or a GPU if any ran on one",
    )
    parser.add_argument(
        "--data-dir", type=Path, metavar="PATH", help="folder of raw files; the config's if unset"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_show(commands: Any, runs: Mapping[str, Run]) -> None:
    parser = _command(
        commands, "show", runs["show"], "print the headline and the disparity tables of results"
    )
    parser.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        metavar="RESULTS",
        help="folder of results",
    )
    for kind in ("dataset", "model", "seed", "method", "metric"):
        parser.add_argument(
            f"--{kind}",
            action="append",
            type=int if kind == "seed" else str,
            metavar="N" if kind == "seed" else "ID",
            help=f"show this {kind} only; repeat for several",
        )
    parser.add_argument(
        "--correction",
        choices=["none", "holm", "bh"],
        default="none",
        help="p-values that the tables count: as they are, or corrected for many tests",
    )


def _add_others(commands: Any, runs: Mapping[str, Run]) -> None:
    parser = _command(commands, "list", runs["list"], "list datasets, methods, metrics and models")
    parser.add_argument(
        "kind",
        nargs="?",
        choices=["datasets", "methods", "metrics", "models"],
        help="all four if left out",
    )
    _add_plugins(parser)

    parser = _command(
        commands, "data", runs["data"], "list, fetch or check raw files, and fetch checkpoints"
    )
    parser.add_argument("action", choices=["list", "fetch", "check"], help="what to do")
    parser.add_argument(
        "ids", nargs="*", metavar="DATASET", help="all of the config or with raw files if none"
    )
    parser.add_argument(
        "--configfile",
        type=Path,
        metavar="FILE",
        help="an experiment: its datasets, and with fetch its models too",
    )
    parser.add_argument(
        "--models",
        nargs="*",
        metavar="MODEL",
        help="fetch checkpoints, ids of the config, of the catalogue or ORG/NAME@REVISION, into "
        "the Hub's cache (HF_HOME); all of the config or the catalogue if none is named",
    )
    _add_data_dir(parser)
    # A config file has a word in it.
    parser.set_defaults(data_dir=None)
    _add_plugins(parser)

    parser = _command(
        commands,
        "compare-published",
        runs["compare-published"],
        "lay results beside the numbers of a published study",
    )
    parser.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        metavar="RESULTS",
        help="folder of results, with its report",
    )
    parser.add_argument("--study", default="dhaini2025", metavar="ID", help="the study")
    parser.add_argument(
        "--map",
        action="append",
        type=_setting,
        metavar="MODEL=PUBLISHED",
        help="published model beside which one of yours is put; repeat for several",
    )
    _path(parser, "output", "folder for the tables as CSV and Parquet", required=False)

    parser = _command(
        commands,
        "bench",
        runs["bench"],
        "measure the engine against the bare model",
    )
    _path(parser, "checkpoint", "folder of a classifier")
    parser.add_argument("--length", type=int, default=32, help="tokens of each text")
    parser.add_argument("--examples", type=int, default=512, help="number of texts")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=["engine", "scaling", "sensitivity"],
        default=["engine"],
        metavar="PART",
        help="what to measure: engine, scaling or sensitivity",
    )
    parser.add_argument(
        "--precisions",
        nargs="+",
        choices=["fp32", "bf16"],
        default=["fp32"],
        metavar="P",
        help="arithmetic: fp32, bf16 or both",
    )
    _path(parser, "output", "folder for a Parquet file a part", required=False)
    _add_machine(parser)
