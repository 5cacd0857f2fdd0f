"""Explain a small pretrained language model: accuracy, label mass, methods by metrics, cost.

Usage: python benchmarks/language_model.py FOLDER [--convert FILE] [--data FOLDER] [--texts N]
       [--per-group N] [--masks N] [--precision P] [--parts PART ...]

FOLDER holds a causal language model of transformers, such as SmolLM2-135M-Instruct. With --convert
it is first made from a GGUF file, which needs the package gguf on Python's path; quantised weights
become float32. Sentences are of the development set of SST, posts of HateXplain's test set of two
communities, whose raw files lie in --data; no text is printed. Everything runs on one thread; CPU
seconds count, without loading. A gap is the first community's mean minus the second's, with the
p-value of a t-test with unequal variances, corrected for the number of gaps (Benjamini and
Hochberg), and the smallest gap that a single test finds with a power of 80 %.
A run that is stopped (SIGTERM) prints the tables of the texts so far, and ends.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from scipy.stats import false_discovery_control, ttest_ind
from shared import markdown

import exparity
from exparity.data import load_dataset
from exparity.data.hatexplain import hatexplain
from exparity.interface import DataSource, Example, FloatArray
from exparity.methods import explain_many
from exparity.metrics import evaluate_many
from exparity.stats.power import minimal_detectable_effect

METHODS: Mapping[str, Mapping[str, Any]] = {
    "gradient_x_input": {},
    "attnlrp": {},
    "occlusion": {"unit": "word"},
    "self_explanation": {},
    "uniform_random": {},
}
COMMUNITIES = ("African", "Women")
PARTS = ("prompts", "sst", "hatexplain", "memory")
_MOST_WORDS = 24
_AT_ONCE = 4
_MEMORY = "--memory-of"


@dataclass(frozen=True)
class Model:
    """A folder, and the precision of passes."""

    folder: str
    precision: Literal["fp32", "bf16"] = "fp32"


@dataclass(frozen=True)
class Task:
    """Texts and the prompts that ask for their class; the first prompt is explained."""

    name: str
    words: Mapping[str, str]
    prompts: Mapping[str, str]
    texts: Sequence[str]
    labels: Sequence[int]
    groups: Sequence[str]

    def classifier(self, model: Model, prompt: str) -> Any:
        """Load the model with a prompt."""
        return exparity.load_classifier(
            model.folder,
            "cpu",
            model.precision,
            prompt=self.prompts[prompt],
            words=dict(self.words),
            chat=prompt.startswith("chat"),
        )


def sentences(source: DataSource, count: int) -> Task:
    """Return short sentences of SST's development set, equally many of each class."""
    known = [e for e in load_dataset("sst", source) if e.example_id.startswith("dev-")]
    chosen = _balanced(known, count, ("",))
    shots = "Review: a moving and funny film .\nSentiment: positive\n\n"
    shots += "Review: a dull mess .\nSentiment: negative\n\n"
    return Task(
        "SST",
        {"negative": " negative", "positive": " positive"},
        {
            "two-shot": shots + "Review: {text}\nSentiment:",
            "zero-shot, a label": "Review: {text}\nSentiment:",
            "zero-shot, a sentence": "{text}\nAll in all, the review is",
            "chat": "Is the sentiment of this review negative or positive? Answer with one word.\n"
            "{text}",
        },
        *_columns(chosen),
    )


def posts(source: DataSource, count: int) -> Task:
    """Return short posts on two communities, as many of each that are normal as that are not."""
    known = hatexplain(source, groups=[*COMMUNITIES], train=["val"], verify=False).examples
    chosen = _balanced([e for e in known if e.split == "test"], count, COMMUNITIES)
    shots = "Post: thank you all for a lovely evening\nRude: no\n\n"
    shots += "Post: shut up , you stupid idiot\nRude: yes\n\n"
    return Task(
        "HateXplain",
        {"normal": " no", "rude": " yes"},
        {
            "two-shot": shots + "Post: {text}\nRude:",
            "zero-shot, a label": "Post: {text}\nRude:",
            "zero-shot, a question": "Is this post rude, yes or no?\n{text}\nAnswer:",
        },
        *_columns(chosen),
    )


