"""Measure a GPU in one command of at most ten minutes, and fill docs/performance.md from it.

Usage: PYTHONPATH=src python benchmarks/gpu.py [--minutes 9] [--output gpu.jsonl] [--dry-run]
       python benchmarks/gpu.py --write docs/performance.md [--measured FILE ...]

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
import re
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
from typing import TYPE_CHECKING, Any

import numpy as np
from engine_tables import markdown

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
CELL = "bert"  # the model whose costs are measured in full
MODELS = ("tinybert", "bert", "gpt2", "roberta_large")  # the sizes of config/paper.yaml
METHODS = (
    *("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_x_input"),
    *("lime", "shap"),
)
EXPLAINED_BY = "gradient_x_input"  # what metrics score that ask no method again
ENGINE = ("fp32", "bf16", "fp16")  # precisions that jobs run in
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
_BLOCK = re.compile(r"(<!-- gpu -->\n).*?(<!-- end -->)", re.DOTALL)
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
        from exparity import load_classifier

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
        import torch

        torch.cuda.synchronize(self.device)
        start = time.perf_counter()
        run()
        torch.cuda.synchronize(self.device)
        return time.perf_counter() - start

    def typical(self, run: Callable[[], object], repeats: int = REPEATS) -> float:
        """Return the median seconds of runs after one that warms up, which tiny models need not."""
        if self.tiny:
            return self.seconds(run)
        run()
        return median(self.seconds(run) for _ in range(repeats))


def random_model_of(id: str, *, tiny: bool) -> tuple[Any, Any]:
    """Return a random classifier of a known model's size and its tokenizer, the same every time."""
    import torch
    from tokenizers import models

    from exparity.models.catalogue import known_models
    from exparity.models.scratch import random_model, train_tokenizer
    from exparity.models.spec import ModelSpec

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


def attempt(about: Row, measure: Callable[[], Row]) -> Row:
    """Return a row of figures, or one of why there are none."""
    try:
        return {**about, **measure()}
    except Exception as error:  # what a card does not do, has no memory for, or a machine lacks
        return {**about, "not_measured": (str(error) or repr(error)).splitlines()[0][:150]}


