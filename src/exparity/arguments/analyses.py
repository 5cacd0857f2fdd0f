"""Arguments of the analyses beside the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exparity.arguments.flags import (
    Run,
    add_command,
    add_json,
    add_machine,
    add_path,
    add_paths,
    add_sample,
    add_settings,
    json_object,
    seed,
)


def add_analyses(commands: Any, runs: Mapping[str, Run]) -> None:
    """Add the commands of analyses."""
    name = "correctness"
    parser = add_command(
        commands, name, runs[name], "describe scores on all and on correctly classified examples"
    )
    add_paths(parser, "scores", "the scores artefacts of one dataset, model and seed")
    add_path(parser, "predictions", "the predictions artefact")
    add_path(parser, "output", "the correctness artefact to write")
    add_json(parser)

    name = "attribution-difference"
    parser = add_command(
        commands, name, runs[name], "compare the attribution of words between matched texts"
    )
    add_path(parser, "data", "the data artefact")
    add_paths(parser, "explanations", "the explanations artefacts of one dataset, model and seed")
    add_path(parser, "output", "the attribution_differences artefact to write")
    add_settings(parser, "param", "attribution or min_sets")
    add_json(parser)

    name = "dataset-bias"
    parser = add_command(commands, name, runs[name], "measure what words say of groups and classes")
    add_path(parser, "data", "the data artefact")
    add_path(parser, "output", "the dataset_bias artefact to write")
    parser.add_argument(
        "--terms",
        type=json_object,
        metavar="JSON",
        help='words that name each group, by form: {"male": [["he"], ["him", "his"]], ...}; no '
        "co-occurrence if unset",
    )
    add_json(parser)

    name = "mlm-score"
    parser = add_command(
        commands, name, runs[name], "ask a tuned encoder for masked words through its original head"
    )
    add_path(parser, "data", "the data artefact")
    add_path(parser, "checkpoint", "folder of the fine-tuned classifier")
    add_path(parser, "output", "the mlm_scores artefact to write")
    parser.add_argument("--original", metavar="NAME", help="masked language model it started from")
    parser.add_argument("--revision", metavar="COMMIT", help="revision of the original on the Hub")
    parser.add_argument("--model-id", metavar="ID", help="name of the model; by folder if unset")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the training run")
    add_sample(parser)
    add_json(parser)
    add_machine(parser)
