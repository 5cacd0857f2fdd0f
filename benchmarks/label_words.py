"""Measure what explanations of a prompted language model depend on: the objective and the prompt.

Usage: python benchmarks/label_words.py [--families llama gpt2] [--epochs N] [--pairs N]

Trains a language model of each family (four layers, width 96) from scratch on the prompts over
generated pairs of config/llm-small.yaml but the last, and asks it by all of them. Three tables. The
first has accuracy and label mass of each template. The second has mass accuracy, with ROC AUC in
brackets, of explanations of the word's logit and of its log odds under the first template, and how
much of AttnLRP lies on the frame. The third has the gap between the groups, as Cohen's d, over the
templates: its range, its standard deviation, and its range without templates of low label mass.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import yaml
from engine_tables import markdown

import exparity
from exparity import Classifier, load_classifier
from exparity.data.table import read_prepared
from exparity.data.training_set import TrainingSet
from exparity.models.prompts import PromptSpec
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.training import Trained, finetune
from exparity.stages.finetune import LEAST_LABEL_MASS
from exparity.stages.prepare import prepare
from exparity.stats.effect import cohens_d
from exparity.types import Example

CONFIG = Path(__file__).parents[1] / "config" / "llm-small.yaml"
_DECODER = {"hidden_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4}
SIZES: Mapping[str, Mapping[str, int]] = {
    "llama": {**_DECODER, "intermediate_size": 256, "num_key_value_heads": 2},
    "gpt2": {"n_embd": 96, "n_layer": 4, "n_head": 4},
}
OF_OBJECTIVE = ("gradient", "gradient_x_input", "integrated_gradients_x_input", "attnlrp")
OF_PROMPT: Mapping[str, Mapping[str, int]] = {
    "gradient_x_input": {},
    "integrated_gradients_x_input": {"n_steps": 10},
    "attnlrp": {},
}
METRICS = ("comprehensiveness", "sufficiency")
FEW = 40
"""Texts of the second table."""


def train(family: str, prompts: Sequence[PromptSpec], table: Path, epochs: int) -> Trained:
    """Train a language model from scratch on all prompts but the last."""
    spec = ModelSpec(
        init="scratch", architecture=family, head="label_words", size=SIZES[family], vocab_size=1200
    )
    training = TrainingSpec(epochs=epochs, learning_rate=2e-3)
    known = [prompt.template for prompt in prompts[:-1]]
    with TemporaryDirectory() as folder:
        state = StateFolder(Path(folder), "")
        data = TrainingSet.of(read_prepared(table), 0.0, 0)
        return finetune(
            data, spec, training, state=state, device="cpu", prompt=prompts[0], templates=known
        )


def answers(classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
    """Return accuracy and label mass."""
    ids = [encoding.token_ids for encoding in classifier.encode([e.text for e in examples])]
    right = classifier.probabilities(ids).argmax(1) == [e.label for e in examples]
    mass = classifier.label_mass(ids)
    assert mass is not None
    return {"accuracy": float(right.mean()), "label mass": float(mass.mean())}


def plausibility(classifier: Classifier, examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Return how much of each method's scores lies on the rationale, for both objectives."""
    texts, labels = [e.text for e in examples], [e.label for e in examples]
    marks = [e.rationale for e in examples]

    def row(method: str, **options: Any) -> str:
        found = exparity.explain(classifier, texts, labels, method, **options)
        mass, auc = (
            np.nanmean(exparity.evaluate(classifier, found, metric, rationales=marks))
            for metric in ("mass_accuracy", "rationale_roc_auc")
        )
        return f"{mass:.3f} ({auc:.2f})"

    objectives = ("logit", "log_odds")
    rows = [
        {"method": method, **{name: row(method, explains=name) for name in objectives}}
        for method in OF_OBJECTIVE
    ]
    shares = {name: f"{share_on_frame(classifier, texts, labels, name):.2f}" for name in objectives}
    chance = dict.fromkeys(objectives, row("uniform_random"))
    rows.append({"method": "attnlrp, share on the frame", **shares})
    return [*rows, {"method": "uniform_random", **chance}]


