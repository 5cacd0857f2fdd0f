"""What gpu.py measures: models of published sizes, texts of GECO's lengths, and rows of figures."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import peer
import torch
from measurements import Row, Setup, measure_engine
from random_checkpoint import LABELS, word, write_checkpoint
from timing import seconds_of

from exparity import evaluate, load_classifier
from exparity.artefacts.files import read_artefact
from exparity.core.device import Machine, resolve_device
from exparity.methods import explain_encodings
from exparity.stages.finetune import finetune_cell
from exparity.stages.prepare import prepare

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from exparity.engine.classifier import Classifier
    from exparity.explanations import Explanation

# GECO-ALL's test sentences: how many have 5, 6, ... 29 words and marks.
SENTENCES = (
    *(4, 10, 2, 12, 10, 18, 16, 24, 22, 44, 34, 24, 46),
    *(54, 50, 52, 35, 31, 24, 44, 20, 26, 16, 12, 14),
)
TOKENS_A_WORD = 1.3  # docs/performance.md: 26 tokens, of which two are special, for 18.4 words
RATE_TEXTS = 256
# Seconds: work is measured on so many texts that it lasts, and again unless that took too long.
FEWEST, LASTING, TOO_LONG, REPEATS = 4, 0.3, 5.0, 3
TINY_SIZES: Mapping[str, Mapping[str, int]] = {  # by model
    "bert": {"vocab_size": 400, "hidden_size": 48, "num_hidden_layers": 2, "intermediate_size": 64},
    "gpt2": {"vocab_size": 400, "n_embd": 48, "n_layer": 2},
}
AMPERE = (8, 0)


def refusal(device: torch.device, precision: str) -> str | None:
    """Return why a device does not compute in a precision; None if it does."""
    if precision not in ("tf32", "bf16"):
        return None
    if device.type == "cpu":
        return "a CPU has no TF32" if precision == "tf32" else None
    major, minor = torch.cuda.get_device_capability(device)
    if (major, minor) >= AMPERE:
        return None
    return f"not in this card's hardware: it has compute capability {major}.{minor}, not 8.0"


class Models:
    """Random checkpoints of published sizes, one loaded at a time, and texts for them.

    Attributes:
        folder: where they are written.
        device: where they run.
        shortcuts: whether methods and metrics run with the engine's shortcuts.
        tiny: small models and few short texts instead.
        most: number of test sentences.
        repeats: of a measurement.
    """

    def __init__(self, folder: Path, device: str, *, shortcuts: bool, tiny: bool) -> None:
        self.folder, self.device = folder, resolve_device(device)
        self.shortcuts, self.tiny = shortcuts, tiny
        sizes = np.repeat(np.arange(5, 5 + len(SENTENCES)), SENTENCES)
        self._words_a_text = sizes[:8] if tiny else sizes
        self.most = len(self._words_a_text)
        self.repeats = 1 if tiny else REPEATS
        self._loaded: dict[tuple[str, str, bool], Classifier] = {}

    def offers(self, id: str) -> bool:
        """Return whether there is a model of this id."""
        return not self.tiny or id in TINY_SIZES

    def checkpoint(self, id: str) -> Path:
        """Return the folder of a model, which is written when it is first asked for."""
        folder = self.folder / id
        if not folder.exists():
            size = TINY_SIZES[id] if self.tiny else {}
            write_checkpoint(folder, id, size)
        return folder

    def classifier(self, id: str, precision: str, shortcuts: bool) -> Classifier:
        """Return a model in one of the engine's precisions; TF32 is a setting of torch."""
        key = id, precision, shortcuts
        if key not in self._loaded:
            self._loaded.clear()
            device, checkpoint = str(self.device), self.checkpoint(id)
            loaded = load_classifier(checkpoint, device, stored(precision), shortcuts=shortcuts)
            self._loaded[key] = loaded
        return self._loaded[key]

    def lengths(self, count: int) -> list[int]:
        """Return tokens of texts, none special: of evenly spaced ones of GECO's sentences."""
        places = ((np.arange(count) + 0.5) * self.most / count).astype(int)
        return [round(TOKENS_A_WORD * size) for size in self._words_a_text[places].tolist()]

    def texts(self, tokenizer: PreTrainedTokenizerFast, count: int) -> list[list[str]]:
        """Return made-up sentences."""
        known, draw = len(tokenizer) - len(set(tokenizer.all_special_ids)), np.random.default_rng(0)
        return [[word(i) for i in draw.integers(known, size=n)] for n in self.lengths(count)]


def stored(precision: str) -> str:
    """Return the precision that a model is loaded in."""
    return "fp32" if precision == "tf32" else precision


def rates(models: Models, id: str, precision: str) -> list[Row]:
    """Measure the engine against the bare loop, and both against the card's matrix products."""
    classifier = models.classifier(id, precision, shortcuts=False)
    options: dict[str, Any] = {"device": str(models.device), "precision": stored(precision)}
    length = round(float(np.mean(models.lengths(models.most)))) + 2  # special tokens
    texts = models.most if models.tiny else RATE_TEXTS
    setup = Setup(classifier, models.checkpoint(id), options, length, texts, median)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        rows = [{**row, "precision": precision, "texts": texts} for row in measure_engine(setup)]
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    product = rows[0]["GFLOP_per_second"] / rows[0]["of_matrix_product"]
    rows.append({"work": "matrix product", "GFLOP_per_second": product})
    return rows


