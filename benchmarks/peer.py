"""Compare exparity's run time with ferret's, on the same checkpoint, sentences and work.

Usage: python benchmarks/peer.py --peer-python PATH --checkpoint FOLDER
       (--sentences FILE | --data-dir DIR) [--examples N] [--threads T] [--repeats R]
       [--output results/bench/peer.parquet]

PATH is the Python of an environment that has ferret-xai; exparity runs in this one. Sentences are
JSON lines with ``text`` and ``target``, or GECO's test sentences from DIR, evenly spaced.

The variants take turns, so that a machine whose speed drifts slows all of them, and each time is
the shortest of R repeats. Ratios count; absolute times are those of this machine at this moment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

WORKER = Path(__file__).with_name("peer_worker.py")
VARIANTS = (
    ("ferret", "fp32"),
    ("exparity", "fp32"),
    ("exparity", "bf16"),
    ("exparity", "fp32+"),
    ("exparity", "bf16+"),
)
# Their scores cannot be compared number by number.
INCOMPARABLE = {"lime": "own draws", "integrated_gradients": "noise"}


def main() -> None:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        sentences = Path(folder) / "sentences.jsonl"
        rows = evenly(read_sentences(arguments), arguments.examples)
        sentences.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        runs, scores = [], {}
        for repeat in range(arguments.repeats):
            for library, precision in arguments.variants:
                kept = Path(folder) / f"{library}-{precision}.json"
                run = run_worker(arguments, sentences, library, precision, kept)
                scores[library, precision] = json.loads(kept.read_text(encoding="utf-8"))
                runs.append({"repeat": repeat, **run})
                print(f"{library} {precision}: {run['total']:.1f} s", file=sys.stderr)
    differences = compare(scores)
    write(arguments.output, runs, differences)
    print(markdown(runs, differences))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", required=True, help="Python that has ferret-xai")
    parser.add_argument("--checkpoint", required=True, help="folder of a classifier")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--sentences", type=Path, help="JSON lines with text and target")
    source.add_argument("--data-dir", type=Path, help="folder that holds geco/")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--methods", nargs="+", help="only these methods")
    parser.add_argument("--no-bf16", action="store_true", help="leave out the bf16 variant")
    parser.add_argument("--output", type=Path, default=Path("results/bench/peer.parquet"))
    arguments = parser.parse_args()
    arguments.variants = [
        (library, precision)
        for library, precision in VARIANTS
        if not (arguments.no_bf16 and precision.startswith("bf16"))
    ]
    if arguments.examples < 1 or arguments.repeats < 1:
        parser.error("--examples and --repeats must be at least 1")
    return arguments


def read_sentences(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    if arguments.sentences:
        lines = arguments.sentences.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    from exparity.data import load_dataset
    from exparity.data.files import DataSource

    found = load_dataset("geco_all", DataSource(arguments.data_dir, download=False))
    return [{"text": e.text, "target": e.label} for e in found if e.split == "test"]


def evenly(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Take evenly spaced rows: the first ones may be alike."""
    count = min(count, len(rows))
    return [rows[i * len(rows) // count] for i in range(count)]


def run_worker(
    arguments: argparse.Namespace, sentences: Path, library: str, precision: str, scores: Path
) -> dict[str, Any]:
    """Run one variant in a process of its own and return what it printed."""
    python = arguments.peer_python if library == "ferret" else sys.executable
    command = [
        *(python, str(WORKER), "--library", library, "--precision", precision),
        *("--checkpoint", arguments.checkpoint, "--sentences", str(sentences)),
        *("--threads", str(arguments.threads), "--device", arguments.device),
        *("--scores", str(scores)),
    ]
    if arguments.methods:
        command += ["--methods", *arguments.methods]
    # Libraries besides torch have thread pools of their own.
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(pools, str(arguments.threads))}
    load = os.getloadavg()[0]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{library} failed:\n{done.stderr[-2000:]}")
    return {"load": load, **json.loads(done.stdout)}


def variant(run: dict[str, Any]) -> tuple[str, str]:
    """Return library and precision of a run."""
    return run["library"], run["precision"]


def cells(run: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """Return the seconds of a run by stage, method and metric; ``all`` stands for a sum."""
    found = {("explain", m, ""): s for m, s in run["seconds"]["explain"].items()}
    for metric, by_method in run["seconds"]["evaluate"].items():
        found |= {("evaluate", method, metric): s for method, s in by_method.items()}
        found["evaluate", "all", metric] = sum(by_method.values())
    found["total", "all", ""] = run["total"]
    return found


def compare(scores: dict[tuple[str, str], Any]) -> dict[tuple[str, str, str], float]:
    """Return the largest relative difference between ferret's and exparity's fp32 scores.

    Each text's difference is divided by its largest score; metric values differ absolutely.
    """
    peer, own = scores["ferret", "fp32"], scores["exparity", "fp32"]
    found: dict[tuple[str, str, str], float] = {}
    for method in set(peer["explain"]) - set(INCOMPARABLE):
        pairs = list(zip(peer["explain"][method], own["explain"][method], strict=True))
        found["explain", method, ""] = max(
            # Texts that the two tokenize differently have no difference.
            np.abs(np.subtract(a, b)).max() / np.abs(a).max() if len(a) == len(b) else np.nan
            for a, b in pairs
        )
        for metric, by_method in peer["evaluate"].items():
            gap = np.subtract(by_method[method], own["evaluate"][metric][method])
            found["evaluate", method, metric] = np.abs(gap).max()
    for metric in peer["evaluate"]:
        gaps = [value for key, value in found.items() if key[2] == metric]
        found["evaluate", "all", metric] = max(gaps, default=np.nan)
    return found


def write(
    path: Path, runs: list[dict[str, Any]], differences: dict[tuple[str, str, str], float]
) -> None:
    """Write every time of every repeat."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    context = ("library", "precision", "device", "threads", "examples", "repeat", "load")
    rows = [
        {
            **{name: run.get(name) for name in context},
            "versions": json.dumps(run["versions"]),
            **dict(zip(("stage", "method", "metric"), key, strict=True)),
            "seconds": seconds,
            "difference": differences.get(key) if variant(run) == VARIANTS[1] else None,
        }
        for run in runs
        for key, seconds in cells(run).items()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def markdown(runs: list[dict[str, Any]], differences: dict[tuple[str, str, str], float]) -> str:
    """Return the table of shortest times, with ferret's time over exparity's."""
    best: dict[tuple[str, str], dict[tuple[str, str, str], float]] = {}
    for run in runs:
        times = best.setdefault(variant(run), {})
        for key, seconds in cells(run).items():
            times[key] = min(seconds, times.get(key, np.inf))
    peer = best["ferret", "fp32"]
    own = {" ".join(name): times for name, times in best.items() if name[0] != "ferret"}
    head = ["work", "ferret s", *(f"{name} s" for name in own)]
    head += [*(f"ratio {name}" for name in own), "difference fp32"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for key in peer:
        stage, method, metric = key
        if stage == "evaluate" and method != "all":
            continue
        label = {"explain": method, "evaluate": f"{metric} of all", "total": "**total**"}[stage]
        gap = f"{differences[key]:.0e}" if key in differences else INCOMPARABLE.get(method, "")
        taken = [f"{times[key]:.2f}" for times in (peer, *own.values())]
        ratios = [f"{peer[key] / times[key]:.1f}" for times in own.values()]
        lines.append(f"| {' | '.join([label, *taken, *ratios, gap])} |")
    run = runs[0]
    lines += [
        "",
        f"{run['examples']} sentences, {run['threads']} threads, {run['device']}, shortest of "
        f"{1 + max(r['repeat'] for r in runs)}; ratio: ferret's time over exparity's. ferret "
        "turns masked tokens into text and tokenizes it again, so that scores differ where a word "
        "is split into pieces.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
