"""Make the golden numbers: run ferret on sentences of GECO and on drawn rationales.

Usage, with a Python that has ferret-xai 0.4.2 (exparity is not needed):

    FERRET_PYTHON tests/golden/make_ferret.py --data-dir DATA

DATA is the folder that holds GECO. Only numbers are written: no sentence and no token.
"""

import argparse
import base64
import contextlib
import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
from checkpoint import build_checkpoint
from ferret import (
    AOPC_Comprehensiveness_Evaluation,
    AOPC_Sufficiency_Evaluation,
    AUPRC_PlausibilityEvaluation,
    GradientExplainer,
    IntegratedGradientExplainer,
    LIMEExplainer,
    SHAPExplainer,
    TauLOO_Evaluation,
    Tokenf1_PlausibilityEvaluation,
    TokenIOU_PlausibilityEvaluation,
)
from ferret.benchmark import lp_normalize
from ferret.explainers.explanation import ExplanationWithRationale
from lime.lime_text import LimeTextExplainer
from shap.explainers._partition import PartitionExplainer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

HERE = Path(__file__).resolve().parent
TEST_FILE = Path("geco", "binary_gender_all", "test.jsonl")
N_EXAMPLES = 60
PACKAGES = ("ferret-xai", "torch", "transformers", "shap", "lime", "captum", "numpy")
N_CASES = 240
PLAUSIBILITY = {
    "rationale_auprc": AUPRC_PlausibilityEvaluation,
    "rationale_token_f1": Tokenf1_PlausibilityEvaluation,
    "rationale_iou": TokenIOU_PlausibilityEvaluation,
}
_SAMPLER = "_LimeTextExplainer__data_labels_distances"


def main() -> None:
    """Write ``ferret.json.gz`` and ``plausibility.json.gz`` next to this script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="folder that holds geco/")
    path = parser.parse_args().data_dir / TEST_FILE
    examples = read_examples(path)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        digest = build_checkpoint(folder, [text for _, text, _, _ in examples])
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
    golden = {
        "versions": {name: version(name) for name in PACKAGES},
        "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "checkpoint_sha256": digest,
        "examples": [explain(model, tokenizer, *example) for example in examples],
    }
    write("ferret", golden)
    write("plausibility", plausibility())


def write(name: str, golden: dict[str, Any]) -> None:
    """Write numbers without the time of writing, so that equal numbers make an equal file."""
    text = json.dumps(golden, sort_keys=True, separators=(",", ":"))
    (HERE / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def plausibility() -> dict[str, Any]:
    """Return what ferret says of drawn scores and rationales: it sees neither model nor text."""
    rng = np.random.default_rng(0)
    tokenizer = SimpleNamespace(cls_token="[CLS]")
    evaluators = {id: kind(None, tokenizer) for id, kind in PLAUSIBILITY.items()}
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
    return {"versions": {"ferret-xai": version("ferret-xai")}, "top_k": top_k, "cases": cases}


def draw(rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Draw scores of a text, [CLS] and [SEP] among them, of both signs and some 0, and marks."""
    size = int(rng.integers(1, 40))
    scores = rng.normal(size=size + 2) + rng.normal()
    scores[rng.uniform(size=size + 2) < 0.1] = 0.0
    marks = (rng.uniform(size=size) < rng.uniform(0.05, 0.9)).astype(int)
    marks[rng.integers(size)] = 1
    return scores / np.abs(scores).sum(), marks.tolist()


