"""Make the golden plausibility: what ferret says of drawn scores and rationales.

Usage, with a Python that has ferret-xai 0.4.2 (exparity is not needed):

    FERRET_PYTHON tests/golden/make_plausibility.py

Neither a model nor a text is behind them: its metrics of plausibility see scores and marks alone.
"""

import gzip
import json
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from ferret import (
    AUPRC_PlausibilityEvaluation,
    Tokenf1_PlausibilityEvaluation,
    TokenIOU_PlausibilityEvaluation,
)
from ferret.explainers.explanation import ExplanationWithRationale

N_CASES = 240
METRICS = {
    "rationale_auprc": AUPRC_PlausibilityEvaluation,
    "rationale_token_f1": Tokenf1_PlausibilityEvaluation,
    "rationale_iou": TokenIOU_PlausibilityEvaluation,
}


def main() -> None:
    """Write ``plausibility.json.gz`` next to this script."""
    rng = np.random.default_rng(0)
    tokenizer = SimpleNamespace(cls_token="[CLS]")
    evaluators = {id: kind(None, tokenizer) for id, kind in METRICS.items()}
    drawn = [draw(rng) for _ in range(N_CASES)]
    top_k = int(np.mean([sum(marks) for _, marks in drawn]) + 0.5)
    cases = []
    for scores, marks in drawn:
        tokens = ["[CLS]", *["t"] * len(marks), "[SEP]"]
        explanation = ExplanationWithRationale("", tokens, scores, "drawn", 0, [0, *marks, 0])
        values = {
            id: float(evaluator.compute_evaluation(explanation, 0, top_k_rationale=top_k).score)
            for id, evaluator in evaluators.items()
        }
        cases.append({"scores": scores.tolist(), "marks": marks, "values": values})
    golden = {"versions": {"ferret-xai": version("ferret-xai")}, "top_k": top_k, "cases": cases}
    text = json.dumps(golden, sort_keys=True, separators=(",", ":"))
    path = Path(__file__).resolve().with_name("plausibility.json.gz")
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def draw(rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Draw scores of a text, [CLS] and [SEP] among them, of both signs and some 0, and marks."""
    size = int(rng.integers(1, 40))
    scores = rng.normal(size=size + 2) + rng.normal()
    scores[rng.uniform(size=size + 2) < 0.1] = 0.0
    marks = (rng.uniform(size=size) < rng.uniform(0.05, 0.9)).astype(int)
    marks[rng.integers(size)] = 1
    return scores / np.abs(scores).sum(), marks.tolist()


if __name__ == "__main__":
    main()