def _is_rude(example: Example) -> int:
    return int(example.label != 1)  # hatespeech, normal, offensive


def _balanced(examples: Sequence[Example], count: int, groups: Sequence[str]) -> list[Example]:
    """Return the first short texts of each group, half of them of each class, in turn."""
    kinds: list[list[Example]] = []
    for group in groups:
        for label in (0, 1):
            fitting = [e for e in examples if e.group == group and _class_of(e) == label]
            short = [e for e in fitting if 5 <= len(e.words) <= _MOST_WORDS]
            kinds.append(short[: count // 2])
    return [example for turn in zip(*kinds, strict=True) for example in turn]


def _class_of(example: Example) -> int:
    return example.label if not example.group else _is_rude(example)


def _columns(examples: Sequence[Example]) -> tuple[list[str], list[int], list[str]]:
    texts = [example.text for example in examples]
    return texts, [_class_of(e) for e in examples], [e.group for e in examples]


def by_prompt(task: Task, model: Model) -> Iterator[dict[str, Any]]:
    """Yield accuracy and label mass of each prompt."""
    for prompt in task.prompts:
        classifier = task.classifier(model, prompt)
        start = time.process_time()
        probabilities = classifier.predict_proba(task.texts)
        ids = [encoding.token_ids for encoding in classifier.encode(task.texts)]
        rights = probabilities.argmax(1) == np.array(task.labels)
        yield {
            "data": task.name,
            "prompt": prompt,
            "n": len(task.texts),
            "accuracy": f"{rights.mean():.2f}",
            "label mass": f"{classifier.label_mass(ids).mean():.3f}",
            "says the second": f"{probabilities.argmax(1).mean():.2f}",
            "CPU s": f"{time.process_time() - start:.0f}",
        }


def explained(task: Task, model: Model, masks: int) -> bool:
    """Print means of methods by metrics, answers of self-explanations, and gaps of groups.

    Return whether they are of all texts: a run that is stopped begins no other part.
    """
    classifier = task.classifier(model, "two-shot")
    metrics: dict[str, dict[str, Any]] = {
        "forward_simulation": {"num_masks": masks},
        "comprehensiveness": {"thresholds": [0.2, 0.5], "unit": "word"},
        "sufficiency": {"thresholds": [0.2, 0.5], "unit": "word"},
    }
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    answers: list[Any] = []
    seconds: dict[str, float] = defaultdict(float)
    is_whole = False
    with suppress(KeyboardInterrupt):
        for start in range(0, len(task.texts), _AT_ONCE):
            texts = task.texts[start : start + _AT_ONCE]
            targets = classifier.predict_proba(texts).argmax(1).tolist()
            explanations: dict[str, Any] = {}
            for method, options in METHODS.items():
                began = time.process_time()
                explanations |= explain_many(classifier, texts, targets, {method: options})
                seconds[method] += time.process_time() - began
            began = time.process_time()
            values = evaluate_many(classifier, explanations, metrics, 0)
            seconds["metrics"] += time.process_time() - began
            for cell, found in values.items():
                scores[cell] += found.tolist()
            answers += [one.answer for one in explanations["self_explanation"]]
        is_whole = True
    groups = task.groups[: len(answers)]
    print(f"\n{task.name}: {len(answers)} texts, metrics {seconds['metrics']:.0f} CPU s")
    if not answers:
        return is_whole
    print(markdown([_means(scores, method, [*metrics], seconds) for method in METHODS]))
    print()
    print(markdown([_answers(answers, groups, group) for group in dict.fromkeys(groups)]))
    if len({*groups}) == 2:
        cells = [(method, metric) for metric in metrics for method in METHODS]
        print()
        print(markdown(judged([gap_of(np.array(scores[cell]), groups, *cell) for cell in cells])))
    return is_whole


def _means(
    scores: Mapping[tuple[str, str], Sequence[float]],
    method: str,
    metrics: Sequence[str],
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    row: dict[str, Any] = {"method": f"`{method}`"}
    for metric in metrics:
        values = np.asarray(scores[method, metric])
        defined = values[np.isfinite(values)]
        error = defined.std(ddof=1) / np.sqrt(len(defined))
        row[metric] = f"{defined.mean():+.3f} ± {error:.3f}"
    row["CPU s a text"] = f"{seconds[method] / len(values):.1f}"
    return row


def _answers(written: Sequence[Any], groups: Sequence[str], group: str) -> dict[str, Any]:
    answers = [answer for answer, name in zip(written, groups, strict=True) if name == group]
    return {
        "group": group or "all",
        "answers": len(answers),
        "unread": f"{np.mean([answer.is_unread for answer in answers]):.0%}",
        "words": f"{np.mean([answer.n_words for answer in answers]):.1f}",
        "in the text": f"{np.mean([answer.named for answer in answers]):.1f}",
        "not in the text": f"{np.mean([answer.foreign for answer in answers]):.1f}",
    }


def gap_of(values: FloatArray, groups: Sequence[str], method: str, metric: str) -> dict[str, Any]:
    """Return the gap of two groups, its p-value, and the smallest gap that would be found."""
    defined = np.isfinite(values)
    parts = [values[(np.array(groups) == name) & defined] for name in COMMUNITIES]
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
    test = ttest_ind(*parts, equal_var=False)
    findable = float(minimal_detectable_effect(error, float(test.df)))
    means = [part.mean() for part in parts]
    return {
        "metric": metric,
        "method": f"`{method}`",
        **{name: f"{mean:+.3f}" for name, mean in zip(COMMUNITIES, means, strict=True)},
        "gap": f"{means[0] - means[1]:+.3f}",
        "p": float(test.pvalue),
        "found with 80 %": f"{findable:.2f}",
    }


def judged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with p-values that are corrected for their number, and a verdict by these."""
    corrected = false_discovery_control([row["p"] for row in rows])
    return [
        {
            **row,
            "p": f"{row['p']:.2f}",
            "p, corrected": f"{p:.2f}",
            "verdict": "different" if p <= 0.05 else "undecided",
        }
        for row, p in zip(rows, corrected, strict=True)
    ]


def memory_rows(folder: str, data: str) -> Iterator[dict[str, Any]]:
    """Yield the peak of memory of a process that explains two texts with each method."""
    for method in METHODS:
        command = [sys.executable, __file__, folder, "--data", data, _MEMORY, method]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        yield {"method": f"`{method}`", "peak MB": done.stdout.strip().splitlines()[-1]}


def memory_of(folder: str, data: str, method: str) -> None:
    """Explain two texts and print the peak of memory, in MB."""
    task = sentences(DataSource(data, download=False), 2)
    classifier = task.classifier(Model(folder), "two-shot")
    explain_many(classifier, task.texts, None, {method: METHODS[method]})
    # Not getrusage, whose maximum is that of the process that started this one, if that was larger.
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in status if line.startswith("VmHWM"))
    print(int(peak.split()[1]) // 1000)


def convert(file: Path, folder: Path) -> None:
    """Write a GGUF file as a folder of transformers, with weights in float32."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"gguf_file": file.name, "trust_remote_code": False}
    quantised = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **where)
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = type(quantised)(config)
    model.load_state_dict(quantised.state_dict())
    model.tie_weights()
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, **where).save_pretrained(folder)


def main() -> None:
    """Run the parts that are named, and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder")
    parser.add_argument("--convert", type=Path)
    parser.add_argument("--data", default="data")
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--per-group", type=int, default=40)
    parser.add_argument("--masks", type=int, default=32)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument(_MEMORY)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if arguments.convert is not None:
        convert(arguments.convert, Path(arguments.folder))
    if arguments.memory_of is not None:
        memory_of(arguments.folder, arguments.data, arguments.memory_of)
        return
    model = Model(arguments.folder, arguments.precision)
    source = DataSource(arguments.data, download=False)
    tasks = [sentences(source, arguments.texts), posts(source, arguments.per_group)]
    if "prompts" in arguments.parts:
        print(markdown([row for task in tasks for row in by_prompt(task, model)]))
    for task, part in zip(tasks, PARTS[1:3], strict=True):
        if part in arguments.parts and not explained(task, model, arguments.masks):
            return
    if "memory" in arguments.parts:
        print()
        print(markdown([*memory_rows(arguments.folder, arguments.data)]))


if __name__ == "__main__":
    main()