def share_on_frame(
    classifier: Classifier, texts: Sequence[str], labels: Sequence[int], explains: str
) -> float:
    """Return the mean share of AttnLRP on the frame, by reading each whole prompt as a text."""
    head: Any = classifier.head
    pair = classifier.model, classifier.tokenizer
    whole = load_classifier(pair, "cpu", words=head.spec.words)
    shares = []
    for text, label, own in zip(texts, labels, classifier.encode(texts), strict=True):
        as_text = [head.prompt.around(text).split(" ")]
        (found,) = exparity.explain(whole, as_text, label, "attnlrp", explains=explains)
        assert np.array_equal(np.asarray(found.token_ids), own.token_ids)
        scores = np.abs(found.scores)
        shares.append(scores[own.frame_mask].sum() / scores.sum())
    return float(np.mean(shares))


def gaps(classifier: Classifier, examples: Sequence[Example]) -> dict[tuple[str, str], float]:
    """Return d between the groups by method and metric."""
    texts, groups = [e.text for e in examples], np.array([e.group for e in examples])
    first, second = sorted(set(groups))
    result = {}
    for method, options in OF_PROMPT.items():
        settings: dict[str, Any] = dict(options)
        found = exparity.explain(classifier, texts, method=method, **settings)
        for metric in METRICS:
            values = exparity.evaluate(classifier, found, metric)
            result[method, metric] = float(
                cohens_d(values[groups == first], values[groups == second])
            )
    return result


def over_prompts(
    found: Sequence[Mapping[tuple[str, str], float]], known: Sequence[bool]
) -> list[dict[str, Any]]:
    """Return the range of each cell's d over prompts, with and without those of low label mass."""
    rows = []
    for method, metric in found[0]:
        d = np.array([one[method, metric] for one in found])
        own = d[list(known)]
        rows.append(
            {
                "method": method,
                "metric": metric,
                "d": f"{d.min():+.2f} … {d.max():+.2f}",
                "SD": f"{d.std(ddof=1):.2f}",
                "both signs": "yes" if d.min() < 0 < d.max() else "no",
                "without low label mass": f"{own.min():+.2f} … {own.max():+.2f}",
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--epochs", type=int, default=12, help="of each training")
    parser.add_argument("--pairs", type=int, default=280, help="a quarter of them is tested")
    parser.add_argument("--texts", type=int, default=120, help="of the test split")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    settings = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["prompts"]["pairs_all"]
    prompts = [PromptSpec(template=t, words=settings["words"]) for t in settings["templates"]]
    with TemporaryDirectory() as folder:
        table = Path(folder, "pairs_all.parquet")
        prepare(table, use="pairs_all", params={"n_pairs": arguments.pairs, "test_share": 0.25})
        examples = read_prepared(table).split("test")[: arguments.texts]
        for family in arguments.families:
            trained = train(family, prompts, table, arguments.epochs)
            pair = trained.model, trained.tokenizer
            asking = [
                load_classifier(pair, "cpu", prompt=prompt.template, words=prompt.words)
                for prompt in prompts
            ]
            by_prompt: list[dict[str, Any]] = [
                {"template": repr(prompt.template), **answers(one, examples)}
                for prompt, one in zip(prompts, asking, strict=True)
            ]
            print(f"\n## {family}\n")
            print(markdown(by_prompt))
            print(f"\n{markdown(plausibility(asking[0], examples[:FEW]))}\n", flush=True)
            known = [one["label mass"] >= LEAST_LABEL_MASS for one in by_prompt]
            found = [gaps(one, examples) for one in asking]
            print(markdown(over_prompts(found, known)), flush=True)


if __name__ == "__main__":
    main()
