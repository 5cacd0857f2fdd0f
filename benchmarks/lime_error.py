"""Measure the sampling error of LIME and of Partition SHAP over their cost.

Usage: python benchmarks/lime_error.py CHECKPOINT DATA.parquet [--texts N] [--output FOLDER]

DATA is a prepared dataset, such as results/data/bios.parquet. The reference of each text is LIME
with 50 × t² independent samples, and SHAP with every branch split. Errors are root mean squares
over content tokens, texts and seeds, relative to the reference's own root mean square.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from engine_tables import markdown

import exparity
from exparity import Classifier, load_classifier
from exparity.data.table import read_prepared
from exparity.engine.masking import MaskedTexts
from exparity.methods._lime import Sampling, draw_masks, fit_lime, fit_with_surrogate
from exparity.types import BoolArray, FloatArray, IntArray

REFERENCE = 50
SHARES = (1 / 8, 1 / 4, 1 / 3, 0.4, 1 / 2, 1)
EVALUATIONS = (100, 200, 300, 400, 500)
ALL = 100_000
"""Evaluations that split every branch of a sentence."""
SCHEMES: tuple[tuple[Sampling, bool], ...] = (
    ("independent", False),
    ("stratified", False),
    ("paired", False),
    ("independent", True),
    ("paired", True),
)


def sentences(table: Path, count: int, longest: int) -> list[tuple[str, int]]:
    """Return texts and labels of a test split with 6 to ``longest`` words, evenly spaced."""
    rows = read_prepared(table, "test").split("test")
    fit_in = [row for row in rows if 6 <= len(row.text.split()) <= longest]
    step = max(1, len(fit_in) // count)
    return [(row.text, row.label) for row in fit_in[::step][:count]]


def scores(classifier: Classifier, text: str, target: int, seeds: int) -> list[dict[str, object]]:
    """Return the error of every scheme at every cost, for one text."""
    encoding = classifier.encode([text])[0]
    t = len(encoding)
    content = ~encoding.special_mask
    texts = MaskedTexts(classifier, [classifier.embed(encoding.token_ids)])

    def values(masks: np.ndarray) -> np.ndarray:
        return texts.probabilities(np.zeros(len(masks), dtype=np.int64), list(masks))[:, target]

    masks = draw_masks(t, REFERENCE * t * t, np.random.default_rng(10**6), "independent")
    reference = fit_lime(masks, values(masks))[content]
    rows: list[dict[str, object]] = []
    for scheme, surrogate in SCHEMES:
        for share in SHARES:
            for seed in range(seeds):
                size = max(4, round(share * t * t))
                rng = np.random.default_rng(seed)
                masks = draw_masks(t, size, rng, scheme)
                answers = values(masks)
                if surrogate:
                    found = fit_with_surrogate(masks, answers, rng)[content]
                else:
                    found = fit_lime(masks, answers)[content]
                rows.append(
                    {
                        "scheme": scheme, "surrogate": surrogate, "share": share, "tokens": t,
                        "square_error": float(np.mean((found - reference) ** 2)),
                        "square_reference": float(np.mean(reference**2)),
                    }
                )  # fmt: skip
    return rows


def shap_errors(
    classifier: Classifier, chosen: Sequence[tuple[str, int]]
) -> list[dict[str, object]]:
    """Return the masks that SHAP asks about, and its error, for each bound on evaluations."""
    texts, targets = [text for text, _ in chosen], [target for _, target in chosen]
    asked: list[int] = []
    plain = MaskedTexts.probabilities

    def counted(self: MaskedTexts, owners: IntArray, masks: Sequence[BoolArray]) -> FloatArray:
        asked.append(len(owners))
        return plain(self, owners, masks)

    def values(max_evals: int) -> tuple[list[FloatArray], float]:
        asked.clear()
        found = exparity.explain(classifier, texts, targets, "shap", max_evals=max_evals)
        return [one.scores[one.content_mask] for one in found], sum(asked) / len(texts)

    MaskedTexts.probabilities = counted  # type: ignore[method-assign]
    reference, masks = values(ALL)
    size = np.mean([np.mean(one**2) for one in reference])
    rows: list[dict[str, object]] = []
    for max_evals in EVALUATIONS:
        found, masks_asked = values(max_evals)
        errors = [np.mean((a - b) ** 2) for a, b in zip(found, reference, strict=True)]
        error = float(np.sqrt(np.mean(errors) / size))
        rows.append({"max_evals": max_evals, "distinct masks": masks_asked, "error": error})
    return [*rows, {"max_evals": "all", "distinct masks": masks, "error": 0.0}]


def plot(table: object, path: Path) -> None:
    """Draw error over cost, one line a scheme."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    groups = table.groupby(["scheme", "surrogate"])  # type: ignore[attr-defined]
    for (scheme, surrogate), part in groups:
        label = f"{scheme} + surrogate" if surrogate else scheme
        axes.plot(part["share"], part["error"], marker="o", label=label)
    axes.set(
        xscale="log", yscale="log", xlabel="samples / t²",
        ylabel="error relative to 50 t² samples",
    )  # fmt: skip
    axes.legend()
    axes.grid(visible=True, which="both", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    import pandas as pd

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--longest", type=int, default=14, help="words")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("results/bench"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    classifier = load_classifier(str(arguments.checkpoint), shortcuts=True)
    rows, chosen = [], sentences(arguments.data, arguments.texts, arguments.longest)
    print(markdown(shap_errors(classifier, chosen)), flush=True)
    for text, target in chosen:
        rows += scores(classifier, text, target, arguments.seeds)
        print(f"{len(rows)} fits", flush=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows)
    frame.to_parquet(arguments.output / "lime_error.parquet")
    grouped = frame.groupby(["scheme", "surrogate", "share"], sort=False)
    means = grouped[["square_error", "square_reference"]].mean().reset_index()
    means["error"] = np.sqrt(means["square_error"] / means["square_reference"])
    table = means.pivot(index=["scheme", "surrogate"], columns="share", values="error")
    print(table.round(2).to_string())
    plot(means, arguments.output / "lime_error.png")


if __name__ == "__main__":
    main()
