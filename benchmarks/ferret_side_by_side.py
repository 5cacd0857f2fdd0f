"""Run ferret's three-line task and exparity's on the same model and texts, and compare the numbers.

Usage: python benchmarks/ferret_side_by_side.py --peer-python PATH --checkpoint FOLDER --data FILE
       [--examples N] [--max-tokens N] [--whole-words] [--workflow PRECISION ...] [--output FOLDER]

PATH is the Python of an environment that has ferret-xai 0.4.2; exparity runs in this one. FILE is a
data artefact with rationales, as ``exparity prepare`` writes it; its test examples are taken evenly
spaced, with --whole-words those alone whose words are one token each. Both run the six methods and
the six metrics of ferret on one thread, in float32; exparity leaves out what of the last layer
cannot reach the output (``shortcuts``). CPU seconds count; loading a model does not.

Each library then scores the explanations of the other as well, so that numbers can be held against
each other where the explanation is the same. ferret counts tokens as words, and takes what is left
of a text through its words and back to tokens; what comes back as other tokens is left out of that
comparison, and counted. No text is written to the results.

With --workflow, jobs of a real run of ``snakemake`` do the same on one core, in fp32 or bf16. Their
seconds count the start of every process, and Snakemake itself.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np

# In the order in which ferret's Benchmark has them.
METHODS = (
    "shap",
    "lime",
    "gradient",
    "gradient_x_input",
    "integrated_gradients",
    "integrated_gradients_x_input",
)
METRICS = {
    "comprehensiveness": "aopc_compr",
    "sufficiency": "aopc_suff",
    "loo_correlation": "taucorr_loo",
    "rationale_auprc": "auprc_plau",
    "rationale_token_f1": "token_f1_plau",
    "rationale_iou": "token_iou_plau",
}
Scores = dict[str, list[Any]]
"""Attributions, or values of metrics, of each text by method."""


def main() -> None:
    arguments = parse_arguments()
    if arguments.task:
        print(json.dumps(run_ferret(arguments.checkpoint, json.loads(arguments.task.read_text()))))
        return
    arguments.output.mkdir(parents=True, exist_ok=True)
    compare(arguments)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", help="Python that has ferret-xai")
    parser.add_argument("--checkpoint", required=True, help="folder of a classifier")
    parser.add_argument("--data", type=Path, help="data artefact with rationales")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--max-tokens", type=int, help="longest text, special tokens included")
    parser.add_argument("--whole-words", action="store_true", help="words of one token alone")
    parser.add_argument("--workflow", nargs="+", choices=("fp32", "bf16"), default=[])
    parser.add_argument("--output", type=Path, default=Path("results/bench/ferret"))
    parser.add_argument("--task", type=Path, help=argparse.SUPPRESS)  # in the other environment
    return parser.parse_args()


# In ferret's environment


def run_ferret(checkpoint: str, task: Mapping[str, Any]) -> dict[str, Any]:
    """Explain and evaluate the texts of a task, and evaluate the explanations that it brings."""
    import torch
    from ferret import Benchmark
    from ferret.benchmark import lp_normalize
    from ferret.explainers.explanation import Explanation
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.set_num_threads(1)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    bench = Benchmark(model, tokenizer)
    np.random.seed(0)  # noqa: NPY002  lime and shap draw from the global generator
    seconds = dict.fromkeys([*METHODS, "metrics"], 0.0)

    def timed(key: str, work: Any) -> Any:
        start = time.process_time()
        result = work()
        seconds[key] += time.process_time() - start
        return result

    def scored(explanations: list[Any], row: Mapping[str, Any]) -> list[dict[str, float]]:
        evaluated = bench.evaluate_explanations(
            explanations, row["target"], row["marks"], show_progress=False, **task["arguments"]
        )
        return [{e.name: float(e.score) for e in one.evaluation_scores} for one in evaluated]

    def explained(row: Mapping[str, Any]) -> list[Any]:
        raw = [
            timed(method, lambda run=run: run(row["text"], row["target"]))
            for method, run in zip(METHODS, bench.explainers, strict=True)
        ]
        return list(lp_normalize(raw))  # as its Benchmark.explain does

    scored(explained(task["rows"][0]), task["rows"][0])  # what is slow but once
    seconds = dict.fromkeys(seconds, 0.0)
    answer: dict[str, Any] = {"scores": [], "values": [], "values_of_peer": []}
    for row in task["rows"]:
        explanations = explained(row)
        answer["scores"].append([e.scores.astype(float).tolist() for e in explanations])
        answer["values"].append(timed("metrics", lambda e=explanations, r=row: scored(e, r)))
        theirs = [
            Explanation(row["text"], one.tokens, np.array(scores), method, row["target"])
            for one, method, scores in zip(explanations, METHODS, row["scores"], strict=True)
        ]
        answer["values_of_peer"].append(scored(theirs, row))
    return {"seconds": seconds, **answer}


# In this one


def compare(arguments: argparse.Namespace) -> None:
    """Run both, and write and print what they say."""
    import torch

    import exparity
    from exparity.metrics import mean_length

    torch.set_num_threads(1)
    classifier = exparity.load_classifier(arguments.checkpoint, "cpu", shortcuts=True)
    examples, encodings = chosen(arguments, classifier)
    made, own_seconds = run_exparity(classifier, examples)
    seconds = {"exparity": own_seconds}
    own = {
        method: [e.scores / np.abs(e.scores).sum() for e in explanations]
        for method, explanations in made.explanations.items()
    }
    marks = [
        np.array(e.rationale)[encoding.word_ids[~encoding.special_mask]].tolist()
        for e, encoding in zip(examples, encodings, strict=True)
    ]
    targets = [e.label for e in examples]
    rows = [
        {
            "text": encoding.text,
            "target": targets[i],
            "marks": marks[i],
            "scores": [own[method][i].tolist() for method in METHODS],
        }
        for i, encoding in enumerate(encodings)
    ]
    k = mean_length([sum(one) for one in marks])
    answer = asked(arguments, {"rows": rows, "arguments": {"top_k_rationale": k}})
    theirs = {m: [np.array(row[j]) for row in answer["scores"]] for j, m in enumerate(METHODS)}
    gaps = {}
    for origin, scores, key in (("ferret", theirs, "values"), ("exparity", own, "values_of_peer")):
        values = scored_as_tokens(classifier, encodings, targets, marks, scores, k)
        same = {
            method: [
                comes_back(classifier, *pair) for pair in zip(encodings, of_method, strict=True)
            ]
            for method, of_method in scores.items()
        }
        gaps[origin] = differences(values, answer[key], same)
    for precision in arguments.workflow:
        seconds[f"workflow in {precision}"] = run_workflow(arguments, examples, precision)
    write(arguments, made, seconds, answer, gaps)


def run_workflow(arguments: argparse.Namespace, examples: Sequence[Any], precision: str) -> float:
    """Return the CPU seconds of a run that explains and evaluates as a library does."""
    rows = [
        {
            "text": e.words,
            "label": str(e.label),
            "rationale": e.rationale,
            "group": ("first", "second")[number % 2],  # which the workflow compares
            "split": "test",
        }
        for number, e in enumerate(examples)
    ]
    config = {
        "study": "ferret",
        "seeds": [0],
        "datasets": {
            "texts": {
                "use": "table",
                "path": "texts.jsonl",
                "split": "split",
                "rationale": "rationale",
            }
        },
        "models": {"peer": {"checkpoint": str(Path(arguments.checkpoint).resolve())}},
        "training": {"epochs": 0},
        "methods": {method: {} for method in METHODS},
        "metrics": {metric: {} for metric in METRICS},
        "precision": precision,
        "engine": {"shortcuts": True},
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (root / "config.json").write_text(json.dumps(config))
        snakemake(root, "finetune")  # loading a model does not count for a library either
        before = _seconds_of_children()
        snakemake(root, "evaluate")
        return _seconds_of_children() - before


def snakemake(root: Path, until: str) -> None:
    """Run the workflow in a folder, on one core, as far as a rule."""
    source = Path(__file__).resolve().parents[1]
    command = [
        *(sys.executable, "-m", "snakemake", "--quiet", "all", "--directory", str(root)),
        *("--snakefile", str(source / "Snakefile"), "--cores", "1", "--until", until),
        *("--profile", str(source / "profiles" / "default")),
        *("--configfile", str(root / "config.json")),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the workflow failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_exparity(classifier: Any, examples: Sequence[Any]) -> tuple[Any, float]:
    """Return the benchmark of the examples, and the CPU seconds that it took."""
    import exparity

    def made(some: Sequence[Any]) -> Any:
        return exparity.benchmark(
            classifier,
            [e.words for e in some],
            [e.label for e in some],
            rationales=[e.rationale for e in some],
            methods=METHODS,
            study="ferret",
        )

    made(examples[:1])  # what is slow but once
    start = time.process_time()
    return made(examples), time.process_time() - start


def chosen(arguments: argparse.Namespace, classifier: Any) -> tuple[list[Any], list[Any]]:
    """Return evenly spaced examples that have a rationale, and their encodings."""
    from exparity.data.table import read_prepared

    examples = [e for e in read_prepared(arguments.data).split("test") if any(e.rationale or ())]
    encodings = classifier.encode([e.words for e in examples])
    limit = arguments.max_tokens or classifier.max_length
    fitting = [
        (example, encoding)
        for example, encoding in zip(examples, encodings, strict=True)
        if not encoding.truncated
        and len(encoding) <= limit
        and (not arguments.whole_words or len(example.words) == (~encoding.special_mask).sum())
    ]
    print(f"{len(fitting)} of {len(examples)} examples with a rationale fit", file=sys.stderr)
    places = [i * len(fitting) // arguments.examples for i in range(arguments.examples)]
    pairs = [fitting[place] for place in places]
    return [e for e, _ in pairs], [encoding for _, encoding in pairs]


def asked(arguments: argparse.Namespace, task: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ferret answers, in a process of its own environment."""
    path = arguments.output / "task.json"
    path.write_text(json.dumps(task), encoding="utf-8")
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [arguments.peer_python, __file__, "--checkpoint", arguments.checkpoint]
    done = subprocess.run(
        [*command, "--task", str(path)],
        env={**outside, **dict.fromkeys(pools, "1")},
        capture_output=True,
        text=True,
    )
    path.unlink()  # it holds the texts
    if done.returncode:
        sys.exit(f"ferret failed:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def scored_as_tokens(
    classifier: Any,
    encodings: Sequence[Any],
    targets: Sequence[int],
    marks: Sequence[Sequence[int]],
    scores: Mapping[str, Sequence[np.ndarray]],
    k: int,
) -> dict[tuple[str, str], np.ndarray]:
    """Return exparity's values where each token is a word, as for ferret."""
    import exparity
    from exparity.metrics import evaluate_many

    explanations = {
        method: [
            exparity.Explanation(
                text=encoding.text,
                target=target,
                token_ids=encoding.token_ids,
                tokens=encoding.tokens,
                scores=one,
                special_mask=encoding.special_mask,
                rationale=own,
            )
            for encoding, target, own, one in zip(encodings, targets, marks, of_method, strict=True)
        ]
        for method, of_method in scores.items()
    }
    positive = {"attribution": "positive"}
    options: dict[str, dict[str, Any]] = {
        "rationale_auprc": {**positive, "interpolation": "linear"},
        "rationale_token_f1": {**positive, "top_k": k},
        "rationale_iou": {**positive, "top_k": k},
    }
    metrics = {metric: options.get(metric, {}) for metric in METRICS}
    return evaluate_many(classifier, explanations, metrics)


