"""Make the golden numbers: run ferret on sentences of GECO and store what it answers.

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
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
from checkpoint import build_checkpoint
from ferret import (
    AOPC_Comprehensiveness_Evaluation,
    AOPC_Sufficiency_Evaluation,
    GradientExplainer,
    IntegratedGradientExplainer,
    LIMEExplainer,
    SHAPExplainer,
    TauLOO_Evaluation,
)
from ferret.benchmark import lp_normalize
from lime.lime_text import LimeTextExplainer
from shap.explainers._partition import PartitionExplainer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

HERE = Path(__file__).resolve().parent
TEST_FILE = Path("geco", "binary_gender_all", "test.jsonl")
N_EXAMPLES = 60
OTHER_SEEDS = (1000, 2000, 3000, 4000)  # LIME's agreement with itself needs further runs
PACKAGES = ("ferret-xai", "torch", "transformers", "shap", "lime", "captum", "numpy")
_SAMPLER = "_LimeTextExplainer__data_labels_distances"


def main() -> None:
    """Write ``ferret.json.gz`` next to this script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="folder that holds geco/")
    parser.add_argument("--output", type=Path, default=HERE / "ferret.json.gz")
    arguments = parser.parse_args()
    path = arguments.data_dir / TEST_FILE
    examples = read_examples(path)
    torch.set_num_threads(1)
    start = time.perf_counter()
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
    text = json.dumps(golden, sort_keys=True, separators=(",", ":"))
    # Without the time of writing, so that equal numbers make an equal file.
    arguments.output.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    size = arguments.output.stat().st_size
    print(f"{arguments.output.name}: {size} bytes, {time.perf_counter() - start:.0f} s")


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
    peer_lime = LIMEExplainer(model, tokenizer)
    with watch(LimeTextExplainer, _SAMPLER) as drawn:
        explanations["lime"] = peer_lime(text, target, init_args={"random_state": position})
    others = [
        peer_lime(text, target, init_args={"random_state": seed + position}).scores.tolist()
        for seed in OTHER_SEEDS
    ]
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
            "other_scores": others,
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
