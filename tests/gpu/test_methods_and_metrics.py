"""Every method and metric stays on its GPU, gives what the CPU gives, and waits once a batch."""

from itertools import cycle, repeat

import numpy as np
import pytest
from fake_cuda import fake_cuda
from methods.training import TARGETS, TEXTS, explained, scores_of
from metrics.sweep import evaluated

import exparity
from exparity.methods import METHODS
from exparity.metrics import METRICS

pytestmark = pytest.mark.fake_cuda
METHOD_FACTS = {id: METHODS.get(id).facts for id in METHODS.ids()}
WITH_MODEL = [
    id
    for id, facts in METHOD_FACTS.items()
    if not (facts.model_free or facts.needs_training or facts.writes) and facts.repeatable
]
# An algorithm of captum that masks tokens.
MASKING = {"algorithm": "KernelShap", "options": {"n_samples": 8}}
SCORED = [id for id in METRICS.ids() if METRICS.get(id).facts.runs_model]
# A metric repeats a method: one that takes gradients at embeddings, and one that masks tokens.
REPEATING = [id for id in SCORED if METRICS.get(id).facts.needs == "explainer"]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("method", "family", "options"),
    [*zip(WITH_MODEL, cycle(["bert", "gpt2"]), repeat({})), ("captum", "bert", MASKING)],
)
def test_a_method_gives_on_a_gpu_what_it_gives_on_a_cpu(
    classifiers, on_gpu, gpus, method, family, options
):
    """Where texts of any length share a batch, all but the first and longest."""
    found, expected = (
        explained(one[family], TEXTS, TARGETS, method, **options) for one in (on_gpu, classifiers)
    )
    close(scores_of(found), scores_of(expected))


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("metric", "method", "family"),
    [
        *((id, "gradient_x_input", "bert") for id in SCORED),
        *((id, "lime", "gpt2") for id in REPEATING),
    ],
)
def test_a_metric_gives_on_a_gpu_what_it_gives_on_a_cpu(
    classifiers, on_gpu, gpus, metric, method, family
):
    made = explained(classifiers[family], TEXTS, TARGETS, method)
    close(*(evaluated(one[family], made, metric) for one in (on_gpu, classifiers)))


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_pairs_are_explained_on_a_gpu(pair_checkpoints, pair_classifiers, family):
    pairs = [("a cat sat", "it slept"), ("the sun is out", "it rains")]
    expected = exparity.explain(pair_classifiers[family], pairs, 0, "lime", num_samples=20)
    with fake_cuda():
        classifier = exparity.load_classifier(pair_checkpoints[family], "cuda")
        found = exparity.explain(classifier, pairs, 0, "lime", num_samples=20)
    close(scores_of(found), scores_of(expected))


def test_shortcuts_stay_on_the_gpu(checkpoints, classifiers, sentences, gpus):
    classifier = exparity.load_classifier(checkpoints["bert"], "cuda", shortcuts=True)
    for method in ("lime", "gradient"):
        found, expected = (
            explained(one, sentences[:3], 0, method) for one in (classifier, classifiers["bert"])
        )
        close(scores_of(found), scores_of(expected))


@pytest.mark.parametrize(
    ("method", "a_text"),
    [("lime", 0), ("integrated_gradients", 1), ("gradient", 2), ("shap", 2)],
)
def test_a_method_waits_for_the_gpu_seldom(on_gpu, sentences, gpus, method, a_text):
    """Once a batch, and then for the scores of each text; never for single tokens or masks."""
    texts = sentences[2:10]
    for _ in range(2):
        gpus.forget()
        explained(on_gpu["bert"], texts, 0, method)
    assert sum(gpus.waits.values()) <= 2 + a_text * len(texts), gpus.waits


def test_an_ascent_waits_for_the_gpu_once_a_batch_and_not_at_its_steps(on_gpu, sentences, gpus):
    waits = []
    made = explained(on_gpu["bert"], sentences[2:6], 0, "lime")
    for steps in (2, 2, 6):
        gpus.forget()
        exparity.evaluate(on_gpu["bert"], made, "sensitivity", steps=steps)
        waits.append(sum(n for (_, line), n in gpus.waits.items() if "_ascent.py" in line))
    assert waits[1] == waits[2] <= len(made)