def read_examples(path: Path) -> list[tuple[str, str, int, int]]:
    """Return id, text, label and position of evenly spaced rows, as exparity reads them."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    found = []
    for position in (i * len(rows) // N_EXAMPLES for i in range(N_EXAMPLES)):
        row = rows[position]
        words = [word.strip() for word in row["sentence"] if word.strip()]
        name = f"{row['sentence_idx']:04d}-{row['gender']}"
        found.append((name, " ".join(words), row["target"], position))
    return found


def explain(
    model: Any, tokenizer: Any, name: str, text: str, target: int, position: int
) -> dict[str, Any]:
    """Run all explainers and evaluators on one text."""
    ids = tokenizer(text)["input_ids"]
    explainers = {
        "gradient": GradientExplainer(model, tokenizer, multiply_by_inputs=False),
        "gradient_x_input": GradientExplainer(model, tokenizer, multiply_by_inputs=True),
        "integrated_gradients": IntegratedGradientExplainer(
            model, tokenizer, multiply_by_inputs=False
        ),
        "integrated_gradients_x_input": IntegratedGradientExplainer(
            model, tokenizer, multiply_by_inputs=True
        ),
    }
    explanations = {key: run(text, target) for key, run in explainers.items()}
    with watch(LimeTextExplainer, _SAMPLER) as drawn:
        explanations["lime"] = LIMEExplainer(model, tokenizer)(
            text, target, init_args={"random_state": position}
        )
    _, (masks, probabilities, _) = drawn[0]
    np.random.seed(0)  # noqa: NPY002  shap draws from the global generator among equal priorities
    with watch(PartitionExplainer, "owen") as runs:
        explanations["shap"] = SHAPExplainer(model, tokenizer)(text, target)
    (partition, *_), _ = runs[0]
    check_round_trips(tokenizer, ids, masks.astype(bool))

    methods = {}
    for key, explanation in explanations.items():
        raw = explanation.scores.astype(np.float64).tolist()
        (normalised,) = lp_normalize([explanation])  # in place: raw scores are gone after this
        methods[key] = {"scores": raw}
        for metric, kind in (
            ("comprehensiveness", AOPC_Comprehensiveness_Evaluation),
            ("sufficiency", AOPC_Sufficiency_Evaluation),
            ("loo_correlation", TauLOO_Evaluation),
        ):
            value = kind(model, tokenizer).compute_evaluation(normalised, target).score
            methods[key][metric] = float(value)
    return {
        "example_id": name,
        "position": position,
        "target": target,
        "n_tokens": len(ids),
        "methods": methods,
        "lime": {
            "masks": packed(np.packbits(masks.astype(bool))),
            "probabilities": packed(probabilities[:, target].astype("<f4")),
        },
        "shap": {
            # The two ends, which are not counted there, are evaluated first.
            "evaluations": partition.last_eval_count + 2,
            "complete": whole_tree(partition._clustering, len(ids)) <= partition.last_eval_count,
        },
    }


@contextlib.contextmanager
def watch(owner: type, name: str) -> Iterator[list[tuple[tuple[Any, ...], Any]]]:
    """Collect arguments and result of every call of a method."""
    original = getattr(owner, name)
    calls: list[tuple[tuple[Any, ...], Any]] = []

    def recorded(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        calls.append((args, result))
        return result

    setattr(owner, name, recorded)
    try:
        yield calls
    finally:
        setattr(owner, name, original)


def whole_tree(clustering: np.ndarray, n_leaves: int) -> int:
    """Return how many masks it takes to split every node of a hierarchy in every context.

    Each split takes two masks, and each level doubles the contexts of the nodes below.
    """

    def cost(node: int, contexts: int) -> int:
        if node < n_leaves:
            return 0
        left, right = clustering[node - n_leaves, :2].astype(int)
        return 2 * contexts + cost(left, 2 * contexts) + cost(right, 2 * contexts)

    return cost(2 * n_leaves - 2, 1)


def check_round_trips(tokenizer: Any, ids: list[int], masks: np.ndarray) -> None:
    """Make sure that ferret's way from token ids to text and back changes nothing.

    Raises:
        RuntimeError: it does, so that its numbers are not those of the definitions.
    """
    masked = np.where(masks, ids, tokenizer.mask_token_id)
    content = np.array(ids[1:-1])
    for row, mask in zip(masked, masks, strict=True):
        again = tokenizer(tokenizer.decode(row), add_special_tokens=False)["input_ids"]
        kept = content[mask[1:-1]]
        short = tokenizer(tokenizer.decode(kept))["input_ids"][1:-1]
        if again != row.tolist() or short != kept.tolist():
            raise RuntimeError("token ids do not survive decoding")


def packed(array: np.ndarray) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(array.tobytes()).decode()


if __name__ == "__main__":
    main()
