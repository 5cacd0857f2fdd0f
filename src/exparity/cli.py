"""The command line: ``exparity <stage>``, what the workflow's rules call.

Every stage takes its options as flags for people, or as one JSON object (``--options``) from the
workflow. Modules are imported inside the command that needs them: a test job must not wait for
torch.
"""

from __future__ import annotations

import argparse
import errno
import gc
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exparity.arguments import build_parser
from exparity.errors import ExparityError, InputError, did_you_mean
from exparity.stages._stop import Stopped, stoppable

log = logging.getLogger("exparity")
_LAUNCHED = "EXPARITY_LAUNCHED"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: arguments; those of the process if None.

    Returns:
        0 on success, 2 on bad input, 1 on another failure with a known cause, 143 after a TERM.
    """
    arguments = build_parser(COMMANDS).parse_args(argv)  # sys.argv if None
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
        force=True,
    )
    logging.captureWarnings(True)
    for noisy in ("httpx", "httpcore", "urllib3", "huggingface_hub", "filelock", "fontTools"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if argv is None:
        _spare_pandas()
    try:
        from exparity.artifacts import job
        from exparity.registry import load_plugin

        for plugin in getattr(arguments, "plugins", None) or []:
            load_plugin(plugin)
        with job():
            arguments.run(arguments)
    except ExparityError as error:
        print(f"exparity: {error}", file=sys.stderr)
        return error.exit_code
    except Stopped as stopped:
        print(f"exparity: {stopped}", file=sys.stderr)
        return stopped.exit_code
    except KeyboardInterrupt:
        print("exparity: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, say) has what it wanted; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"exparity: {_explained(error)}", file=sys.stderr)
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


def _threads(arguments: argparse.Namespace) -> None:
    """Set up torch for a model job."""
    from exparity.engine.device import make_repeatable

    make_repeatable(arguments.threads)


def _explained(error: OSError) -> str:
    """Return what the system would not do, to which file, and what to do about it."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        # Libraries put words of their own around the system's.
        reason = f"{os.strerror(error.errno)}; make room and run again, what is finished is kept"
    return f"{error.filename}: {reason}" if error.filename else reason


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


def _use(options: dict[str, Any], kind: str, known: Sequence[str]) -> dict[str, Any]:
    if "use" not in options:
        raise InputError(f"name the {kind}: `--use ID` (`exparity list` shows them)")
    for key in options:
        if key not in (*known, "params"):
            raise InputError(f"--options: unknown key '{key}'; {did_you_mean(key, known)}")
    return {"params": {}, **options}


# Commands


def _prepare(arguments: argparse.Namespace) -> None:
    from exparity.data.files import DataSource
    from exparity.stages.prepare import prepare

    flags = ["use"]
    options = _use(_options(arguments, flags), "dataset", flags)
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
    processes = training.get("processes", 1)
    if processes > 1 and "LOCAL_RANK" not in os.environ:
        if _LAUNCHED in os.environ:
            raise ExparityError("a training process was started without a rank")
        _relaunch(processes)
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
    options = _use(_options(arguments, flags), "method", flags)
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
    options = _use(_options(arguments, flags), "metric", flags)
    from exparity.metrics import METRICS
    from exparity.stages.evaluate import evaluate_cell

    if METRICS.get(options["use"]).facts.runs_model:
        _threads(arguments)
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
    from exparity.stages.gather import gather_shards

    gather_shards(shards, output)


def _test(arguments: argparse.Namespace) -> None:
    from exparity.parameters import complete, options_of
    from exparity.stages.test import test_cell
    from exparity.stats import compare_groups

    known = options_of(compare_groups)
    del known["seed"]  # follows from the cell
    given = {**(arguments.options or {}).get("statistics", {}), **dict(arguments.param or [])}
    test_cell(arguments.scores, arguments.output, statistics=complete(known, given, "statistics"))


def _bias(arguments: argparse.Namespace) -> None:
    from exparity.parameters import complete, options_of
    from exparity.stages.bias import bias_cell
    from exparity.stats.model_bias import model_bias

    known = options_of(model_bias)
    del known["seed"]  # follows from the cell
    given = {**(arguments.options or {}).get("statistics", {}), **dict(arguments.param or [])}
    bias_cell(
        arguments.data,
        arguments.predictions,
        arguments.output,
        statistics=complete(known, given, "statistics"),
    )


