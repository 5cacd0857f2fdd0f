"""Model classes of one's own: subclasses of those of transformers, under any name."""

import numpy as np
import pytest
import torch
from engine.exact import plain_probabilities
from methods.training import scores_of
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertForSequenceClassification,
    BertPreTrainedModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput

import exparity
from exparity import InputError

TEXTS = ["the girl sings", "her mother sings", "the waiter was late for the girl"]
"""Two of one length, which share a batch without padding."""


class Renamed(BertForSequenceClassification):
    """A class of one's own, which computes as its parent."""


class MeanPooled(BertForSequenceClassification):
    """Pools over the tokens that the mask leaves."""

    def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, **options):
        hidden = self.bert(
            input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        kept = attention_mask[..., None].to(hidden.dtype)
        pooled = (hidden * kept).sum(1) / kept.sum(1)
        return SequenceClassifierOutput(logits=self.classifier(pooled))


class Alone(BertPreTrainedModel):
    """No subclass of a classifier."""

    def __init__(self, config):
        super().__init__(config)
        self.bert = AutoModel.from_config(config)
        self.post_init()


@pytest.fixture
def tokenizer(checkpoints):
    return AutoTokenizer.from_pretrained(checkpoints["bert"])


@pytest.mark.parametrize("kind", [Renamed, MeanPooled])
def test_a_subclass_is_taken_for_what_it_computes(checkpoints, tokenizer, kind):
    model = kind.from_pretrained(checkpoints["bert"]).eval()
    classifier = exparity.load_classifier((model, tokenizer), "cpu")
    ids = [encoding.token_ids for encoding in classifier.encode(TEXTS)]
    wanted = np.stack([plain_probabilities(model, list(row)) for row in ids])
    np.testing.assert_allclose(classifier.probabilities(ids), wanted, atol=1e-5)
    np.testing.assert_allclose(classifier.probabilities(ids[:1]), wanted[:1], atol=1e-5)
    for method in ("gradient_x_input", "occlusion"):
        explanations = exparity.explain(classifier, TEXTS, 1, method)
        assert all(np.isfinite(scores).all() for scores in scores_of(explanations))
    assert np.isfinite(exparity.evaluate(classifier, explanations, "comprehensiveness")).all()


def test_a_forward_pass_that_somebody_replaced_gets_its_mask(checkpoints, tokenizer):
    model = AutoModelForSequenceClassification.from_pretrained(checkpoints["bert"]).eval()
    plain, seen = model.forward, []

    def forward(*arguments, **options):
        seen.append(options["attention_mask"])
        return plain(*arguments, **options)

    model.forward = forward
    classifier = exparity.load_classifier((model, tokenizer), "cpu")
    classifier.probabilities([classifier.encode(TEXTS[:1])[0].token_ids])
    assert all(isinstance(mask, torch.Tensor) for mask in seen)


def test_a_model_without_a_head_is_refused(checkpoints, tokenizer):
    model = Alone.from_pretrained(checkpoints["bert"])
    with pytest.raises(InputError, match="Alone has no classification head; load the model with"):
        exparity.load_classifier((model, tokenizer), "cpu")
