"""Everything runs in bfloat16, and says about the same."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from methods.training import METHOD_IDS, known, training_for
from support import marked

import exparity
from exparity.engine.classifier import Classifier
from exparity.methods import METHODS
from exparity.metrics import METRICS

METHOD_QUICK = {"n_steps": 10, "num_samples": 40, "max_evals": 40}
OF_PACKAGES = {"lime_package": {"num_samples": 40}, "shap_package": {"max_evals": 40}}
METRIC_QUICK = {"num_samples": 10, "steps": 3, "bisections": 6}


@pytest.fixture(scope="module")
def pair(trained):
    """The trained classifier in fp32 and in bf16, and some texts and targets."""
    exact, texts, targets = trained
    coarse = Classifier(
        copy.deepcopy(exact.model).bfloat16(),
        exact.tokenizer,
        device=exact.device,
        max_length=exact.max_length,
    )
    return exact, coarse, texts[:4], targets[:4]


def explained(classifier, texts, targets, method):
    params = known(METHOD_QUICK, METHODS.get(method))
    if method in OF_PACKAGES:
        params["options"] = OF_PACKAGES[method]
    return exparity.explain(classifier, texts, targets, method, **params, **training_for(method))


@pytest.mark.sweep
@pytest.mark.parametrize("method", METHOD_IDS)
def test_methods_in_bf16_are_close_to_fp32(pair, method):
    """bfloat16 keeps 8 bits: gradients keep their direction (cosine above 0.9), and
    scores in units of probability are within 0.05, as probabilities are. SHAP may split other
    branches, so that tokens exchange shares, but their sum is within 0.05.
    """
    exact, coarse, texts, targets = pair
    for one, other in zip(
        explained(exact, texts, targets, method),
        explained(coarse, texts, targets, method),
        strict=True,
    ):
        assert np.isfinite(other.scores).all()
        a, b = one.scores, other.scores
        if METHODS.get(method).facts.adaptive:
            assert abs(a.sum() - b.sum()) < 0.05
        elif METHODS.get(method).facts.target == "probability":
            np.testing.assert_allclose(b, a, atol=0.05)
        else:
            assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.9


@pytest.mark.sweep
@pytest.mark.parametrize("metric", METRICS.ids())
def test_metrics_in_bf16_are_close_to_fp32(pair, metric):
    """Of the same scores: probabilities within 0.1; radii and relative changes within 30 %.

    Falls in probability that are smaller than the precision resolves have no order.
    """
    exact, coarse, texts, targets = pair
    params = known(METRIC_QUICK, METRICS.get(metric))
    values = []
    for classifier in (exact, coarse):
        rerun = METRICS.get(metric).facts.needs == "explainer"
        found = explained(classifier if rerun else exact, texts, targets, "gradient_x_input")
        marks = {e.text: marked(e.text) for e in found}
        found = [replace(e, rationale=marks[e.text], changed_words=marks[e.text]) for e in found]
        values.append(exparity.evaluate(classifier, found, metric, **params))
    if METRICS.get(metric).facts.unit == "correlation":
        assert np.isfinite(values[0]).all()
        return
    assert np.isfinite(values[1]).all()
    if METRICS.get(metric).facts.kind == "robustness":
        np.testing.assert_allclose(values[1].mean(), values[0].mean(), rtol=0.3)
    else:
        np.testing.assert_allclose(values[1], values[0], atol=0.1)


def test_a_classifier_in_bf16_is_explained_and_scored(checkpoints):
    classifier = exparity.load_classifier(checkpoints["gpt2"], "cpu", "bf16")
    assert classifier.model.dtype == torch.bfloat16
    found = exparity.explain(classifier, ["The girl sings ."], [0], "shap", max_evals=12)
    value = exparity.evaluate(classifier, found, "sensitivity", steps=1)
    assert np.isfinite(value).all()
