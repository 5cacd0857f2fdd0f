"""Measure LIME's sampling error over cost, for each sampling scheme.

Usage: python benchmarks/lime_error.py CHECKPOINT --data-dir DIR [--texts N] [--output FOLDER]

The reference of each text is LIME with 50 × t² independent samples. Errors are root mean squares
over content tokens, texts and seeds, relative to the reference's own root mean square.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from exparity import Classifier, load_classifier
from exparity.engine.masking import MaskedTexts
from exparity.methods._lime import draw_masks, fit, smooth

REFERENCE = 50
SHARES = (1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 1)
SCHEMES = (
    ("independent", False),
    ("stratified", False),
    ("paired", False),
    ("independent", True),
    ("paired", True),
)


def sentences(folder: Path, count: int, longest: int) -> list[tuple[str, int]]:
    """Return texts and labels of GECO's test split with at most ``longest`` words."""
    path = folder / "geco" / "binary_gender_all" / "test.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    fit_in = [r for r in rows if 6 <= len(r["sentence"]) <= longest]
    step = max(1, len(fit_in) // count)
    return [(" ".join(r["sentence"]), int(r["target"])) for r in fit_in[::step][:count]]


def scores(classifier: Classifier, text: str, target: int, seeds: int) -> list[dict[str, object]]:
    """Return the error of every scheme at every cost, for one text."""
    encoding = classifier.encode([text])[0]
    t = len(encoding)
    content = ~encoding.special_mask
    texts = MaskedTexts(classifier, [classifier.embed(encoding.token_ids)])

    def values(masks: np.ndarray) -> np.ndarray:
        return texts.probabilities(np.zeros(len(masks), dtype=np.int64), list(masks))[:, target]

    masks = draw_masks(t, REFERENCE * t * t, np.random.default_rng(10**6), "independent")
    reference = fit(masks, values(masks))[content]
    rows: list[dict[str, object]] = []
    for scheme, surrogate in SCHEMES:
        for share in SHARES:
            for seed in range(seeds):
                size = max(4, round(share * t * t))
                rng = np.random.default_rng(seed)
                masks = draw_masks(t, size, rng, scheme)
                answers = values(masks)
                if surrogate:
                    masks, answers = smooth(masks, answers, rng)
                found = fit(masks, answers)[content]
                rows.append(
                    {
                        "scheme": scheme, "surrogate": surrogate, "share": share, "tokens": t,
                        "square_error": float(np.mean((found - reference) ** 2)),
                        "square_reference": float(np.mean(reference**2)),
                    }
                )  # fmt: skip
    return rows


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
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--longest", type=int, default=14, help="words")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("results/bench"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    classifier = load_classifier(str(arguments.checkpoint), shortcuts=True)
    rows = []
    for text, target in sentences(arguments.data_dir, arguments.texts, arguments.longest):
        rows += scores(classifier, text, target, arguments.seeds)
        print(f"{len(rows)} fits", flush=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows)
    frame.to_parquet(arguments.output / "lime_error.parquet")
    grouped = frame.groupby(["scheme", "surrogate", "share"], sort=False)
    means = grouped[["square_error", "square_reference"]].mean().reset_index()
    means["error"] = np.sqrt(means["square_error"] / means["square_reference"])
    print(means.pivot(index=["scheme", "surrogate"], columns="share", values="error").round(4))
    plot(means, arguments.output / "lime_error.png")


if __name__ == "__main__":
    main()
