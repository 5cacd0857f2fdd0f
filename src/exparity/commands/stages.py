"""The stages that the rules of the workflow call."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from exparity.arguments.flags import Run
from exparity.commands.given import block_of, completed, merged, set_threads, with_use
from exparity.core.errors import ExparityError
from exparity.jobs.stop import stoppable

_LAUNCHED = "EXPARITY_LAUNCHED"


def _prepare(arguments: argparse.Namespace) -> None:
    from exparity.data.files import DataSource
    from exparity.stages.prepare import prepare

    flags = ["use"]
    options = with_use(merged(arguments, flags), "dataset", flags)
    source = DataSource(arguments.data_dir, download=not arguments.no_download)
    prepare(
        source=source,
        output=arguments.output,
        dataset_id=arguments.dataset_id or options["use"],
        **options,
    )


def _finetune(arguments: argparse.Namespace) -> None:
    model = block_of(arguments, "model", arguments.model)
    training = block_of(arguments, "training", arguments.training)
    processes = training.get("processes", 1)
    if processes > 1 and "LOCAL_RANK" not in os.environ:
        if _LAUNCHED in os.environ:
            raise ExparityError("a training process was started without a rank")
        _relaunch(processes)
        return
    set_threads(arguments)
    from exparity.stages.finetune import finetune_cell

    finetune_cell(
        arguments.data,
        arguments.output,
        arguments.predictions,
        model=model,
        training=training,
        model_id=arguments.model_id or arguments.output.parent.name,
        seed=arguments.seed,
        digest=(arguments.options or {}).get("digest", ""),
        device=arguments.device,
        token_budget=arguments.token_budget,
    )


def _relaunch(processes: int) -> None:
    """Run this same command in several processes that train together.

    Each finds its place in the environment (``LOCAL_RANK``), as accelerate expects.
    """
    import subprocess

    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        "--nproc-per-node", str(processes), "-m", "exparity", *sys.argv[1:],
    ]  # fmt: skip
    # Should a launcher not tell a process its place, it must fail and not launch others in turn.
    environment = {**os.environ, _LAUNCHED: "1"}
    code = subprocess.run(command, env=environment, check=False).returncode
    if code:
        raise ExparityError(f"training with {processes} processes failed; see above")


@stoppable()
def _explain(arguments: argparse.Namespace) -> None:
    if arguments.gather:
        _gather_to(arguments.output, arguments.gather)
        return
    flags = ["use", "target", "examples", "max_examples", "precision"]
    options = with_use(merged(arguments, flags), "method", flags)
    set_threads(arguments)
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
        shortcuts=arguments.shortcuts,
        shard=arguments.shard or "1/1",
        **options,
    )


@stoppable()
def _evaluate(arguments: argparse.Namespace) -> None:
    if arguments.gather:
        _gather_to(arguments.output, arguments.gather)
        return
    flags = ["use", "max_examples", "precision"]
    options = with_use(merged(arguments, flags), "metric", flags)
    from exparity.metrics import METRICS
    from exparity.stages.evaluate import evaluate_cell

    if METRICS.get(options["use"]).facts.runs_model:
        set_threads(arguments)
    evaluate_cell(
        arguments.data,
        arguments.explanations,
        arguments.checkpoint,
        arguments.output,
        metric_id=arguments.metric_id or options["use"],
        device=arguments.device,
        token_budget=arguments.token_budget,
        shortcuts=arguments.shortcuts,
        shard=arguments.shard or "1/1",
        **options,
    )


def _gather(arguments: argparse.Namespace) -> None:
    _gather_to(arguments.output, arguments.shards)


def _gather_to(output: Path, shards: Sequence[Path]) -> None:
    from exparity.stages.shards import gather_shards

    gather_shards(shards, output)


def _test(arguments: argparse.Namespace) -> None:
    from exparity.stages.test import test_cell
    from exparity.stats import compare_groups

    given = block_of(arguments, "statistics", arguments.param)
    statistics = completed(compare_groups, given, "statistics")
    test_cell(arguments.scores, arguments.output, statistics=statistics)


def _bias(arguments: argparse.Namespace) -> None:
    from exparity.stages.bias import bias_cell
    from exparity.stats.model_bias import model_bias

    given = block_of(arguments, "statistics", arguments.param)
    statistics = completed(model_bias, given, "statistics")
    bias_cell(arguments.data, arguments.predictions, arguments.output, statistics=statistics)


def _control(arguments: argparse.Namespace) -> None:
    from exparity.stages.control import control_cells
    from exparity.stats import permutation_control

    given = block_of(arguments, "controls", arguments.param)
    controls = completed(permutation_control, given, "controls.permutation")
    control_cells(arguments.scores, arguments.output, controls=controls)


def _report(arguments: argparse.Namespace) -> None:
    from exparity.stages.report import report

    results = arguments.results or arguments.page.parent.parent
    report(results, arguments.page, arguments.options or {})


COMMANDS: dict[str, Run] = {
    "prepare": _prepare,
    "finetune": _finetune,
    "explain": _explain,
    "evaluate": _evaluate,
    "gather": _gather,
    "test": _test,
    "bias": _bias,
    "control": _control,
    "report": _report,
}
