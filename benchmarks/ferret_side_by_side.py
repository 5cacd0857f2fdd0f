"""Run ferret's three-line task and exparity's on the same model and texts, and compare the numbers.

Usage: python benchmarks/ferret_side_by_side.py [--peer-python PATH] --checkpoint FOLDER --data FILE
       [--examples N] [--workflow PRECISION ...] [--together]

PATH is the Python of an environment that has ferret-xai 0.4.2; exparity runs in this one, and alone
where no PATH is given. FILE is a data artefact with rationales, as ``exparity prepare`` writes it;
its test examples are taken evenly spaced. Both run the six methods and the six metrics of ferret on
one thread, in float32; exparity leaves out what of the last layer cannot reach the output
(``shortcuts``). CPU seconds count; loading a model does not.

Each library then scores the explanations of the other as well, so that numbers can be held against
each other where the explanation is the same. ferret counts tokens as words, and takes what is left
of a text through its words and back to tokens; what comes back as other tokens is left out of that
comparison, and counted.

With --workflow, jobs of a real run of ``snakemake`` do the same on one core, in fp32 or bf16, and
so does a process with the library; in bf16, this one does it once more. Of both, all processes
count from their start, with imports, loading and Snakemake. *Planning* is what a dry run takes that
finds everything finished; *starts* is what is left: the server's imports, and the processes of
jobs. Where a machine's speed changes within minutes, --together runs both at the same time, on a
core each.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
from shared import ROOT, add_together, both_of_a_pair, markdown, measured, workflow_of

# In the order in which ferret's Benchmark has them.
METHODS = (
    *("shap", "lime", "gradient", "gradient_x_input"),
    *("integrated_gradients", "integrated_gradients_x_input"),
)
METRICS = {
    "comprehensiveness": "aopc_compr",
    "sufficiency": "aopc_suff",
    "loo_correlation": "taucorr_loo",
    "rationale_auprc": "auprc_plau",
    "rationale_token_f1": "token_f1_plau",
    "rationale_iou": "token_iou_plau",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", help="Python that has ferret-xai, to compare with")
    parser.add_argument("--checkpoint", required=True, help="folder of a classifier")
    parser.add_argument("--data", type=Path, help="data artefact with rationales")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--workflow", nargs="+", choices=("fp32", "bf16"), default=[])
    add_together(parser)
    parser.add_argument("--task", type=Path, help=argparse.SUPPRESS)  # in the other environment
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)  # in a process of its own
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(run_alone(arguments.checkpoint, json.loads(arguments.alone.read_text()))))
    elif arguments.task:
        print(json.dumps(run_ferret(arguments.checkpoint, json.loads(arguments.task.read_text()))))
    else:
        compare(arguments)


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
    """Run both, and print what they say."""
    import torch

    from exparity import load_classifier

    torch.set_num_threads(1)
    load = partial(load_classifier, arguments.checkpoint, "cpu", shortcuts=True)
    classifier = load()
    examples, encodings = chosen(arguments, classifier)
    made, own_seconds = run_exparity(classifier, examples)
    tell("exparity", own_seconds, own_seconds)
    if arguments.peer_python:
        of_peer = compare_values(arguments, classifier, examples, encodings, made)
        tell("ferret", of_peer, own_seconds)
    for number, precision in enumerate(arguments.workflow):
        if precision != "fp32":
            _, coarse_seconds = run_exparity(load(precision=precision), examples)
            tell(f"exparity in {precision}", coarse_seconds, own_seconds)
        sides = (process_seconds, workflow_seconds)
        runs = [partial(side, arguments, examples, precision) for side in sides]
        process, workflow = both_of_a_pair(runs, number, together=arguments.together)
        tell(f"a process in {precision}", process, process)
        tell(f"the workflow in {precision}", workflow, process)


def tell(name: str, parts: Mapping[str, float], other: Mapping[str, float]) -> None:
    """Print the seconds of parts, and what exparity takes of them."""
    used = sum(parts.values())
    written = ", ".join(f"{part} {taken:.1f}" for part, taken in parts.items())
    print(f"{name} {used:.1f} s: {written}; exparity takes {sum(other.values()) / used:.2f} of it")


def compare_values(
    arguments: argparse.Namespace,
    classifier: Any,
    examples: Sequence[Any],
    encodings: Sequence[Any],
    made: Any,
) -> dict[str, float]:
    """Print what ferret says of the same texts, and the differences; return its CPU seconds."""
    from exparity.metrics import mean_length

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
    print_tables(made, answer["values"])
    for origin, scores, key in (("ferret", theirs, "values"), ("exparity", own, "values_of_peer")):
        values = scored_as_tokens(classifier, encodings, targets, marks, scores, k)
        same = {
            method: [
                comes_back(classifier, *pair) for pair in zip(encodings, of_method, strict=True)
            ]
            for method, of_method in scores.items()
        }
        gaps = differences(values, answer[key], same)
        print(f"Explanations of {origin}\n\n{markdown(gaps)}\n")
    of_ferret: dict[str, float] = answer["seconds"]
    return of_ferret


def workflow_seconds(
    arguments: argparse.Namespace, examples: Sequence[Any], precision: str
) -> dict[str, float]:
    """Return the CPU seconds of a run that explains and evaluates as a library does, by part."""
    from exparity.costs.finished import read_finished

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
    table = {"use": "table", "path": "texts.jsonl", "split": "split", "rationale": "rationale"}
    config = {
        "study": "ferret",
        "seeds": [0],
        "datasets": {"texts": table},
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
        run = partial(workflow_of, ROOT, root, root / "config.json", "--cores", "1", "--until")
        run("finetune")  # a classifier is there, for both
        whole = run("evaluate")
        planning = run("evaluate", "--dry-run")
        jobs = dict.fromkeys(("explain", "foresee", "evaluate"), 0.0)
        for job in read_finished(root / "results"):
            if job.stage in jobs:
                jobs[job.stage] += job.cpu_seconds or 0
    return {**jobs, "planning": planning, "starts": whole - planning - sum(jobs.values())}


def process_seconds(
    arguments: argparse.Namespace, examples: Sequence[Any], precision: str
) -> dict[str, float]:
    """Return the CPU seconds of a process that explains and evaluates, by part."""
    rows = [[e.words, e.label, e.rationale] for e in examples]
    task = {"rows": rows, "precision": precision}
    command = [sys.executable, __file__, "--checkpoint", arguments.checkpoint, "--alone"]
    parts, used = answered(command, task, os.environ)
    return {**parts, "imports and loading": used - sum(parts.values())}


def run_alone(checkpoint: str, task: Mapping[str, Any]) -> dict[str, float]:
    """Explain and evaluate the texts of a task, and return the CPU seconds of both."""
    import torch

    from exparity import load_classifier

    torch.set_num_threads(1)
    classifier = load_classifier(checkpoint, "cpu", task["precision"], shortcuts=True)
    return explained_and_scored(classifier, *zip(*task["rows"], strict=True))[1]


def run_exparity(classifier: Any, examples: Sequence[Any]) -> tuple[Any, dict[str, float]]:
    """Return the benchmark of the examples, and its CPU seconds without what is slow but once."""
    rows = [(e.words, e.label, e.rationale) for e in examples]
    explained_and_scored(classifier, *zip(*rows[:1], strict=True))
    return explained_and_scored(classifier, *zip(*rows, strict=True))


def explained_and_scored(
    classifier: Any, texts: Sequence[Any], targets: Sequence[Any], rationales: Sequence[Any]
) -> tuple[Any, dict[str, float]]:
    """Return the benchmark of texts, explained and evaluated, and the CPU seconds of both."""
    import exparity

    start = time.process_time()
    bench = exparity.Benchmark(
        classifier, list(texts), list(targets), rationales=list(rationales), study="ferret"
    ).explain(METHODS)
    explained = time.process_time()
    bench.evaluate()
    return bench, {"explain": explained - start, "evaluate": time.process_time() - explained}


def chosen(arguments: argparse.Namespace, classifier: Any) -> tuple[list[Any], list[Any]]:
    """Return evenly spaced examples that have a rationale, and their encodings."""
    from exparity.data.table import read_prepared

    examples = [e for e in read_prepared(arguments.data).split("test") if any(e.rationale or ())]
    encodings = classifier.encode([e.words for e in examples])
    both = zip(examples, encodings, strict=True)
    fitting = [(example, encoding) for example, encoding in both if not encoding.truncated]
    print(f"{len(fitting)} of {len(examples)} examples with a rationale fit", file=sys.stderr)
    places = [i * len(fitting) // arguments.examples for i in range(arguments.examples)]
    pairs = [fitting[place] for place in places]
    return [e for e, _ in pairs], [encoding for _, encoding in pairs]


def asked(arguments: argparse.Namespace, task: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ferret answers, in a process of its own environment."""
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [arguments.peer_python, __file__, "--checkpoint", arguments.checkpoint, "--task"]
    return answered(command, task, {**outside, **dict.fromkeys(pools, "1")})[0]


