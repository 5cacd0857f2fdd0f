"""Measure a GPU in one command of at most ten minutes, and fill docs/performance.md from it.

Usage: PYTHONPATH=src python benchmarks/gpu.py [--minutes 9] [--output gpu.jsonl] [--dry-run]
       PYTHONPATH=src python benchmarks/gpu.py --write docs/performance.md [--measured FILE ...]

Needs no network and no files: models are random ones of the sizes of config/paper.yaml, texts
made-up words in the numbers of tokens of GECO's test sentences, and what is trained are embedded
pairs. Each row is written as soon as it is measured, so that a run that is cut off keeps what it
has. What a card cannot do, or no time was left for, is a row with the reason. --dry-run walks all
parts with tiny models on the fake GPU of the tests. --write puts the tables between the marks of a
page; what no FILE has measured stays an estimate, and is marked as one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch
import transformers
from shared import ROOT, markdown, write_between_marks
from tokenizers import models
from torch.nn.attention import SDPBackend, sdpa_kernel

from exparity import load_classifier
from exparity.core.device import make_repeatable, resolve_device
from exparity.core.registry import Registry
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.training_set import TrainingSet
from exparity.engine.batching import padded
from exparity.engine.classifier import Classifier
from exparity.engine.masking import MaskedTexts
from exparity.methods import METHODS as REGISTERED
from exparity.methods import explain
from exparity.metrics import METRICS, evaluate
from exparity.models.catalogue import known_models
from exparity.models.scratch import random_model, train_tokenizer
from exparity.models.snapshots import Snapshot, StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.training import finetune

Row = dict[str, Any]
Figures = Iterator[tuple[Row, Callable[[], Row]]]
"""Entries of a row that say what it is of, and the work that measures its figures."""
CELL = "bert"  # the model whose costs are measured in full
MODELS = ("tinybert", "bert", "gpt2", "roberta_large")  # the sizes of config/paper.yaml
METHODS = (
    *("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_x_input"),
    *("lime", "shap"),
)
EXPLAINED_BY = "gradient_x_input"  # what metrics score that ask no method again
ENGINE = ("fp32", "bf16", "fp16")  # precisions that jobs run in
KERNELS = ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION")  # of attention
# GECO-ALL's test sentences: how many have 5, 6, ... 29 words and marks.
SENTENCES = (
    *(4, 10, 2, 12, 10, 18, 16, 24, 22, 44, 34, 24, 46),
    *(54, 50, 52, 35, 31, 24, 44, 20, 26, 16, 12, 14),
)
TOKENS_A_WORD = 1.3
LENGTH = 26  # tokens of a sentence in the mean, two special ones among them
# Seconds: work is measured on so many texts that it lasts, and again unless that took too long.
FEWEST, LASTING, TOO_LONG, REPEATS = 4, 0.3, 5.0, 3
TINY = {"hidden_size": 48, "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 300}
TINY_GPT2 = {"n_embd": 48, "n_layer": 1, "vocab_size": 300}
FEW = {
    **{"n_steps": 2, "num_samples": 8, "max_evals": 12, "n_samples": 4, "draws": 1, "steps": 1},
    **{"bisections": 1, "max_tokens": 1},
}
# What a cell's sensitivity is estimated by: card, what runs, TFLOP/s at its peak, share assumed.
FP32, HALF = 0.6, 0.3
ESTIMATES = (
    ("V100", "fp32", 15.7 * FP32, 15.7 * FP32),
    ("V100", "fp32 gradients, fp16 perturbations", 15.7 * FP32, 125 * HALF),
    ("H100", "fp32 gradients, bf16 perturbations", 67 * FP32, 989 * HALF),
)


class OutOfTime(BaseException):
    """The time is over, which no handler of errors on the way may take for one."""


class Bench:
    """The device, random models on it, one loaded at a time, and texts for them.

    Attributes:
        device: where they run.
        tiny: small models and few short texts instead.
        folder: for files of the run.
        peak: TFLOP/s of a large matrix product, by precision.
    """

    def __init__(self, device: torch.device, folder: Path, *, tiny: bool) -> None:
        self.device, self.folder, self.tiny = device, folder, tiny
        self.peak: dict[str, float] = {}
        words = np.repeat(np.arange(5, 5 + len(SENTENCES)), SENTENCES)
        self._words = words[:6] if tiny else words
        self._loaded: dict[tuple[str, str, bool], Classifier] = {}

    def classifier(self, id: str, precision: str = "fp32", shortcuts: bool = False) -> Classifier:
        """Return a random model of a size in a precision of the engine."""
        key = id, precision, shortcuts
        if key not in self._loaded:
            self._loaded.clear()
            model, tokenizer = random_model_of(id, tiny=self.tiny)
            if precision == "bf16":
                model = model.bfloat16()
            made = load_classifier((model, tokenizer), str(self.device), shortcuts=shortcuts)
            self._loaded[key] = made.in_fp16() if precision == "fp16" else made
        return self._loaded[key]

    def texts(self, tokenizer: Any, count: int) -> list[list[str]]:
        """Return made-up sentences, of evenly spaced lengths."""
        known = len(tokenizer) - len(set(tokenizer.all_special_ids))
        draw = np.random.default_rng(0)
        places = ((np.arange(count) + 0.5) * len(self._words) / count).astype(int)
        sizes = [round(TOKENS_A_WORD * size) for size in self._words[places].tolist()]
        return [[word(i) for i in draw.integers(known, size=size)] for size in sizes]

    def ids(self, classifier: Classifier, count: int, length: int = LENGTH) -> np.ndarray:
        """Return (count, length) token ids, none special."""
        special = set(classifier.tokenizer.all_special_ids)
        known = [i for i in range(classifier.vocabulary_size) if i not in special]
        return np.random.default_rng(0).choice(known, (count, length))

    def seconds(self, run: Callable[[], object]) -> float:
        """Return what a run takes, with what it leaves the device to do."""
        torch.cuda.synchronize(self.device)
        start = time.perf_counter()
        run()
        torch.cuda.synchronize(self.device)
        return time.perf_counter() - start

    def typical(self, run: Callable[[], object], repeats: int = REPEATS) -> float:
        """Return the median seconds of runs after one that warms up."""
        run()
        return median(self.seconds(run) for _ in range(repeats))


def random_model_of(id: str, *, tiny: bool) -> tuple[Any, Any]:
    """Return a random classifier of a known model's size and its tokenizer, the same every time."""
    known = known_models()[id]
    small = TINY_GPT2 if known.architecture == "gpt2" else TINY
    shape = {**known.shape, **(small if tiny else {})}
    size = int(shape.pop("vocab_size")) + known.added_tokens
    spec = ModelSpec(init="scratch", architecture=known.architecture, size=shape)
    tokenizer = train_tokenizer(spec, ["a"])
    space = "Ġ" if known.architecture in ("gpt2", "roberta") else ""  # as bytes have it
    names = {token: tokenizer.get_vocab()[token] for token in tokenizer.all_special_tokens}
    special = len(names)
    names |= {space + word(index): special + index for index in range(size - special)}
    unknown = tokenizer.unk_token or tokenizer.eos_token
    tokenizer.backend_tokenizer.model = models.WordLevel(names, unk_token=unknown)
    torch.manual_seed(0)
    return random_model(spec, tokenizer, ("female", "male")), tokenizer


