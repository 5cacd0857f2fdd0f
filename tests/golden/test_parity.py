"""Exparity's scores against those that ferret gave for the same model and sentences.

See README.md in this folder for where the numbers come from.
"""

import base64
import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from golden.checkpoint import build_checkpoint
from metrics.sweep import explanation, scored
from support import REAL, need

import exparity
from exparity.config.presets import preset
from exparity.data import load_dataset
from exparity.data.files import DataSource

pytestmark = pytest.mark.reference

HERE = Path(__file__).resolve().parent
ALL_METHODS = (
    "gradient",
    "gradient_x_input",
    "integrated_gradients",
    "integrated_gradients_x_input",
    "lime",
    "shap",
)


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress((HERE / "ferret.json.gz").read_bytes()))


@pytest.fixture(scope="module")
def rows(golden):
    return golden["examples"]


@pytest.fixture(scope="module")
def texts(golden):
    path = REAL / "geco" / "binary_gender_all" / "test.jsonl"
    need(path.is_file(), f"GECO in {REAL} (name its folder in EXPARITY_DATA)")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == golden["data_sha256"]
    found = {e.example_id: e for e in load_dataset("geco_all", DataSource(REAL, download=False))}
    chosen = [found[row["example_id"]] for row in golden["examples"]]
    assert [e.label for e in chosen] == [row["target"] for row in golden["examples"]]
    return [e.text for e in chosen]


@pytest.fixture(scope="module")
def classifier(golden, texts, tmp_path_factory):
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("golden")
    # Another digest means another model: then the numbers below say nothing about methods.
    assert build_checkpoint(folder, texts) == golden["checkpoint_sha256"]
    return exparity.load_classifier(str(folder), "cpu")


@pytest.fixture(scope="module")
def encodings(classifier, texts, rows):
    found = classifier.encode(texts)
    assert [len(e) for e in found] == [row["n_tokens"] for row in rows]
    return found


def goldens(rows, method):
    return [np.array(row["methods"][method]["scores"]) for row in rows]


def explained(classifier, texts, rows, method, **options):
    found = exparity.explain(classifier, texts, [r["target"] for r in rows], method, **options)
    return [one.scores for one in found]


def lime_samples(row):
    """The masks that ferret's LIME drew, True for kept tokens, and the probabilities there."""
    probabilities = np.frombuffer(base64.b64decode(row["lime"]["probabilities"]), "<f4")
    bits = np.unpackbits(np.frombuffer(base64.b64decode(row["lime"]["masks"]), np.uint8))
    shape = (len(probabilities), row["n_tokens"])
    masks = bits[: shape[0] * shape[1]].reshape(shape).astype(bool)
    return masks, probabilities.astype(np.float64)


def worst(found, expected):
    """The largest difference of any text, relative to its largest expected score."""
    pairs = zip(found, expected, strict=True)
    return max(np.abs(f - e).max() / np.abs(e).max() for f, e in pairs)


@pytest.mark.parametrize("method", ["gradient", "gradient_x_input", "integrated_gradients_x_input"])
def test_gradient_methods_equal_the_reference(method, classifier, texts, rows):
    found = explained(classifier, texts, rows, method)
    assert worst(found, goldens(rows, method)) < 1e-4


def test_integrated_gradients_are_noise_for_both(classifier, texts, rows):
    """Without ×input the sum is zero in theory, so that only its smallness can agree."""
    found = explained(classifier, texts, rows, "integrated_gradients", pooling="sum")
    for own, peer, size in zip(
        found, goldens(rows, "integrated_gradients"), goldens(rows, "gradient"), strict=True
    ):
        assert np.abs(own - peer).max() < 1e-4 * size.max()


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_shap_equals_the_reference(classifier, texts, rows, every):
    """Holds where 500 evaluations split the whole hierarchy, and where they do not."""
    texts, rows = texts[::every], rows[::every]
    assert {row["shap"]["complete"] for row in rows} == {True, False}
    found = explained(classifier, texts, rows, "shap", max_evals=500)
    assert worst(found, goldens(rows, "shap")) < 1e-4


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_probabilities_of_lime_masks_equal_the_reference(classifier, encodings, rows, every):
    """The same probabilities for the same masks, which special tokens are not spared from."""
    mask_id = classifier.tokenizer.mask_token_id
    sequences, expected, targets = [], [], []
    for encoding, row in zip(encodings[::every], rows[::every], strict=True):
        masks, probabilities = lime_samples(row)
        sequences += list(np.where(masks, encoding.token_ids, mask_id))
        expected.append(probabilities)
        targets += [row["target"]] * len(masks)
    found = classifier.probabilities(sequences)[np.arange(len(targets)), targets]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=0, atol=1e-5)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency", "loo_correlation"])
@pytest.mark.parametrize("method", ALL_METHODS)
def test_faithfulness_of_the_same_scores(method, metric, classifier, encodings, rows, every):
    encodings, rows = encodings[::every], rows[::every]
    explanations = [
        scored(encoding, scores, row["target"])
        for encoding, row, scores in zip(encodings, rows, goldens(rows, method), strict=True)
    ]
    found = exparity.evaluate(classifier, explanations, metric)
    expected = [row["methods"][method][metric] for row in rows]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_plausibility_of_the_same_scores():
    """With the options of ``study: ferret``, where each token is a word."""
    golden = json.loads(gzip.decompress((HERE / "plausibility.json.gz").read_bytes()))
    explanations = [
        explanation(case["scores"], case["marks"], special_mask=[1, *[0] * len(case["marks"]), 1])
        for case in golden["cases"]
    ]
    for metric, options in preset("ferret")["metrics"].items():
        found = exparity.evaluate(None, explanations, metric, **options)
        expected = [case["values"][metric] for case in golden["cases"]]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        assert np.ptp(expected) > 0.5
