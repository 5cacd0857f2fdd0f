"""Measure exparity on this machine's GPU, offline, in less than eight minutes.

Usage: python benchmarks/gpu.py [--output gpu.parquet] [--peer-python PYTHON]

Models are random ones of the sizes of config/paper.yaml, and texts made-up words in the numbers of
tokens of GECO's test sentences. Prints Markdown tables and writes a Parquet file: the engine
against the bare loop and the card's matrix products; seconds a text of each method and metric; what
a whole cell of the published grid comes to at these rates; the start of jobs; and ferret beside it
where a Python that has it is named. What the card cannot do, and what no time was left for, is
named with the reason. --tiny does all of it with small models, on a CPU in seconds.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from engine_tables import markdown
from gpu_measurements import (
    Models,
    beside_ferret,
    method_cost,
    metric_cost,
    rates,
    refusal,
    start_up,
)
from measurements import Row
from timing import place

from exparity.artefacts.files import save_parquet
from exparity.core.device import make_repeatable
from exparity.core.strict import read_yaml
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.catalogue import known_models

GRID = read_yaml(Path(__file__).resolve().parents[1] / "config" / "paper.yaml")
CELL = "bert"  # the model whose cell is measured whole
EXPLAINED_BY = "gradient_x_input"  # what metrics score that ask no method again
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
ENGINE = ("fp32", "bf16", "fp16")  # those that jobs run in
PER_TEXT = "seconds_a_text"
ELSEWHERE = ("start", "ferret")  # parts that run in other processes
RATES = ("tokens_per_second", "of_bare", "GFLOP_per_second", "of_matrix_product", "of_ferret")
FIGURES = ("seconds", PER_TEXT, *RATES, "peak_GB")
WHAT = ("part", "model", "precision", "work")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in WHAT),
        *((name, pa.int64()) for name in ("texts", "repeats")),
        *((name, pa.float64()) for name in FIGURES),
        *((name, pa.string()) for name in ("not_measured", "device")),
        ("threads", pa.int64()),
    ]
)
PRINTED = [
    name for name in SCHEMA.names if name not in ("part", "not_measured", "device", "threads")
]


class OutOfTime(BaseException):
    """The time is over, which no handler of errors on the way may take for one."""


@dataclass(frozen=True)
class Part:
    """What is measured, or named as not measured, as a whole.

    Attributes:
        part: heading of its table.
        model: the model that runs.
        precision: its arithmetic.
        work: what it does.
        measure: returns rows, which may say more closely what they are of.
    """

    part: str
    model: str
    precision: str
    work: str
    measure: Callable[[], Sequence[Row]]

    def row(self, **measured: object) -> Row:
        """Return figures after what they are of."""
        return {**{name: getattr(self, name) for name in WHAT}, **measured}


def main() -> None:
    arguments = parse_arguments()
    make_repeatable(torch.get_num_threads())
    with tempfile.TemporaryDirectory() as folder:
        shortcuts = bool(GRID["engine"]["shortcuts"])
        models = Models(Path(folder), arguments.device, shortcuts=shortcuts, tiny=arguments.tiny)
        where = place(models.device)
        parts = list(planned(models, arguments.peer_python))
        rows = measured(parts, models.device, 60 * arguments.minutes)
    rows += [row for precision in ENGINE for row in whole_cell(rows, precision, models.most)]
    whole = [{name: {**row, **where}.get(name) for name in SCHEMA.names} for row in rows]
    table = pa.Table.from_pylist(whole, SCHEMA)
    save_parquet(arguments.output, table, {"torch": torch.__version__})
    sizes = "tiny models" if models.tiny else "models of the published sizes"
    print(f"{where['device']}, torch {torch.__version__}, {sizes}")
    print(as_markdown(whole))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("results/bench/gpu.parquet"))
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--minutes", type=float, default=7.5, help="when to stop (default: 7.5)")
    parser.add_argument("--peer-python", help="Python of an environment that has ferret-xai")
    parser.add_argument("--tiny", action="store_true", help="small models and few short texts")
    return parser.parse_args()


def planned(models: Models, peer_python: str | None) -> Iterator[Part]:
    """Return all parts, what matters most first."""
    yield from parts_of(models, CELL)
    for metric in GRID["metrics"]:
        if METRICS.get(metric).facts.needs == "explainer":
            for precision, method in product(ENGINE, GRID["methods"]):
                if runs_in(precision, METHODS.get(method).facts.needs_gradient):
                    run = partial(metric_cost, models, CELL, precision, metric, method)
                    yield Part(metric, CELL, precision, method, run)
    yield Part("start", CELL, "fp32", "explain, evaluate", partial(start_up, models, CELL))
    if peer_python:
        run = partial(beside_ferret, models, CELL, peer_python)
        yield Part("ferret", CELL, "fp32", "explain, evaluate", run)
    catalogue = known_models()
    seen = [catalogue[CELL].shape]
    for id in GRID["models"]:
        shape = catalogue[id].shape
        if shape not in seen and models.offers(id):
            seen.append(shape)
            yield from parts_of(models, id)


def parts_of(models: Models, id: str) -> Iterator[Part]:
    """Return what is measured of every model."""
    for precision in PRECISIONS:
        run = partial(rates, models, id, precision)
        yield Part("rates", id, precision, "engine and bare loop", run)
    for precision in ENGINE:
        for method in GRID["methods"]:
            if runs_in(precision, METHODS.get(method).facts.needs_gradient):
                run = partial(method_cost, models, id, precision, method)
                yield Part("methods", id, precision, method, run)
        for metric in GRID["metrics"]:
            facts = METRICS.get(metric).facts
            if facts.needs != "explainer" and runs_in(precision, not facts.runs_model):
                run = partial(metric_cost, models, id, precision, metric, EXPLAINED_BY)
                yield Part("metrics", id, precision, metric, run)


def runs_in(precision: str, in_fp32_alone: bool) -> bool:
    """Return whether jobs run work in a precision: gradients, for one, are taken in fp32."""
    return precision == "fp32" or not in_fp32_alone


def measured(parts: Sequence[Part], device: torch.device, seconds: float) -> list[Row]:
    """Measure parts until the time is over; the others are named as not measured."""

    def stop(*_: object) -> None:
        raise OutOfTime

    rows: list[Row] = []
    done = 0
    signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        for part in parts:
            print(f"{part.part}: {part.model} {part.precision} {part.work}", file=sys.stderr)
            rows += outcome(part, device)
            done += 1
    except OutOfTime:
        reason = f"no time left of {seconds / 60:g} minutes"
        rows += [part.row(not_measured=reason) for part in parts[done:]]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return rows


def outcome(part: Part, device: torch.device) -> list[Row]:
    """Return what is measured of a part, or why it is not."""
    reason = refusal(device, part.precision)
    if reason is not None:
        return [part.row(not_measured=reason)]
    on_card = device.type == "cuda" and part.part not in ELSEWHERE
    try:
        if on_card:
            torch.cuda.init()  # type: ignore[no-untyped-call]  # without which there is no peak to reset
            torch.cuda.reset_peak_memory_stats(device)
        rows = part.measure()
        peak = {"peak_GB": torch.cuda.max_memory_allocated(device) / 1e9} if on_card else {}
    except RuntimeError as error:  # what a card does not do, or has no memory for
        return [part.row(not_measured=(str(error) or repr(error)).splitlines()[0])]
    except subprocess.CalledProcessError as error:
        return [part.row(not_measured=last_line(error.stderr))]
    except SystemExit as error:  # by which peer.py tells that a worker failed
        return [part.row(not_measured=last_line(str(error)))]
    return [part.row(**row, **peak) for row in rows]


def last_line(message: str) -> str:
    """Return what a program said last."""
    return message.strip().splitlines()[-1] if message.strip() else "it failed and did not say why"


def whole_cell(rows: Sequence[Row], precision: str, texts: int) -> Iterator[Row]:
    """Return the seconds that all jobs of a cell come to at the measured rates.

    What jobs do in fp32 alone is taken from there.
    """
    rate: dict[tuple[str, str], Any] = {
        (row["part"], row["work"]): row.get("seconds" if row["part"] == "start" else PER_TEXT)
        for arithmetic in ("fp32", precision)
        for row in rows
        if row["model"] == CELL and row["precision"] == arithmetic
    }
    jobs = {"methods": [("methods", method) for method in GRID["methods"]]}
    starts = [("start", "explain")] * len(GRID["methods"])
    for metric in GRID["metrics"]:
        facts = METRICS.get(metric).facts
        jobs[metric] = [
            (metric, method) if facts.needs == "explainer" else ("metrics", metric)
            for method in GRID["methods"]
        ]
        # A job that evaluates with the model starts as one that explains.
        start = "explain" if facts.runs_model else "evaluate"
        starts += [("start", start)] * len(GRID["methods"])
    jobs["all work"] = [job for several in jobs.values() for job in several]
    jobs[f"{len(starts)} starts"] = starts
    for work, several in jobs.items():
        part = Part("cell", CELL, precision, work, list)
        lacking = sum(rate.get(job) is None for job in several)
        if lacking:
            yield part.row(not_measured=f"{lacking} of {len(several)} jobs are of work that is not")
        else:
            total = sum(rate[job] for job in several)
            yield part.row(texts=texts, seconds=total * (1 if several is starts else texts))


def as_markdown(rows: Sequence[Row]) -> str:
    """Return a table for each part, and one of what is not measured."""
    lines: list[str] = []
    for part in dict.fromkeys(row["part"] for row in rows):
        figures = [row for row in rows if row["part"] == part and row["not_measured"] is None]
        names = [n for n in PRINTED if any(row[n] is not None for row in figures)]
        if figures:
            lines += [f"\n{part}\n", markdown([{n: row[n] for n in names} for row in figures])]
    missing: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["not_measured"] is not None:
            works = missing[row["part"], row["not_measured"]]
            works[f"{row['model']} {row['precision']}"].append(row["work"])
    if missing:
        absent = [
            {
                "part": part,
                "not measured": "; ".join(f"{of}: {', '.join(each)}" for of, each in works.items()),
                "reason": reason,
            }
            for (part, reason), works in missing.items()
        ]
        lines += ["\nnot measured\n", markdown(absent)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