def _control(arguments: argparse.Namespace) -> None:
    from exparity.parameters import complete, options_of
    from exparity.stages.control import control_cells
    from exparity.stats import permutation_control

    known = options_of(permutation_control)
    del known["seed"]  # follows from the cells
    given = {**(arguments.options or {}).get("controls", {}), **dict(arguments.param or [])}
    controls = complete(known, given, "controls.permutation")
    control_cells(arguments.scores, arguments.output, controls=controls)


def _correctness(arguments: argparse.Namespace) -> None:
    from exparity.stages.correctness import correctness_cell

    correctness_cell(arguments.scores, arguments.predictions, arguments.output)


def _attribution_difference(arguments: argparse.Namespace) -> None:
    from exparity.parameters import complete, options_of
    from exparity.stages.attribution_difference import attribution_difference_cell

    known = options_of(attribution_difference_cell)
    given = {**_settings(arguments), **dict(arguments.param or [])}
    attribution_difference_cell(
        arguments.data,
        arguments.explanations,
        arguments.output,
        **complete(known, given, "analyses.attribution_difference"),
    )


def _dataset_bias(arguments: argparse.Namespace) -> None:
    from exparity.stages.dataset_bias import measure_dataset_bias

    terms = arguments.terms or _settings(arguments).get("terms")
    measure_dataset_bias(arguments.data, arguments.output, terms=terms)


def _mlm_score(arguments: argparse.Namespace) -> None:
    flags = ("original", "revision", "max_examples")
    given = {flag: getattr(arguments, flag) for flag in flags}
    settings = _settings(arguments) | {k: v for k, v in given.items() if v is not None}
    if "original" not in settings:
        raise InputError("name the masked language model: `--original NAME`")
    _threads(arguments)
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


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return dict((arguments.options or {}).get("settings", {}))


def _report(arguments: argparse.Namespace) -> None:
    from exparity.stages.report import report

    results = arguments.results or arguments.page.parent.parent
    report(results, arguments.page, arguments.options or {})


def _show(arguments: argparse.Namespace) -> None:
    from exparity.stages.show import IDS, show

    filters = {kind: getattr(arguments, kind) for kind in IDS}
    show(arguments.results, filters, arguments.correction)


def _list(arguments: argparse.Namespace) -> None:
    from exparity.catalogue import describe

    print(describe(arguments.kind))


def _data(arguments: argparse.Namespace) -> None:
    from exparity.data.files import DataSource
    from exparity.stages import data_command

    fetch, names = arguments.action == "fetch", arguments.models
    if names is not None and not fetch:
        raise InputError("--models goes with `exparity data fetch`")
    experiment = None
    if arguments.configfile:
        experiment = data_command.read_experiment(arguments.configfile)
    configured = experiment.config["data_dir"] if experiment else None
    folder = arguments.data_dir or configured or os.environ.get("EXPARITY_DATA_DIR", "data")
    if names is None or arguments.ids:
        run: Callable[..., None] = getattr(data_command, f"{arguments.action}_data")
        run(DataSource(Path(folder), download=fetch), arguments.ids, experiment)
    if fetch and (names is not None or (experiment and not arguments.ids)):
        data_command.fetch_models(data_command.wanted_models(names or (), experiment))


def _plan(arguments: argparse.Namespace) -> None:
    from exparity.stages.plan import Request, measure, plan, write_probe

    # What is odd in the data is for the job to say that prepares them.
    logging.getLogger("exparity.data").setLevel(logging.ERROR)
    request = Request(arguments.configfile, arguments.sources, arguments.device, arguments.data_dir)
    if arguments.write_probe:
        folder = write_probe(request, arguments.examples, arguments.write_probe)
        print(f"snakemake --configfile {arguments.write_probe}")
        print(f"exparity plan --configfile {arguments.configfile} --from {folder}")
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
    _threads(arguments)
    from exparity.bench import bench

    bench(
        arguments.checkpoint,
        parts=arguments.parts,
        device=arguments.device,
        precisions=arguments.precisions,
        length=arguments.length,
        examples=arguments.examples,
        output=arguments.output,
    )


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "prepare": _prepare,
    "finetune": _finetune,
    "explain": _explain,
    "evaluate": _evaluate,
    "gather": _gather,
    "test": _test,
    "bias": _bias,
    "control": _control,
    "correctness": _correctness,
    "attribution-difference": _attribution_difference,
    "dataset-bias": _dataset_bias,
    "mlm-score": _mlm_score,
    "report": _report,
    "cost": _cost,
    "plan": _plan,
    "show": _show,
    "list": _list,
    "data": _data,
    "compare-published": _compare_published,
    "bench": _bench,
}
