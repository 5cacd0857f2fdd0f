"""Print the shares of matrix products, attention and others in an explanation or a training.

Usage: python benchmarks/shares.py METHOD [--model FOLDER] [--precision bf16] [--texts N]
       [--words N]

Explains made-up texts with an encoder of a folder below a random head, on one thread; without a
folder, with a random BERT of the size of the default experiment. For the METHOD ``training`` that
classifier is trained on the texts for one epoch, with shortcuts and without dropout, in fp32.
``ferret`` is ferret's task: its six methods, and its metrics of faithfulness.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pairs import pretrained, scratch, texts_of
from torch.profiler import ProfilerActivity, profile

import exparity
from exparity.models.encoders import training_pass
from exparity.models.loop import Item, TrainingLoop
from exparity.models.snapshots import StateFolder
from exparity.models.spec import TrainingSpec

_PARTS = {
    "products": ("linear", "mm"),
    "attention": ("attention",),
    "GELU": ("gelu",),
    "normalisation": ("layer_norm",),
    "optimiser": ("adam",),
}
_WIDTH = 64  # units of the default experiment's classifier


def part_of(call: str) -> str:
    """Return which part a call of torch belongs to."""
    parts = (part for part, names in _PARTS.items() if any(name in call for name in names))
    return next(parts, "other calls of torch")


def train(classifier: Any, texts: list[str]) -> None:
    """Train a classifier on texts for one epoch."""
    for module in classifier.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    items = [
        Item(encoding.token_ids.tolist(), number % 2)
        for number, encoding in enumerate(classifier.encode(texts))
    ]
    with tempfile.TemporaryDirectory() as folder:
        state = StateFolder(Path(folder, "state"), "")
        training = TrainingSpec(epochs=1, batch_size=16, learning_rate=1e-3)
        model = classifier.model
        forward = partial(training_pass, model)
        loop = TrainingLoop(model, classifier.tokenizer, training, 0, state, "cpu", forward=forward)
        loop.fit(items, [])


def task_of(method: str, classifier: Any) -> Callable[[list[str]], object]:
    """Return what does a task with texts."""
    if method == "training":
        return partial(train, classifier)
    if method == "ferret":
        return lambda texts: exparity.benchmark(classifier, texts, study="ferret")
    return lambda texts: exparity.explain(classifier, texts, None, method)


def main() -> None:
    """Do a task with torch's profiler at work, and print shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("method", help="such as lime or shap, training, or ferret")
    parser.add_argument("--model", help="folder of a pretrained encoder")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--texts", type=int, default=3, help="how many (default: 3)")
    parser.add_argument("--words", type=int, help="of a text, at most")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
    classifier = (
        pretrained(options.model, dtype) if options.model else scratch(_WIDTH, shortcuts=True)
    )
    texts = [" ".join(text.split()[: options.words]) for text in texts_of(options.texts)]
    task = task_of(options.method, classifier)
    task(texts[:1])
    with profile(activities=[ProfilerActivity.CPU]) as record:
        start = time.perf_counter()
        task(texts)
        seconds = time.perf_counter() - start
    shares = Counter[str]()
    for event in record.key_averages():
        shares[part_of(event.key)] += event.self_cpu_time_total / 1e6 / seconds
    shares["Python"] = 1 - shares.total()
    for part, share in shares.most_common():
        print(f"{share:6.1%}  {part}")


if __name__ == "__main__":
    main()
