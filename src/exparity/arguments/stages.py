"""Arguments of the stages that the workflow runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.arguments.flags import (
    Run,
    add_command,
    add_data_dir,
    add_json,
    add_machine,
    add_options,
    add_path,
    add_paths,
    add_plugins,
    add_precision,
    add_sample,
    add_settings,
    add_shards,
    add_shortcuts,
    default_of,
    seed,
)


def add_stages(commands: Any, runs: Mapping[str, Run]) -> None:
    """Add the commands that the rules of the workflow call."""
    parser = add_command(
        commands, "prepare", runs["prepare"], "make the data artefact of a dataset"
    )
    add_path(parser, "output", "the data artefact to write")
    parser.add_argument(
        "--dataset-id", metavar="ID", help="name of the instance; as --use if unset"
    )
    add_data_dir(parser)
    parser.add_argument(
        "--no-download",
        action="store_true",
        default=default_of("DOWNLOAD") == "0",
        help="never use the network",
    )
    add_options(parser, "dataset")

    parser = add_command(
        commands, "finetune", runs["finetune"], "fine-tune a classifier and predict"
    )
    add_path(parser, "data", "the data artefact")
    add_path(parser, "output", "folder of the checkpoint to write")
    add_path(parser, "predictions", "the predictions artefact to write")
    parser.add_argument("--model-id", metavar="ID", help="name of the model; by --output if unset")
    parser.add_argument("--seed", type=seed, default=0, help="of weights, order and dropout")
    for block in ("model", "training"):
        add_settings(parser, block, f"entry of the config's {block} block")
    add_json(parser)
    add_machine(parser)

    parser = add_command(commands, "explain", runs["explain"], "explain test texts with one method")
    add_path(parser, "data", "the data artefact")
    add_path(parser, "checkpoint", "folder of the classifier")
    add_path(parser, "predictions", "its predictions artefact")
    add_path(parser, "output", "the explanations artefact to write")
    parser.add_argument("--model-id", metavar="ID", help="name of the model; by folder if unset")
    parser.add_argument("--method-id", metavar="ID", help="name of the instance; as --use if unset")
    parser.add_argument("--seed", type=seed, default=0, help="of methods that draw random numbers")
    parser.add_argument("--target", choices=["label", "predicted"], help="class to explain")
    parser.add_argument("--examples", choices=["all", "correct"], help="examples to explain")
    add_sample(parser)
    add_shortcuts(parser)
    add_shards(parser)
    add_precision(parser)
    add_options(parser, "method")
    add_machine(parser)

    parser = add_command(
        commands, "evaluate", runs["evaluate"], "score explanations with one metric"
    )
    add_path(parser, "data", "the data artefact")
    add_path(parser, "explanations", "the explanations artefact")
    parser.add_argument(
        "--checkpoint",
        type=Path,
        nargs="?",
        metavar="PATH",
        help="folder of the classifier, for metrics that run it",
    )
    add_path(parser, "output", "the scores artefact to write")
    parser.add_argument("--metric-id", metavar="ID", help="name of the instance; as --use if unset")
    add_sample(parser)
    add_shortcuts(parser)
    add_shards(parser)
    add_precision(parser)
    add_options(parser, "metric")
    add_machine(parser)

    parser = add_command(
        commands, "gather", runs["gather"], "put the shards of one explain or evaluate job together"
    )
    add_path(parser, "output", "the artefact to write")
    parser.add_argument(
        "shards", type=Path, nargs="+", metavar="SHARD", help="artefacts made with --shard, all N"
    )

    parser = add_command(
        commands, "test", runs["test"], "compare the groups of one scores artefact"
    )
    add_path(parser, "scores", "the scores artefact")
    add_path(parser, "output", "the tests artefact to write")
    add_settings(parser, "param", "entry of the config's statistics block")
    add_json(parser)

    parser = add_command(
        commands, "bias", runs["bias"], "measure how a classifier's predictions differ by group"
    )
    add_path(parser, "data", "the data artefact, which declares groups and classes")
    add_path(parser, "predictions", "the predictions artefact")
    add_path(parser, "output", "the bias artefact to write")
    add_settings(parser, "param", "confidence or resamples of the config's statistics block")
    add_json(parser)

    parser = add_command(
        commands, "control", runs["control"], "test the scores of one classifier, groups permuted"
    )
    add_paths(parser, "scores", "the scores artefacts of one dataset, model and seed")
    add_path(parser, "output", "the controls artefact to write")
    add_settings(parser, "param", "alpha, repeats or schemes")
    add_json(parser)

    parser = add_command(
        commands, "report", runs["report"], "gather all tests into tables and a page"
    )
    add_path(parser, "page", "the page to write; tables are put beside it")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="PATH",
        help="folder of results; two above --page if unset",
    )
    add_json(parser)
    add_plugins(parser)
