"""Measure CPU seconds and memory of the stages that read every row, as rows grow.

Usage: python benchmarks/rows.py [--rows N ...]

Each stage runs in a process of its own. ``prepare`` reads a table of N texts; the others read a
made-up study of as many texts of two groups, with one training, one method and one metric.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shared import ROOT, markdown

sys.path.insert(0, str(ROOT / "tests"))

DATASET, MODEL, METHOD, METRIC = "rows", "model", "gradient", "gini"
CONFIG: dict[str, Any] = {
    "datasets": {DATASET: {"use": "pairs_all"}},
    "models": {MODEL: {"init": "scratch", "architecture": "bert"}},
    "methods": {METHOD: {}},
    "metrics": {METRIC: {}},
    "seeds": [0],
}


def write_table(root: Path, count: int) -> None:
    """Write a table of texts to test."""
    lines = ["text,label,group,split"]
    lines += [
        f"she sails to {row} .,{['no', 'yes'][row % 2]},g{row // 2 % 2},test"
        for row in range(count)
    ]
    (root / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def prepare(root: Path) -> None:
    """Read the table."""
    from exparity.stages.prepare import prepare as stage

    stage(
        root / "data" / f"{DATASET}.parquet",
        use="table",
        params={"path": str(root / "rows.csv"), "split": "split"},
        dataset_id=DATASET,
    )


def write_study(root: Path) -> None:
    """Write what the jobs on a model would write of as many texts, in matched sets of two."""
    from made_up import make_study

    from exparity.artefacts.files import read_artefact

    count = read_artefact(root / "data" / f"{DATASET}.parquet", "data")[0].num_rows
    make_study(root, CONFIG, pairs=count // 2)


def compare(root: Path) -> None:
    """Compare the groups."""
    from made_up import COMPARED

    from exparity.stages.compare import compare_model

    given = [
        sorted((root / name).rglob("*.parquet"))
        for name in ("predictions", "scores", "random_scores")
    ]
    outputs = [root / name / DATASET / f"{MODEL}.parquet" for name in COMPARED]
    compare_model(root / "data" / f"{DATASET}.parquet", *given, *outputs, statistics={})


def bias(root: Path) -> None:
    """Measure the bias of the predictions."""
    from exparity.stages.bias import bias_model

    predictions = sorted((root / "predictions").rglob("*.parquet"))
    data = root / "data" / f"{DATASET}.parquet"
    bias_model(data, predictions, root / "bias" / DATASET / f"{MODEL}.parquet")


def judge(root: Path) -> None:
    """Judge the cells."""
    from exparity.stages.judge import judge_cells

    given = [sorted((root / name).rglob("*.parquet")) for name in ("across_trainings", "tests")]
    judge_cells(*given, None, root / "verdicts.parquet", root / "disparity.parquet")


def report(root: Path) -> None:
    """Draw the page."""
    from exparity.config.experiment import Experiment
    from exparity.stages.report import report as stage

    stage(root, root / "report" / "index.html", Experiment.from_mapping(CONFIG).report_options())


STAGES = (prepare, write_study, compare, bias, judge, report)


def cost_of(stage: Callable[[Path], None], root: Path) -> tuple[float, float]:
    """Run a stage; return CPU seconds and the most MB of the process."""
    start = time.process_time()
    stage(root)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return round(time.process_time() - start, 1), round(megabytes)


def main() -> None:
    """Measure every stage at every number of rows, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    table: dict[str, dict[str, Any]] = {
        stage.__name__: {"Stage": stage.__name__} for stage in STAGES
    }
    for count in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write_table(root, count)
            for stage in STAGES:
                with context.Pool(1) as pool:
                    seconds, megabytes = pool.apply(cost_of, (stage, root))
                table[stage.__name__] |= {
                    f"CPU s, {count:,} rows": seconds,
                    f"MB, {count:,} rows": megabytes,
                }
    del table["write_study"]
    print(markdown(list(table.values())))


if __name__ == "__main__":
    main()