def comes_back(classifier: Any, encoding: Any, scores: np.ndarray) -> dict[str, bool]:
    """Return by metric whether ferret sees the tokens that it means, and whether no tie decides.

    It turns what is left of a text to words and parts these into tokens again.
    """
    from exparity.metrics.removal import TENTHS, top_sets

    content, ids = ~encoding.special_mask, encoding.token_ids
    steps = top_sets(scores, content, "fraction", TENTHS, only_positive=True)
    left_out = [content & (np.arange(len(ids)) != place) for place in np.flatnonzero(content)]
    left = {
        "comprehensiveness": [content & ~taken for taken in steps],
        "sufficiency": steps,
        "loo_correlation": left_out,
    }
    tokenizer = classifier.tokenizer
    same = {}
    for metric, kept in left.items():
        again = (
            tokenizer([tokenizer.decode(ids[tokens]) for tokens in kept])["input_ids"]
            if kept
            else []
        )
        same[metric] = all(
            one[1:-1] == ids[tokens].tolist() for one, tokens in zip(again, kept, strict=True)
        )
    positive = np.sort(scores[content & (scores > 0)])
    untied = len(np.unique(positive)) == len(positive)
    same["comprehensiveness"] &= untied
    same["sufficiency"] &= untied
    return {metric: same.get(metric, untied or metric == "rationale_auprc") for metric in METRICS}


