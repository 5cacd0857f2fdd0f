"""A made-up study of any size, with every artefact that the report reads.

``python tests/report/synthetic.py FOLDER`` writes two there, of the size of the default experiment
and of 5,040 tests, makes their reports, and says what that took and how they open in a browser.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exparity.artefacts.files import write_artefact
from exparity.config.experiment import Experiment
from exparity.stages.judge import judge_cells
from exparity.stages.report import report
from exparity.stages.tests.random import random_tests_cell
from exparity.stages.tests.trainings import across_trainings_cell
from exparity.stats.compare import compare_all
from exparity.stats.model_bias import model_bias
from exparity.tools.cost import cost

METHODS = ("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_x_input",
           "lime", "shap")  # fmt: skip
METRICS = ("comprehensiveness", "sufficiency", "soft_comprehensiveness", "soft_sufficiency", "gini",
           "sparsity", "sensitivity")  # fmt: skip
GROUPS = ("male", "female")
HOSTILE = "<script>alert('token')</script>"
DECLARED = {"attribute": "gender", "groups": list(GROUPS), "labels": ["female", "male"]}
STAGES = {"data": "prepare", "predictions": "finetune", "bias": "bias", "scores": "evaluate",
          "explanations": "explain", "tests": "test",
          "random_scores": "negative_control", "adjusted_gaps": "adjusted_gaps"}  # fmt: skip
DRAWS = 2
VERDICTS = "verdicts.parquet"
_BERT = {"init": "scratch", "architecture": "bert"}


def config(
    datasets: int = 2,
    models: int = 2,
    seeds: int = 2,
    methods: int = len(METHODS),
    metrics: int = len(METRICS),
) -> dict:
    """Return the config of a study of some size."""
    return {
        "title": "A made-up study",
        "datasets": {f"data_{i}": {"use": "pairs_all"} for i in range(datasets)},
        "models": {f"model_{i}": dict(_BERT) for i in range(models)},
        "methods": {name: {} for name in METHODS[:methods]},
        "metrics": {name: {} for name in METRICS[:metrics]},
        "seeds": list(range(seeds)),
    }


def options_of(settings: dict) -> dict:
    """Return what the report depends on, as the workflow passes it."""
    return json.loads(Experiment.from_mapping(settings).report_options())


def make_study(
    results: Path, settings: dict, *, pairs: int = 30, groups: Sequence[str] = GROUPS
) -> None:
    """Write every artefact of a study.

    Args:
        results: where to.
        settings: its config.
        pairs: matched sets in the test split. In the first, a word is markup.
        groups: of which each set has a text.
    """
    rng = np.random.default_rng(7)
    for dataset in settings["datasets"]:
        examples = [_example(i, group) for i in range(pairs) for group in groups]
        _write(
            results / "data" / f"{dataset}.parquet", "data", examples, {"dataset": dataset}, groups
        )
        for model in settings["models"]:
            for seed in settings["seeds"]:
                ids = {"dataset": dataset, "model": model, "seed": seed}
                _classifier(results, settings, ids, examples, rng)
            _over_all(results, dataset, model)
    judge_cells(sorted((results / "across_trainings").rglob("*.parquet")), None, results / VERDICTS)


def _over_all(results: Path, dataset: str, model: str) -> None:
    """Write what the analyses make of the scores of a model."""

    def of_model(artefact: str) -> list[Path]:
        return sorted((results / artefact / dataset / model).rglob("*.parquet"))

    for seed in sorted({path.stem for path in of_model("bias")}):
        place = results / "adjusted_gaps" / dataset / model / f"{seed}.parquet"
        ids = {"dataset": dataset, "model": model, "seed": int(seed)}
        _write(place, "adjusted_gaps", [], ids)
    path = results / "across_trainings" / dataset / f"{model}.parquet"
    across_trainings_cell(
        of_model("scores"), of_model("random_scores"), of_model("predictions"), path
    )
    for folder in (results / "random_scores" / dataset / model).iterdir():
        place = results / "random_tests" / dataset / model / f"{folder.name}.parquet"
        random_tests_cell(sorted(folder.glob("*.parquet")), place)


def _example(i: int, group: str) -> dict:
    words = [["He", "She"][group == "female"], "sails", "without haste", f"to-{i}", "."]
    words += [HOSTILE] if i == 0 else []
    return {
        "example_id": f"{i:04d}-{group}", "match_id": f"{i:04d}", "split": "test",
        "text": " ".join(words), "words": words, "group": group,
        "label": int(group == "male") if group in GROUPS else i % 2,
        "rationale": [1] + [0] * (len(words) - 1), "attributes": [],
    }  # fmt: skip


def _tokens(example: dict) -> tuple[list[str], list[int]]:
    """Return tokens and the word of each; the third word, which holds a blank, is three pieces."""
    tokens, words = ["[CLS]"], [-1]
    for w, word in enumerate(example["words"]):
        pieces = [word[:4], f"##{word[4:7]}", word[8:]] if w == 2 else [word.lower()]
        tokens += pieces
        words += [w] * len(pieces)
    return [*tokens, "[SEP]"], [*words, -1]


def _groups(examples: list) -> list[str]:
    return list(dict.fromkeys(example["group"] for example in examples))


def _classifier(results: Path, settings: dict, ids: dict, examples: list, rng) -> None:
    cell = Path(ids["dataset"]) / ids["model"] / str(ids["seed"])
    groups = _groups(examples)
    certain = rng.uniform(0.6, 1, len(examples))
    rows = []
    for example, p in zip(examples, certain, strict=True):
        label = example["label"]
        rows.append(
            {
                **{key: example[key] for key in ("example_id", "group", "match_id", "label")},
                "probabilities": [float(p), float(1 - p)][:: 1 - 2 * label],
                "predicted": label,
            }
        )
    _write(
        (results / "predictions" / cell).with_suffix(".parquet"), "predictions", rows, ids, groups
    )
    found = model_bias(
        [r["label"] for r in rows], [r["predicted"] for r in rows],
        [r["probabilities"] for r in rows], [r["group"] for r in rows],
        groups,        ("female", "male"), [r["match_id"] for r in rows], resamples=0,
    )  # fmt: skip
    path = (results / "bias" / cell).with_suffix(".parquet")
    _write(path, "bias", [vars(row) for row in found], ids, groups)
    drawn = {}
    for metric in settings["metrics"]:
        drawn[metric] = rng.normal(size=(DRAWS, len(examples)))
        if metric != "sensitivity":  # which explains again
            rows = [
                {**_scored(e, v), "draw": draw}
                for draw, values in enumerate(drawn[metric])
                for e, v in zip(examples, values, strict=True)
            ]
            path = results / "random_scores" / cell / f"{metric}.parquet"
            _write(path, "random_scores", rows, {**ids, "metric": metric}, groups)
    for m, method in enumerate(settings["methods"]):
        explained = []
        for example in examples:
            tokens, words = _tokens(example)
            explained.append(
                {
                    "example_id": example["example_id"],
                    "target": example["label"],
                    "token_ids": list(range(len(tokens))),
                    "tokens": tokens,
                    "word_ids": words,
                    "scores": rng.normal(size=len(tokens)).astype(np.float32).tolist(),
                }
            )
        folder = results / "explanations" / cell
        _write(
            folder / f"{method}.parquet",
            "explanations",
            explained,
            {**ids, "method": method},
            groups,
        )
        for k, metric in enumerate(settings["metrics"]):
            values = rng.normal(size=len(examples))
            values += (m - k) / 5 * np.array([e["group"] == "male" for e in examples])
            over = values - (drawn[metric].mean(0) if metric != "sensitivity" else np.nan)
            _tested(results, cell, {**ids, "method": method, "metric": metric}, examples,
                    values, over)  # fmt: skip


def _scored(example: dict, score: float) -> dict:
    return {**{k: example[k] for k in ("example_id", "group", "match_id")}, "score": float(score)}


def _tested(results: Path, cell: Path, ids: dict, examples: list, values, over) -> None:
    """Write the scores of one cell and their test, beside that of the excess."""
    order, groups = _groups(examples), [example["group"] for example in examples]
    sets = [example["match_id"] for example in examples]
    place = cell / ids["method"] / f"{ids['metric']}.parquet"
    rows = [_scored(e, v) for e, v in zip(examples, values, strict=True)]
    _write(results / "scores" / place, "scores", rows, ids, order)
    columns = [
        vars(found)
        | {
            "quantity": quantity,
            "flags": list(found.flags),
            "d_ci_low": found.cohens_d - 0.2,
            "d_ci_high": found.cohens_d + 0.2,
            "n_permutations": 100,
            **dict.fromkeys(("permuted_rate", "permuted_wilcoxon_rate"), 0.05),
        }
        for quantity, of in {"score": values, "excess": over}.items()
        for found in compare_all(of, groups, order, sets, resamples=0)
    ]
    _write(results / "tests" / place, "tests", columns, ids, order)


def _write(
    path: Path, artefact: str, rows: list, ids: dict, groups: Sequence[str] = GROUPS
) -> None:
    write_artefact(
        path, artefact, rows, ids, stage=STAGES[artefact], parameters={"params": {}},
        device="cuda" if artefact == "explanations" else "cpu", seconds=1.5,
        extra={**DECLARED, "groups": list(groups)},
    )  # fmt: skip


SIZES = {
    "demo": ({"datasets": 2, "models": 2, "seeds": 3}, 24),
    "large": ({"datasets": 4, "models": 6, "seeds": 5}, 160),
    "nine": ({"datasets": 1, "models": 1, "seeds": 1, "methods": 2, "metrics": 2}, 6),
}
"""Grids, and their matched sets: the default experiment, one of 5,040 tests, one of 9 groups."""


@dataclass(frozen=True)
class Opened:
    """How a page opens in a window of 1280 × 900 pixels.

    Attributes:
        height: of the whole page with everything folded that is folded at first, in pixels.
        busy: CPU time of the page's main thread until all controls work, in seconds.
        elapsed: wall time until then, in seconds.
    """

    height: int
    busy: float
    elapsed: float


def make_page(folder: Path, size: str) -> Path:
    """Write a study of one of :data:`SIZES` and return its page, made without figures."""
    counts, pairs = SIZES[size]
    settings = {**config(**counts), "report": {"figures": False}}
    if not (folder / "results" / "cost.parquet").is_file():
        groups = [f"group {i}" for i in range(9)] if size == "nine" else GROUPS
        make_study(folder / "results", settings, pairs=pairs, groups=groups)
        cost(folder / "results")
    page = folder / "report" / "index.html"
    report(folder / "results", page, options_of(settings))
    return page


def open_once(browser, page: Path) -> Opened:
    """Open a page in a window of its own."""
    window = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    client = window.context.new_cdp_session(window)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    window.goto(page.as_uri())
    ready = window.wait_for_selector("html[data-ready]", state="attached")
    metrics = client.send("Performance.getMetrics")["metrics"]
    busy = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    height = window.evaluate("document.documentElement.scrollHeight")
    elapsed = int(ready.get_attribute("data-ready")) / 1000
    window.context.close()
    return Opened(height, busy, elapsed)


def main(folder: Path) -> None:
    """Make a page of each size, and say what it took and how it opens."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for size in SIZES:
            start = time.process_time()
            page = make_page(folder / size, size)
            spent = time.process_time() - start
            opened = [open_once(browser, page) for _ in range(9)]
            busy, elapsed = (
                statistics.median(getattr(one, name) for one in opened)
                for name in ("busy", "elapsed")
            )
            print(
                f"{size}: {page.stat().st_size / 1e6:.1f} MB, study and page made in {spent:.0f} s "
                f"of CPU; {opened[0].height:,} pixels high; interactive after {busy:.2f} s of CPU, "
                f"{elapsed:.2f} s in all: {page}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