def word(index: int) -> str:
    """Return a made-up word: one token of every tokenizer of more than ``index`` such tokens."""
    return "".join(ascii_lowercase[index // 26**place % 26] for place in (3, 2, 1, 0))


def facts(bench: Bench) -> Figures:
    """Say what is measured, and measure the card's matrix products."""
    yield {}, partial(_card, bench)
    size = 64 if bench.tiny else 8192
    for precision in ("fp32", "tf32", "bf16", "fp16"):
        yield {"precision": precision}, partial(_product, bench, precision, size)


def _card(bench: Bench) -> Row:
    return {
        "card": torch.cuda.get_device_name(bench.device),
        "capability": ".".join(map(str, torch.cuda.get_device_capability(bench.device))),
        "GB": torch.cuda.get_device_properties(bench.device).total_memory / 1e9,
        "cores": os.cpu_count(),
        "Python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def _product(bench: Bench, precision: str, size: int) -> Row:
    if precision in ("tf32", "bf16") and torch.cuda.get_device_capability(bench.device) < (8, 0):
        raise RuntimeError("not in this card's hardware, before compute capability 8.0")
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    # Numbers of their own: a card draws less power, and is faster, where all are alike.
    a = torch.rand(size, size, device=bench.device).to(dtype)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        seconds = bench.typical(lambda: torch.mm(a, a), 5)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    bench.peak[precision] = 2 * size**3 / seconds / 1e12
    return {"product_TFLOP_per_second": bench.peak[precision]}


def bits(bench: Bench) -> Figures:
    """Say where results have the same bits: batch, order, repetition, attention, resumption."""
    for precision in ENGINE:
        classifier = bench.classifier(CELL, precision)
        encodings = classifier.encode(bench.texts(classifier.tokenizer, 4 if bench.tiny else 64))
        ids = [encoding.token_ids for encoding in encodings]
        for compared in ("again", "in the other order", "each alone"):
            about = {"work": "probabilities", "precision": precision, "compared": compared}
            yield about, partial(_run_otherwise, classifier, ids, compared)
        for kernel in KERNELS if precision != "fp16" else ():
            about = {"work": f"gradient, {kernel.lower()}", "precision": precision}
            yield {**about, "compared": "again"}, partial(_gradients_twice, classifier, ids, kernel)
    for compared, killed_after in (("again", 0), ("resumed after a kill", 1)):
        about = {"work": "training", "precision": "fp32", "compared": compared}
        yield about, partial(_trained_twice, bench, killed_after)


def _run_otherwise(classifier: Classifier, ids: Sequence[np.ndarray], how: str) -> Row:
    ran = classifier.probabilities(ids)
    if how == "each alone":
        return _difference(ran, np.concatenate([classifier.probabilities([one]) for one in ids]))
    order = -1 if how == "in the other order" else 1
    return _difference(ran, classifier.probabilities(ids[::order])[::order])


def _gradients_twice(classifier: Classifier, ids: Sequence[np.ndarray], kernel: str) -> Row:
    with sdpa_kernel([getattr(SDPBackend, kernel)]):
        return _difference(_gradients(classifier, ids), _gradients(classifier, ids))


def _difference(one: np.ndarray, other: np.ndarray) -> Row:
    gap = np.abs(one - other)
    return {"equal_share": float((gap == 0).mean()), "largest": float(gap.max())}


def _gradients(classifier: Classifier, ids: Sequence[np.ndarray]) -> np.ndarray:
    rows = [classifier.embed(one) for one in ids]
    targets = np.zeros(len(rows), dtype=np.int64)
    found = classifier.input_gradients([len(row) for row in rows], padded(rows), targets)
    by_text = {place: gradient.float().cpu().numpy() for place, gradient, _ in found}
    return np.concatenate([by_text[place].ravel() for place in range(len(rows))])


def _trained_twice(bench: Bench, killed_after: int) -> Row:
    return _difference(trained(bench), trained(bench, killed_after))


def trained(bench: Bench, killed_after: int = 0) -> np.ndarray:
    """Train a small BERT on embedded pairs, killed after an epoch if any; return its weights."""
    pairs = load_dataset(
        "pairs_all", DataSource(bench.folder), {"n_pairs": 30 if bench.tiny else 300}
    )
    examples = [example for example in pairs if example.split == "train"]
    labels = ("female", "male")
    data = TrainingSet("pairs", labels, labels, examples, np.ones(len(examples)), [], 0)
    shape = {"hidden_size": 32 if bench.tiny else 256, "num_hidden_layers": 1 if bench.tiny else 4}
    spec = ModelSpec(init="scratch", architecture="bert", size={**shape, "num_attention_heads": 4})
    training = TrainingSpec(epochs=2 if bench.tiny else 6, batch_size=32, learning_rate=1e-3)

    class Killed(StateFolder):
        """Snapshots of a training that ends after one of them."""

        def save(self, snapshot: Snapshot) -> None:
            super().save(snapshot)
            if snapshot.facts["epoch"] == killed_after:
                raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        if killed_after:
            with contextlib.suppress(KeyboardInterrupt):
                finetune(data, spec, training, state=Killed(Path(folder), "x"), device="cuda")
        state = StateFolder(Path(folder), "x")
        model = finetune(data, spec, training, state=state, device="cuda").model
    return np.concatenate([w.float().numpy().ravel() for w in model.state_dict().values()])


def methods_that_run() -> list[str]:
    """Return ids of methods that need nothing but a model and texts, the study's first."""
    known = {id: REGISTERED.get(id).facts for id in REGISTERED.ids() if id != "captum"}
    others = [
        id
        for id, facts in known.items()
        if not (facts.model_free or facts.needs_training or facts.path_options)
    ]
    return [*METHODS, *(id for id in others if id not in METHODS)]


def metrics_that_run() -> list[str]:
    """Return ids of metrics that run the model and need nothing else, the costly ones last."""
    needs = ("probabilities", "explainer")
    known = [(METRICS.get(id).facts.needs, id) for id in METRICS.ids()]
    return [id for wanted in needs for need, id in known if need == wanted]


def quick_options(bench: Bench, registry: Registry[Any], id: str) -> dict[str, Any]:
    """Return options that make a method or metric quick in a dry run."""
    known = registry.get(id).options.model_fields
    return {name: value for name, value in FEW.items() if name in known} if bench.tiny else {}


def memory(bench: Bench) -> Figures:
    """Measure the bytes of a token by model size and length: forward, gradient and training."""
    for id in MODELS:
        weights = sum(p.numel() for p in bench.classifier(id).model.parameters())
        for length in (LENGTH,) if bench.tiny else (LENGTH, 128, 512):
            for work in ("forward", "gradient", "training"):
                about = {"model": id, "weights": weights, "length": length, "work": work}
                yield about, partial(_bytes_a_token, bench, id, length, work)


def _bytes_a_token(bench: Bench, id: str, length: int, work: str) -> Row:
    classifier = bench.classifier(id)
    count = 2 if bench.tiny else max(4, 4096 // length)
    ids = bench.ids(classifier, count, length)
    runs: Mapping[str, Callable[[], object]] = {
        "forward": partial(classifier.probabilities, list(ids)),
        "gradient": partial(_gradients, classifier, list(ids)),
        "training": partial(_train_on, classifier.model.train(work == "training"), ids),
    }
    try:
        runs[work]()  # whatever is kept from the first run on
        before = torch.cuda.memory_allocated(bench.device)
        torch.cuda.reset_peak_memory_stats(bench.device)
        runs[work]()
    finally:
        classifier.model.eval()
    taken = torch.cuda.max_memory_allocated(bench.device) - before
    return {"KB_a_token": taken / count / length / 1e3}


def _train_on(model: torch.nn.Module, ids: np.ndarray) -> None:
    tokens = torch.tensor(ids, device=next(model.parameters()).device)
    labels = torch.zeros_like(tokens[:, 0])
    model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=labels).loss.backward()
    model.zero_grad()


def rates(bench: Bench) -> Figures:
    """Measure the engine's rates against the card's matrix products."""
    for id in (CELL, MODELS[-1]):
        for precision in ENGINE:
            classifier = bench.classifier(id, precision)
            count = 4 if bench.tiny else 1024
            ids = bench.ids(classifier, count)
            named = classifier.model.named_parameters()
            flop = 2 * sum(p.numel() for n, p in named if "embed" not in n and p.ndim > 1)
            works: dict[str, tuple[Callable[[], object], int]] = {
                "forward": (partial(classifier.probabilities, list(ids)), 1),
                "perturbation": (partial(_perturb, classifier, ids), 1),
            }
            if precision != "fp16":  # whose gradients are taken in fp32
                works["gradient"] = (partial(_gradients, classifier, list(ids)), 2)
            for work, (run, passes) in works.items():
                about = {"model": id, "precision": precision, "work": work}
                yield about, partial(_rate, bench, precision, run, passes * ids.size * flop)


def _perturb(classifier: Classifier, ids: np.ndarray) -> np.ndarray:
    """Return probabilities of masks of few texts, as LIME asks for them."""
    texts = max(1, len(ids) // 64)
    masks = list(np.random.default_rng(1).random(ids.shape) < 0.5)
    rows = [classifier.embed(one) for one in ids[:texts]]
    return MaskedTexts(classifier, rows).probabilities(np.arange(len(ids)) % texts, masks)


def _rate(bench: Bench, precision: str, run: Callable[[], object], operations: float) -> Row:
    rate = operations / bench.typical(run) / 1e12
    peak = bench.peak.get(precision)
    return {"TFLOP_per_second": rate, "of_product": peak and rate / peak}


def costs(bench: Bench) -> Figures:
    """Measure seconds a text of every method and metric, in each precision that jobs use."""
    for precision in ENGINE:
        classifier = bench.classifier(CELL, precision, shortcuts=True)

        def runs(method: str, precision: str = precision) -> bool:
            return precision == "fp32" or not REGISTERED.get(method).facts.needs_gradient

        for id in filter(runs, methods_that_run()):
            about = {"kind": "method", "id": id, "precision": precision}
            yield about, partial(_cost, bench, classifier, id)
        for id in metrics_that_run():
            explains = METRICS.get(id).facts.needs == "explainer"
            for method in METHODS if id == "sensitivity" else (EXPLAINED_BY,):
                if runs(method) or not explains:
                    about = {"kind": "metric", "id": id, "of": method, "precision": precision}
                    yield about, partial(_cost, bench, classifier, method, id)


def _cost(bench: Bench, classifier: Classifier, method: str, metric: str | None = None) -> Row:
    """Measure a method, or a metric of its explanations, on as many texts as make it last."""

    def work_on(count: int) -> Callable[[], object]:
        texts: list[Any] = bench.texts(classifier.tokenizer, count)
        options = quick_options(bench, REGISTERED, method)
        explaining = partial(explain, classifier, texts, 0, method, **options)
        if metric is None:
            return explaining
        options = quick_options(bench, METRICS, metric)
        return partial(evaluate, classifier, explaining(), metric, **options)

    count, lasting = (2, 0.0) if bench.tiny else (FEWEST, LASTING)
    if not bench.tiny:
        work_on(1)()  # modules and kernels are loaded by what needs them first
    while True:
        work = work_on(count)
        seconds = [bench.seconds(work)]
        if seconds[0] >= lasting or count >= sum(SENTENCES):
            break
        count *= 4
    if seconds[0] <= TOO_LONG and not bench.tiny:
        seconds += [bench.seconds(work) for _ in range(REPEATS - 1)]
    return {"texts": count, "seconds_a_text": median(seconds) / count}


# In the order of what matters most, with the minutes of ten that each may take.
PARTS: Mapping[str, tuple[Callable[[Bench], Figures], float]] = {
    "facts": (facts, 0.5),
    "bits": (bits, 1.2),
    "rates": (rates, 1.0),
    "memory": (memory, 1.0),
    "costs": (costs, 3.0),
}


def measured(bench: Bench, minutes: float) -> Iterator[Row]:
    """Yield rows of all parts; a part that its time ends says so, and the next begins."""

    def stop(*_: object) -> None:
        raise OutOfTime

    end = time.monotonic() + 60 * minutes
    signal.signal(signal.SIGALRM, stop)
    left = sum(share for _, share in PARTS.values())
    for part, (figures_of, share) in PARTS.items():
        allowed = max(1e-3, (end - time.monotonic()) * share / left)
        left -= share
        try:
            signal.setitimer(signal.ITIMER_REAL, allowed)
            for about, work in figures_of(bench):
                try:
                    figures = work()
                except Exception as error:  # a card lacks it, or the memory for it
                    reason = (str(error) or repr(error)).splitlines()[0][:150]
                    figures = {"not_measured": reason}
                yield {"part": part, **about, **figures}
        except OutOfTime:
            yield {"part": part, "not_measured": f"the rest, for lack of time ({allowed:.0f} s)"}
        except Exception as error:  # the other parts may still run
            yield {"part": part, "not_measured": f"the rest: {type(error).__name__}: {error}"[:200]}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def tables(rows: Sequence[Row]) -> str:
    """Return Markdown tables of measured rows, and estimates of what none has measured."""
    by_part: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_part[row["part"]].append({k: v for k, v in row.items() if k != "part"})
    setting = "on the 644 test sentences of GECO with BERT multilingual"
    lines = [f"Sensitivity of all six methods {setting}:", "", markdown(sensitivity(by_part))]
    for part in PARTS:
        groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in by_part[part]:
            groups[tuple(row)].append(row)
        for group in groups.values():
            lines += ["", f"`{part}`:", "", markdown(group)]
    return "\n".join(lines)


def sensitivity(by_part: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return the minutes of a cell's sensitivity: as measured, else as an estimate.

    A pass of a text and one back to its inputs cost as much each. Sensitivity takes ten steps of
    ascent, each with a method's passes: 31 of both gradients, 1,020 of both integrated gradients,
    6,780 of LIME and 5,520 of SHAP.
    """
    pass_of_all = sum(SENTENCES) * LENGTH * 2 * 85e6 / 1e12  # TFLOP
    gradients, perturbations = (passes * pass_of_all for passes in (2 * 31 + 2 * 1020, 12_300))
    cards = [row["card"] for row in by_part.get("facts", ()) if "card" in row]
    rows = [
        {
            "card": card,
            "precision": precision,
            "minutes": (gradients / of_gradients + perturbations / of_perturbations) / 60,
            "by": "estimate",
        }
        for card, precision, of_gradients, of_perturbations in ESTIMATES
        if not any(card in measured for measured in cards)
    ]
    seconds = {
        (row["precision"], row["of"]): row.get("seconds_a_text")
        for row in by_part.get("costs", ())
        if row.get("id") == "sensitivity"
    }
    for precision in ENGINE if cards else ():
        each = [seconds.get((precision, id)) or seconds.get(("fp32", id)) for id in METHODS]
        if all(each):
            minutes = sum(SENTENCES) * sum(filter(None, each)) / 60
            about = {"card": cards[-1], "precision": f"fp32 gradients, {precision} perturbations"}
            rows.append({**about, "minutes": minutes, "by": "measured seconds a text"})
    return rows


def write(page: Path, measured_in: Sequence[Path]) -> None:
    """Put the tables between the marks of a page."""
    rows = [json.loads(line) for path in measured_in for line in path.read_text().splitlines()]
    write_between_marks(page, "gpu", tables(rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=9, help="when to stop (default: 9)")
    parser.add_argument("--output", type=Path, default=Path("results/bench/gpu.jsonl"))
    parser.add_argument("--dry-run", action="store_true", help="tiny models on a fake GPU")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put tables into a page")
    parser.add_argument("--measured", type=Path, nargs="*", default=[], help="rows for --write")
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write, arguments.measured)
        return
    with contextlib.ExitStack() as stack:
        if arguments.dry_run:
            sys.path.insert(0, str(ROOT / "tests"))
            stack.enter_context(importlib.import_module("fake_cuda").fake_cuda())
        make_repeatable(1 if arguments.dry_run else torch.get_num_threads())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(resolve_device("cuda"), folder, tiny=arguments.dry_run)
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        with arguments.output.open("w", encoding="utf-8") as file:
            for row in measured(bench, arguments.minutes):
                print(json.dumps(row), flush=True)
                print(json.dumps(row), file=file, flush=True)


if __name__ == "__main__":
    main()