def differences(
    own: Mapping[tuple[str, str], np.ndarray],
    peer: Sequence[Sequence[Mapping[str, float]]],
    same: Mapping[str, Sequence[Mapping[str, bool]]],
) -> dict[str, tuple[float, int, int]]:
    """Return by metric the largest difference, and how many pairs of text and method were held."""
    result = {}
    for metric, name in METRICS.items():
        gaps = [
            abs(own[method, metric][i] - peer[i][j][name])
            for j, method in enumerate(METHODS)
            for i in range(len(peer))
            if same[method][i][metric]
        ]
        known = [gap for gap in gaps if gap == gap]
        result[metric] = (max(known, default=float("nan")), len(known), len(peer) * len(METHODS))
    return result


def write(
    arguments: argparse.Namespace,
    made: Any,
    seconds: Mapping[str, float],
    answer: Mapping[str, Any],
    gaps: Mapping[str, Mapping[str, tuple[float, int, int]]],
) -> None:
    """Write the tables of both, the differences and the seconds, and print them."""
    import pandas as pd

    own = made.table()[[*METRICS]]
    values = [
        [np.nanmean([row[j][name] for row in answer["values"]]) for name in METRICS.values()]
        for j in range(len(METHODS))
    ]
    peer = pd.DataFrame(values, index=pd.Index(METHODS, name="method"), columns=[*METRICS])
    of_peer = sum(answer["seconds"].values())
    result = {
        "examples": len(answer["values"]),
        "exparity": own.to_dict(),
        "ferret": peer.to_dict(),
        "seconds": {"ferret": of_peer, **seconds},
        "seconds_of_ferret": answer["seconds"],
        "differences": gaps,
    }
    (arguments.output / "ferret.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    for name, table in (("ferret", peer), ("exparity", own)):
        print(f"{name}\n{table.round(3).to_string()}\n")
    for origin, by_metric in gaps.items():
        for metric, (gap, held, every) in by_metric.items():
            print(f"explanations of {origin}, {metric}: {gap:.1e} ({held} of {every})")
    for name, own_seconds in seconds.items():
        ratio = of_peer / own_seconds
        print(f"ferret {of_peer:.1f} s, {name} {own_seconds:.1f} s: {ratio:.1f} times")


if __name__ == "__main__":
    main()