def answered(
    command: Sequence[str], task: Mapping[str, Any], environment: Mapping[str, str]
) -> tuple[dict[str, Any], float]:
    """Return what a process answers to a task, whose file it is given last, and its CPU seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(task, file)
        file.flush()
        printed, used = measured([*command, file.name], environment)
    answer: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return answer, used


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
    from exparity.metrics.removal import TENTHS, Steps, top_sets

    content, ids = ~encoding.special_mask, encoding.token_ids
    steps = top_sets(scores, content, Steps("fraction", TENTHS, only_positive=True))
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
) -> list[dict[str, Any]]:
    """Return by metric the largest difference, and how many pairs of text and method were held."""
    rows = []
    for metric, name in METRICS.items():
        gaps = [
            abs(own[method, metric][i] - peer[i][j][name])
            for j, method in enumerate(METHODS)
            for i in range(len(peer))
            if same[method][i][metric]
        ]
        known = [gap for gap in gaps if gap == gap]
        held = f"{len(known)} of {len(peer) * len(METHODS)}"
        rows.append({"metric": metric, "largest": max(known, default=np.nan), "compared": held})
    return rows


def print_tables(made: Any, values: Sequence[Sequence[Mapping[str, float]]]) -> None:
    """Print the mean of each metric by method, of both."""
    import pandas as pd

    each = [[[one[name] for name in METRICS.values()] for one in row] for row in values]
    of_peer = np.nanmean(each, axis=0)
    peer = pd.DataFrame(of_peer, index=pd.Index(METHODS, name="method"), columns=[*METRICS])
    for name, table in (("ferret", peer), ("exparity", made.table()[[*METRICS]])):
        print(f"{name}\n{table.round(3).to_string()}\n")


if __name__ == "__main__":
    main()
