"""Models as a training leaves them are explained as any other, and stay as they are."""

import numpy as np
import pytest
from methods.training import scores_of
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import exparity
from exparity.engine.preflight import check_function

# Later versions of transformers call it activation checkpointing.
pytestmark = pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable`:FutureWarning")
METHODS = {
    "gradient": {},
    "deeplift": {},
    "attnlrp": {},
    "captum": {"algorithm": "InputXGradient"},
    "lime": {"num_samples": 20},
}
METRICS = {"comprehensiveness": {}, "sensitivity": {"steps": 2}}


def checkpointed(model):
    model.gradient_checkpointing_enable()
    model.train()


def prepared(model):
    model.enable_input_require_grads()
    model.train()


def tupled(model):
    model.config.return_dict = False


LEFT = {one.__name__: one for one in (checkpointed, prepared, tupled)}


@pytest.fixture(params=LEFT)
def left(request, checkpoints, family):
    model = AutoModelForSequenceClassification.from_pretrained(checkpoints[family])
    LEFT[request.param](model)
    hooks = len(model.get_input_embeddings()._forward_hooks), model.config.return_dict
    tokenizer = AutoTokenizer.from_pretrained(checkpoints[family])
    yield exparity.load_classifier((model, tokenizer), "cpu")
    assert (len(model.get_input_embeddings()._forward_hooks), model.config.return_dict) == hooks


@pytest.mark.sweep
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_explanations_and_scores_are_those_of_the_saved_checkpoint(
    left, family, classifiers, sentences
):
    plain, texts = classifiers[family], sentences[:3]
    check_function(left, [e.token_ids for e in left.encode(texts)], texts)
    for method, options in METHODS.items():
        found, expected = (
            exparity.explain(one, texts, 0, method, **options) for one in (left, plain)
        )
        np.testing.assert_array_equal(scores_of(found), scores_of(expected), err_msg=method)
    for metric, options in METRICS.items():
        values = [exparity.evaluate(one, expected, metric, **options) for one in (left, plain)]
        np.testing.assert_array_equal(*values, err_msg=metric)


def test_a_checkpoint_that_was_saved_to_return_tuples_names_its_outputs(checkpoints, tmp_path):
    """Otherwise a training would not find the logits."""
    model = AutoModelForSequenceClassification.from_pretrained(checkpoints["bert"])
    tupled(model)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(checkpoints["bert"]).save_pretrained(tmp_path)
    assert '"return_dict": false' in (tmp_path / "config.json").read_text()
    assert exparity.load_classifier(tmp_path, "cpu").model.config.return_dict
