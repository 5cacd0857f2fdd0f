"""The plain model in float64, one text at a time: what naive references are written with."""

import copy

import numpy as np
import torch


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

    def probability(self, rows, target):
        with torch.no_grad():
            return float(self.logits(rows).softmax(-1)[target])

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
