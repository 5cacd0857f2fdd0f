"""Trainings with shortcuts: what the head cannot read is left out, and moves nothing."""

from functools import partial

import numpy as np
import pytest
import torch
from models import trainings
from models.trainings import same, weights
from support import killed_after
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from exparity import InputError
from exparity.models.encoders import refusal, training_pass
from exparity.models.spec import ModelSpec, TrainingSpec

SIZE = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
    "num_labels": 3,
}
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout")
CLASSES = {
    "bert": (BertConfig, BertForSequenceClassification),
    "roberta": (RobertaConfig, RobertaForSequenceClassification),
}
WITHOUT = dict.fromkeys(DROPOUTS, 0.0)


def made(family, **settings):
    """Return a model in training, with weights far from zero."""
    config, model_class = CLASSES[family]
    torch.manual_seed(0)
    model = model_class(config(**{**SIZE, **WITHOUT, **settings}))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.2)
    return model.train()


def batch(*lengths):
    """Return texts of these lengths, padded, with tokens that no family takes for padding."""
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    tokens = torch.randint(5, 60, mask.shape, generator=torch.Generator().manual_seed(1))
    return {
        "input_ids": tokens * mask + (1 - mask),  # RoBERTa pads with 1
        "attention_mask": mask,
        "labels": torch.arange(len(lengths)) % 3,
    }


def gradients(model, output):
    model.zero_grad()
    output.loss.backward()
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in model.named_parameters()
    }


@pytest.mark.parametrize("lengths", [(9, 9, 9, 9), (9, 4, 7, 1)], ids=["equal lengths", "padded"])
@pytest.mark.parametrize("family", CLASSES)
def test_losses_and_gradients_are_those_of_the_whole_model(family, lengths):
    model = made(family)
    inputs = batch(*lengths)
    plain = model(**inputs)
    expected = gradients(model, plain)
    output = training_pass(model, **inputs)
    torch.testing.assert_close(output.logits, plain.logits, rtol=1e-5, atol=1e-5)
    found = gradients(model, output)
    assert max(float(slope.abs().max()) for slope in expected.values()) > 0.01
    for name, slope in expected.items():
        torch.testing.assert_close(found[name], slope, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("family", CLASSES)
def test_in_mixed_precision_what_is_validated_is_as_exact(family):
    model = made(family).eval()
    inputs = batch(9, 4)
    with torch.no_grad():
        exact = model(**inputs).logits
        with torch.autocast("cpu", torch.bfloat16):
            plain = model(**inputs).logits
            found = training_pass(model, **inputs).logits
    torch.testing.assert_close(found, plain, rtol=0, atol=0.2 * float((plain - exact).abs().max()))


def test_types_of_tokens_count():
    model = made("bert")
    inputs = batch(8, 6)
    types = torch.tensor([[0] * 3 + [1] * 5] * 2)
    expected = model(**inputs, token_type_ids=types).logits
    output = training_pass(model, **inputs, token_type_ids=types)
    torch.testing.assert_close(output.logits, expected, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(output.logits, training_pass(model, **inputs).logits)


@pytest.mark.parametrize("dropout", DROPOUTS)
@pytest.mark.parametrize("family", CLASSES)
def test_each_dropout_draws_in_training_alone(family, dropout):
    model = made(family, **{dropout: 0.5})
    inputs = batch(9, 4)
    first, again = (training_pass(model, **inputs).logits for _ in range(2))
    assert not torch.allclose(first, again)
    model.eval()
    with torch.no_grad():
        found = training_pass(model, **inputs).logits
        torch.testing.assert_close(found, model(**inputs).logits, rtol=1e-5, atol=1e-5)


def test_models_of_other_classes_are_refused():
    other = GPT2ForSequenceClassification(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=9))
    assert "models of class GPT2ForSequenceClassification, only for" in refusal(other)


@pytest.mark.parametrize("family", CLASSES)
def test_models_that_look_back_alone_are_refused(family):
    assert refusal(made(family)) is None
    assert "look back alone" in refusal(made(family, is_decoder=True))


MODEL = ModelSpec(
    init="scratch",
    architecture="bert",
    size={key: SIZE[key] for key in SIZE if key not in ("vocab_size", "num_labels")},
)
TRAINING = TrainingSpec(epochs=2, batch_size=16, learning_rate=1e-3, shortcuts=True)
train = partial(trainings.train, training=TRAINING, model=MODEL)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return trainings.pairs(tmp_path_factory.mktemp("data"), 40)


def test_weights_are_those_without(data, tmp_path):
    model = MODEL.model_copy(update={"size": {**MODEL.size, **WITHOUT}})
    plain = TRAINING.model_copy(update={"shortcuts": False})
    expected = weights(train(data, tmp_path / "plain", training=plain, model=model).model)
    found = weights(train(data, tmp_path / "short", model=model).model)
    for name, weight in expected.items():
        np.testing.assert_allclose(found[name], weight, atol=2e-4, err_msg=name)


def test_a_continued_training_ends_with_the_same_weights(data, tmp_path):
    whole = train(data, tmp_path / "whole")
    with killed_after(1):
        train(data, tmp_path)
    assert same(whole.model, train(data, tmp_path).model)


def test_other_families_are_refused_before_they_are_trained(data, tmp_path):
    model = ModelSpec(init="scratch", architecture="distilbert", size={"dim": 16, "n_heads": 2})
    with pytest.raises(InputError, match=r"training\.shortcuts: not available for models of"):
        train(data, tmp_path, model=model)
