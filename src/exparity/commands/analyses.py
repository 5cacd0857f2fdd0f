"""The analyses beside the tests."""

from __future__ import annotations

import argparse

from exparity.arguments.flags import Run
from exparity.commands.given import block_of, completed, set_threads
from exparity.core.errors import InputError


def _correctness(arguments: argparse.Namespace) -> None:
    from exparity.stages.correctness import correctness_cell

    correctness_cell(arguments.scores, arguments.predictions, arguments.output)


def _attribution_difference(arguments: argparse.Namespace) -> None:
    from exparity.stages.attribution_difference import attribution_difference_cell

    given = block_of(arguments, "settings", arguments.param)
    attribution_difference_cell(
        arguments.data,
        arguments.explanations,
        arguments.output,
        **completed(attribution_difference_cell, given, "analyses.attribution_difference"),
    )


def _dataset_bias(arguments: argparse.Namespace) -> None:
    from exparity.stages.dataset_bias import measure_dataset_bias

    terms = arguments.terms or block_of(arguments, "settings").get("terms")
    measure_dataset_bias(arguments.data, arguments.output, terms=terms)


def _mlm_score(arguments: argparse.Namespace) -> None:
    flags = ("original", "revision", "max_examples")
    given = {flag: getattr(arguments, flag) for flag in flags}
    settings = block_of(arguments, "settings") | {k: v for k, v in given.items() if v is not None}
    if "original" not in settings:
        raise InputError("name the masked language model: `--original NAME`")
    set_threads(arguments)
    from exparity.stages.mlm_score import mlm_score_cell

    mlm_score_cell(
        arguments.data,
        arguments.checkpoint,
        arguments.output,
        model_id=arguments.model_id or arguments.checkpoint.resolve().parent.name,
        seed=arguments.seed,
        device=arguments.device,
        token_budget=arguments.token_budget,
        **settings,
    )


COMMANDS: dict[str, Run] = {
    "correctness": _correctness,
    "attribution-difference": _attribution_difference,
    "dataset-bias": _dataset_bias,
    "mlm-score": _mlm_score,
}