def method_cost(models: Models, id: str, precision: str, method: str) -> list[Row]:
    """Measure what a method takes a text."""
    classifier = models.classifier(id, precision, models.shortcuts)
    return _cost(models, classifier, partial(_explaining, models, classifier, method))


def metric_cost(models: Models, id: str, precision: str, metric: str, method: str) -> list[Row]:
    """Measure what a metric takes a text, given the explanations of a method."""
    classifier = models.classifier(id, precision, models.shortcuts)

    def evaluating(count: int) -> Callable[[], object]:
        explanations = _explaining(models, classifier, method, count)()
        return partial(evaluate, classifier, explanations, metric)

    return _cost(models, classifier, evaluating)


def _explaining(
    models: Models, classifier: Classifier, method: str, count: int
) -> Callable[[], list[Explanation]]:
    encodings = classifier.encode(models.texts(classifier.tokenizer, count))
    targets, keys = np.zeros(count, dtype=np.int64), [str(i) for i in range(count)]
    return partial(explain_encodings, classifier, encodings, targets, keys, method, 0, {}, set())


def _cost(
    models: Models, classifier: Classifier, work_of: Callable[[int], Callable[[], object]]
) -> list[Row]:
    """Measure work on as many texts as make it last; ``work_of`` returns it for a number."""
    count, lasting = (2, 0.0) if models.tiny else (FEWEST, LASTING)
    work_of(1)()  # modules and kernels are loaded by what needs them first
    while True:
        work = work_of(count)
        seconds = [seconds_of(classifier, work)]
        if seconds[0] >= lasting or count == models.most:
            break
        count = min(models.most, 4 * count)
    if seconds[0] <= TOO_LONG:
        seconds += [seconds_of(classifier, work) for _ in range(models.repeats - 1)]
    row = {"texts": count, "repeats": len(seconds), "seconds": median(seconds)}
    return [{**row, "seconds_a_text": median(seconds) / count}]


def start_up(models: Models, id: str) -> list[Row]:
    """Measure fresh processes of jobs, with a model and without, less the seconds of their work."""
    folder, device = models.folder / "jobs", str(models.device)
    folder.mkdir()
    table, data = folder / "texts.jsonl", folder / "data.parquet"
    texts = models.texts(models.classifier(id, "fp32", models.shortcuts).tokenizer, 8)
    rows = [
        {"text": words, "label": LABELS[i % 2], "group": LABELS[i % 2], "split": split}
        for split in ("train", "test")
        for i, words in enumerate(texts)
    ]
    _write_lines(table, rows)
    prepare(data, use="table", params={"path": str(table), "split": "split"})
    checkpoint, predictions = folder / id / "0", folder / "predictions.parquet"
    model, training = {"checkpoint": str(models.checkpoint(id))}, {"epochs": 0}
    machine = Machine(device=device)
    finetune_cell(data, checkpoint, predictions, model=model, training=training, machine=machine)
    explanations, scores = folder / "explanations.parquet", folder / "scores.parquet"
    explain = ["explain", "--use", "gradient", "--predictions", predictions, "--device", device]
    explain += ["--data", data, "--checkpoint", checkpoint, "--output", explanations]
    score = ["evaluate", "--use", "gini", "--data", data, "--explanations", explanations]
    score += ["--output", scores]
    return [
        _start(explain, explanations, "explanations", models.repeats),
        _start(score, scores, "scores", models.repeats),
    ]


def _start(arguments: Sequence[object], output: Path, artefact: str, repeats: int) -> Row:
    seconds = []
    for _ in range(repeats):
        output.unlink(missing_ok=True)
        begin = time.perf_counter()
        command = [sys.executable, "-m", "exparity", *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        wall = time.perf_counter() - begin
        seconds.append(wall - read_artefact(output, artefact)[1]["work_seconds"])
    return {"work": str(arguments[0]), "repeats": repeats, "seconds": median(seconds)}


def beside_ferret(models: Models, id: str, python: str) -> list[Row]:
    """Measure ferret and exparity one after the other, in processes of their own, as peer.py."""
    count = 2 if models.tiny else 8
    texts = models.texts(models.classifier(id, "fp32", models.shortcuts).tokenizer, count)
    sentences, scores = models.folder / "sentences.jsonl", models.folder / "scores.json"
    _write_lines(sentences, [{"text": " ".join(words), "target": 0} for words in texts])
    arguments = argparse.Namespace(
        peer_python=python,
        checkpoint=str(models.checkpoint(id)),
        threads=torch.get_num_threads(),
        device=models.device.type,
        methods=None,
    )
    rows: list[Row] = []
    ferret: dict[tuple[str, str, str], float] = {}
    for library, precision in peer.VARIANTS:  # ferret first
        if library == "workflow" or refusal(models.device, precision.rstrip("+")):
            continue
        seconds = peer.cells(peer.run_worker(arguments, sentences, library, precision, scores))
        ferret = ferret or seconds
        for work in seconds:
            if work[0] == "evaluate" and work[1] != "all":  # of each method apart
                continue
            row: Row = {"precision": precision, "work": f"{library} {' '.join(filter(None, work))}"}
            row |= {"texts": count, "seconds": seconds[work]}
            rows.append({**row, "of_ferret": ferret[work] / seconds[work]})
    return rows


def _write_lines(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
