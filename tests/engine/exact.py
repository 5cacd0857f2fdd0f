"""The plain model, one text at a time, also in float64: what naive references are written with."""

import copy

import numpy as np
import torch


def plain_pair(classifier, pair):
    """Ids and token types of a pair of texts, as transformers gives them to the model."""
    batch = classifier.tokenizer(*pair)
    ids = np.array(batch["input_ids"])
    return ids, np.array(batch.get("token_type_ids", np.zeros_like(ids)))


def plain_probabilities(model, ids, types=None):
    """(c,) probabilities that the model of transformers gives for the ids of a text."""
    typed = {"token_type_ids": torch.as_tensor(types)[None]} if np.any(types) else {}
    batch = torch.as_tensor(np.asarray(ids))[None]
    with torch.no_grad():
        logits = model(input_ids=batch, attention_mask=torch.ones_like(batch), **typed).logits
    return logits.double().softmax(-1)[0].numpy()


class ExactModel:
    """A classifier's model in double precision, as functions of one text's embeddings."""

    def __init__(self, classifier):
        self.model = copy.deepcopy(classifier.model).double().eval()
        self.n_classes = classifier.n_classes

    def rows(self, ids):
        """(t, h) embeddings of token ids."""
        table = self.model.get_input_embeddings()
        return table(torch.as_tensor(np.asarray(ids))).detach()

    def logits(self, rows):
        """(c,) logits; decoders are pooled at the last row."""
        if hasattr(self.model, "score"):
            hidden = self.model.transformer(inputs_embeds=rows[None]).last_hidden_state
            return self.model.score(hidden[0, -1])
        return self.model(inputs_embeds=rows[None]).logits[0]

    def logit(self, rows, target):
        with torch.no_grad():
            return float(self.logits(rows)[target])

    def change_of_logit(self, explanation, absent):
        """Of the explained class, from a baseline of absent tokens between the special ones."""
        base = np.where(explanation.special_mask, explanation.token_ids, absent)
        ends = (explanation.token_ids, base)
        whole, nothing = (self.logit(self.rows(ids), explanation.target) for ids in ends)
        return whole - nothing

    def probability(self, rows, target):
        with torch.no_grad():
            return float(self.logits(rows).softmax(-1)[target])

    def probability_of(self, ids, target):
        return self.probability(self.rows(ids), target)

    def predicted(self, rows):
        with torch.no_grad():
            return int(self.logits(rows).argmax())

    def logit_gradient(self, rows, target):
        return self._gradient(rows, lambda logits: logits[target])

    def loss_gradient(self, rows, target):
        return self._gradient(rows, lambda logits: -torch.log_softmax(logits, -1)[target])

    def _gradient(self, rows, function):
        inputs = rows.clone().requires_grad_(True)
        (gradient,) = torch.autograd.grad(function(self.logits(inputs)), inputs)
        return gradient
