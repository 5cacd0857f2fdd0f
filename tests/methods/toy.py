"""Hand-made networks behind the engine: what a method does to them can be worked out."""

import copy
from types import SimpleNamespace

import torch

from exparity.engine.classifier import Classifier

WIDTH = 6


class Toy(torch.nn.Module):
    """Mean of a text's embeddings, then a body that makes two logits of it."""

    def __init__(self, body, vocabulary):
        super().__init__()
        self.config = SimpleNamespace(num_labels=2, model_type="toy")
        self.table = torch.nn.Embedding(vocabulary, WIDTH)
        self.body = body

    def get_input_embeddings(self):
        return self.table

    @property
    def dtype(self):
        return self.table.weight.dtype

    def forward(self, input_ids=None, inputs_embeds=None, attention_mask=None):
        rows = self.table(input_ids) if inputs_embeds is None else inputs_embeds
        mask = torch.ones(rows.shape[:2]) if attention_mask is None else attention_mask
        weights = (mask / mask.sum(1, keepdim=True)).to(rows.dtype)
        logits = self.body((weights[..., None] * rows).sum(1))
        return SimpleNamespace(logits=logits, last_hidden_state=rows)


class Layers(torch.nn.Module):
    """Three linear layers with one activation, which may be a function or a shared module."""

    def __init__(self, activation):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, 8)
        self.second = torch.nn.Linear(8, 8)
        self.last = torch.nn.Linear(8, 2)
        self.activation = activation

    def forward(self, x):
        return self.last(self.activation(self.second(self.activation(self.first(x)))))


def toy(body, tokenizer, seed=0, scale=3.0):
    """A classifier around a body, with random weights."""
    torch.manual_seed(seed)
    model = Toy(body, len(tokenizer))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, scale if parameter.ndim > 1 else 1)
        model.table.weight.normal_(0, 1)
    return Classifier(model, tokenizer, device=torch.device("cpu"), max_length=64)


class OnRows(torch.nn.Module):
    """A model as captum takes it: embeddings in, a function of the logits out."""

    def __init__(self, model, link=lambda logits: logits):
        super().__init__()
        self.model, self.link = model, link

    def forward(self, rows):
        return self.link(self.model(inputs_embeds=rows).logits)


def rectified(donor):
    """A BERT with ReLU in modules of its own, as captum wants it."""
    model = copy.deepcopy(donor.model)
    for layer in model.bert.encoder.layer:
        layer.intermediate.intermediate_act_fn = torch.nn.ReLU()
    return Classifier(model, donor.tokenizer, device=donor.device, max_length=donor.max_length)