def facts(bench: Bench) -> Iterator[Row]:
    """Say what is measured, and measure the card's matrix products."""
    import torch
    import transformers

    of_card = torch.cuda.get_device_properties(bench.device)
    yield {
        "card": torch.cuda.get_device_name(bench.device),
        "capability": ".".join(map(str, torch.cuda.get_device_capability(bench.device))),
        "GB": of_card.total_memory / 1e9,
        "cores": os.cpu_count(),
        "Python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    size = 64 if bench.tiny else 8192
    for precision in ("fp32", "tf32", "bf16", "fp16"):
        yield attempt({"precision": precision}, partial(_product, bench, precision, size))


def _product(bench: Bench, precision: str, size: int) -> Row:
    import torch

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


def bits(bench: Bench) -> Iterator[Row]:
    """Say where results have the same bits: batch, order, repetition, attention, resumption."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for precision in ENGINE:
        classifier = bench.classifier(CELL, precision)
        encodings = classifier.encode(bench.texts(classifier.tokenizer, 4 if bench.tiny else 64))
        ids = [encoding.token_ids for encoding in encodings]
        ran = classifier.probabilities(ids)
        for compared in ("again", "in the other order", "each alone"):
            about = {"work": "probabilities", "precision": precision, "compared": compared}
            yield attempt(about, partial(_run_otherwise, classifier, ids, ran, compared))
        if precision == "fp16":
            continue
        for kernel in ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION"):
            about = {"work": f"gradient, {kernel.lower()}", "precision": precision}
            with sdpa_kernel([getattr(SDPBackend, kernel)]):
                yield attempt(
                    {**about, "compared": "again"}, partial(_gradients_twice, classifier, ids)
                )
    about = {"work": "training", "precision": "fp32"}
    yield attempt({**about, "compared": "again"}, partial(_trained_twice, bench, 0))
    yield attempt({**about, "compared": "resumed after a kill"}, partial(_trained_twice, bench, 1))


def _run_otherwise(
    classifier: Classifier, ids: Sequence[np.ndarray], ran: np.ndarray, how: str
) -> Row:
    if how == "again":
        return _difference(ran, classifier.probabilities(ids))
    if how == "each alone":
        each = [classifier.probabilities([one]) for one in ids]
        return _difference(ran, np.concatenate(each))
    return _difference(ran, classifier.probabilities(ids[::-1])[::-1])


def _gradients_twice(classifier: Classifier, ids: Sequence[np.ndarray]) -> Row:
    return _difference(_gradients(classifier, ids), _gradients(classifier, ids))


def _difference(one: np.ndarray, other: np.ndarray) -> Row:
    gap = np.abs(one - other)
    return {"equal_share": float((gap == 0).mean()), "largest": float(gap.max())}


def _gradients(classifier: Classifier, ids: Sequence[np.ndarray]) -> np.ndarray:
    from exparity.engine.batching import padded

    rows = [classifier.embed(one) for one in ids]
    targets = np.zeros(len(rows), dtype=np.int64)
    found = classifier.input_gradients([len(row) for row in rows], padded(rows), targets)
    by_text = {place: gradient.float().cpu().numpy() for place, (gradient,), _ in found}
    return np.concatenate([by_text[place].ravel() for place in range(len(rows))])


def _trained_twice(bench: Bench, epochs_before_kill: int) -> Row:
    one = np.concatenate([w.ravel() for w in trained(bench)[0].values()])
    other = np.concatenate([w.ravel() for w in trained(bench, epochs_before_kill)[0].values()])
    return _difference(one, other)


def trained(bench: Bench, killed_after: int = 0) -> tuple[dict[str, np.ndarray], Any]:
    """Train a small BERT on embedded pairs; return its weights and it with its tokenizer."""
    from exparity.data import load_dataset
    from exparity.data.files import DataSource
    from exparity.data.training_set import TrainingSet
    from exparity.models.snapshots import Snapshot, StateFolder
    from exparity.models.spec import ModelSpec, TrainingSpec
    from exparity.models.training import finetune

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
        states = [StateFolder(Path(folder), "x")]
        if killed_after:
            with contextlib.suppress(KeyboardInterrupt):
                finetune(data, spec, training, state=Killed(Path(folder), "x"), device="cuda")
        found = finetune(data, spec, training, state=states[0], device="cuda")
    weights = {name: w.float().numpy() for name, w in found.model.state_dict().items()}
    return weights, (found.model, found.tokenizer)


def methods_that_run() -> list[str]:
    """Return ids of methods that need nothing but a model and texts, the study's first."""
    from exparity.methods import METHODS as KNOWN

    all_facts = {id: KNOWN.get(id).facts for id in KNOWN.ids()}
    others = [
        id
        for id, facts in all_facts.items()
        if not (facts.model_free or facts.needs_training or facts.path_options)
    ]
    return [*METHODS, *(id for id in others if id not in METHODS and id != "captum")]


def metrics_that_run() -> list[str]:
    """Return ids of metrics that run the model and need nothing else, the costly ones last."""
    from exparity.metrics import METRICS

    needs = {id: METRICS.get(id).facts.needs for id in METRICS.ids()}
    cheap = [id for id, need in needs.items() if need == "probabilities"]
    return [*cheap, *(id for id, need in needs.items() if need == "explainer")]


def bench_options(bench: Bench, kind: str, id: str) -> dict[str, Any]:
    """Return options that make a method or metric quick in a dry run."""
    from exparity.methods import METHODS as KNOWN
    from exparity.metrics import METRICS

    known = (KNOWN if kind == "method" else METRICS).get(id).options.model_fields
    return {name: value for name, value in FEW.items() if name in known} if bench.tiny else {}


def memory(bench: Bench) -> Iterator[Row]:
    """Measure the bytes of a token by model size and length: forward, gradient and training."""
    for id in MODELS:
        weights = sum(p.numel() for p in bench.classifier(id).model.parameters())
        for length in (LENGTH,) if bench.tiny else (LENGTH, 128, 512):
            for work in ("forward", "gradient", "training"):
                about = {"model": id, "weights": weights, "length": length, "work": work}
                yield attempt(about, partial(_bytes_a_token, bench, id, length, work))


def _bytes_a_token(bench: Bench, id: str, length: int, work: str) -> Row:
    import torch

    classifier = bench.classifier(id)
    count = 2 if bench.tiny else max(4, 4096 // length)
    ids = torch.tensor(bench.ids(classifier, count, length), device=bench.device)
    mask = torch.ones_like(ids)
    model = classifier.model
    run: Callable[[], object]
    if work == "training":
        model.train()

        def run() -> None:
            labels = torch.zeros(count, dtype=torch.long, device=bench.device)
            model(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
            model.zero_grad()

    else:
        rows = list(ids.tolist())
        run = partial(classifier.probabilities, rows)
        if work == "gradient":
            run = partial(_gradients, classifier, [np.array(row) for row in rows])
    try:
        run()  # whatever is kept from the first run on
        before = torch.cuda.memory_allocated(bench.device)
        torch.cuda.reset_peak_memory_stats(bench.device)
        run()
    finally:
        model.eval()
    taken = torch.cuda.max_memory_allocated(bench.device) - before
    return {"KB_a_token": taken / count / length / 1e3}


def rates(bench: Bench) -> Iterator[Row]:
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

                measure = partial(_rate, bench, precision, run, passes * ids.size * flop)
                yield attempt(about, measure)


def _perturb(classifier: Classifier, ids: np.ndarray) -> np.ndarray:
    """Return probabilities of masks of few texts, as LIME asks for them."""
    from exparity.engine.masking import MaskedTexts

    texts = max(1, len(ids) // 64)
    masks = list(np.random.default_rng(1).random(ids.shape) < 0.5)
    rows = [classifier.embed(one) for one in ids[:texts]]
    return MaskedTexts(classifier, rows).probabilities(np.arange(len(ids)) % texts, masks)


def _rate(bench: Bench, precision: str, run: Callable[[], object], operations: float) -> Row:
    rate = operations / bench.typical(run) / 1e12
    peak = bench.peak.get(precision)
    return {"TFLOP_per_second": rate, "of_product": peak and rate / peak}


def costs(bench: Bench) -> Iterator[Row]:
    """Measure seconds a text of every method and metric, in each precision that jobs use."""
    from exparity.methods import METHODS as KNOWN
    from exparity.metrics import METRICS

    for precision in ENGINE:
        classifier = bench.classifier(CELL, precision, shortcuts=True)
        for id in methods_that_run():
            if precision == "fp32" or not KNOWN.get(id).facts.needs_gradient:
                about = {"kind": "method", "id": id, "precision": precision}
                yield attempt(
                    about, partial(_cost, bench, partial(_explaining, bench, classifier, id))
                )
        for id in metrics_that_run():
            repeats = METRICS.get(id).facts.needs == "explainer"
            for method in METHODS if id == "sensitivity" else (EXPLAINED_BY,):
                if precision != "fp32" and repeats and KNOWN.get(method).facts.needs_gradient:
                    continue
                about = {"kind": "metric", "id": id, "of": method, "precision": precision}
                run = partial(_evaluating, bench, classifier, id, method)
                yield attempt(about, partial(_cost, bench, run))


def _explaining(
    bench: Bench, classifier: Classifier, id: str, count: int
) -> Callable[[], list[Any]]:
    from exparity.methods import explain

    texts: list[Any] = bench.texts(classifier.tokenizer, count)
    return partial(explain, classifier, texts, 0, id, **bench_options(bench, "method", id))


def _evaluating(
    bench: Bench, classifier: Classifier, id: str, method: str, count: int
) -> Callable[[], object]:
    from exparity.metrics import evaluate

    explained = _explaining(bench, classifier, method, count)()
    return partial(evaluate, classifier, explained, id, **bench_options(bench, "metric", id))


def _cost(bench: Bench, work_of: Callable[[int], Callable[[], object]]) -> Row:
    """Measure work on as many texts as make it last; ``work_of`` returns it for a number."""
    count, lasting = (2, 0.0) if bench.tiny else (FEWEST, LASTING)
    if not bench.tiny:
        work_of(1)()  # modules and kernels are loaded by what needs them first
    while True:
        work = work_of(count)
        seconds = [bench.seconds(work)]
        if seconds[0] >= lasting or count >= sum(SENTENCES):
            break
        count *= 4
    if seconds[0] <= TOO_LONG and not bench.tiny:
        seconds += [bench.seconds(work) for _ in range(REPEATS - 1)]
    return {"texts": count, "seconds_a_text": median(seconds) / count}


# In the order of what matters most, with the minutes of ten that each may take.
PARTS: Mapping[str, tuple[Callable[[Bench], Iterator[Row]], float]] = {
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
    for part, (measure, share) in PARTS.items():
        allowed = max(1e-3, (end - time.monotonic()) * share / left)
        left -= share
        try:
            signal.setitimer(signal.ITIMER_REAL, allowed)
            for row in measure(bench):
                yield {"part": part, **row}
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
    lines = [
        "Sensitivity of all six methods on the 644 test sentences of GECO with BERT multilingual:"
    ]
    lines += ["", markdown(sensitivity(by_part))]
    for part in PARTS:
        groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in by_part[part]:
            groups[tuple(row)].append(row)
        for group in groups.values():
            lines += ["", f"`{part}`:", "", markdown(group)]
    return "\n".join(lines)


def sensitivity(by_part: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return the minutes of a cell's sensitivity: by measured rates, else as an estimate.

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
    rate = {
        (row["precision"], row["work"]): row.get("TFLOP_per_second")
        for row in by_part.get("rates", ())
        if row.get("model") == CELL
    }
    cost = {
        (row["precision"], row["of"]): row.get("seconds_a_text")
        for row in by_part.get("costs", ())
        if row.get("id") == "sensitivity"
    }
    for precision in ENGINE if cards else ():
        about = {"card": cards[-1], "precision": f"fp32 gradients, {precision} perturbations"}
        known = rate.get(("fp32", "gradient")), rate.get((precision, "perturbation"))
        if known[0] and known[1]:
            minutes = (gradients / known[0] + perturbations / known[1]) / 60
            rows.append({**about, "minutes": minutes, "by": "measured rates"})
        each = [cost.get((precision, method)) or cost.get(("fp32", method)) for method in METHODS]
        if all(each):
            minutes = sum(SENTENCES) * sum(filter(None, each)) / 60
            rows.append({**about, "minutes": minutes, "by": "measured seconds a text"})
    return rows


def write(page: Path, measured_in: Sequence[Path]) -> None:
    """Put the tables between the marks of a page."""
    rows = [json.loads(line) for path in measured_in for line in path.read_text().splitlines()]
    text = page.read_text(encoding="utf-8")
    renewed = _BLOCK.sub(lambda match: f"{match[1]}\n{tables(rows)}\n\n{match[2]}", text)
    page.write_text(renewed, encoding="utf-8")


def main() -> None:
    arguments = parse_arguments()
    if arguments.write:
        write(arguments.write, arguments.measured)
        return
    with contextlib.ExitStack() as stack:
        if arguments.dry_run:
            sys.path.insert(0, str(ROOT / "tests"))
            fake = importlib.import_module("fake_cuda").fake_cuda
            stack.enter_context(fake())
        import torch

        from exparity.core.device import make_repeatable, resolve_device

        make_repeatable(1 if arguments.dry_run else torch.get_num_threads())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(resolve_device("cuda"), folder, tiny=arguments.dry_run)
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        with arguments.output.open("w", encoding="utf-8") as file:
            for row in measured(bench, arguments.minutes):
                line = json.dumps(row)
                print(line, flush=True)
                file.write(f"{line}\n")
                file.flush()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=9, help="when to stop (default: 9)")
    parser.add_argument("--output", type=Path, default=Path("results/bench/gpu.jsonl"))
    parser.add_argument("--dry-run", action="store_true", help="tiny models on a fake GPU")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put tables into a page")
    parser.add_argument("--measured", type=Path, nargs="*", default=[], help="rows for --write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
