"""Falls of one text in float64, without the batches of the engine."""

import numpy as np
from stats import loops


class OneByOne:
    """The target of one text in float64, from logits of the engine, a text a batch."""

    def __init__(self, classifier, encoding, target, unit="token"):
        self.classifier, self.target = classifier, target
        self.ids = encoding.token_ids
        content = np.flatnonzero(~encoding.special_mask)
        owners = content if unit == "token" else encoding.word_ids[content]
        self.content = [set(content[owners == one].tolist()) for one in dict.fromkeys(owners)]
        self.answers = {}
        self.whole = self.of(range(len(self.content)))

    def of(self, kept):
        """Probability and log odds of the target where these units are left, asked once."""
        kept = frozenset(kept)
        if kept not in self.answers:
            self.answers[kept] = self.asked(kept)
        return self.answers[kept]

    def asked(self, kept):
        gone = set().union(*self.content).difference(*(self.content[place] for place in kept))
        ids = [t for i, t in enumerate(self.ids) if i not in gone]
        (probabilities,), (logits,) = self.classifier.outputs([ids])
        others = [z for i, z in enumerate(logits) if i != self.target]
        return probabilities[self.target], logits[self.target] - np.log(np.exp(others).sum())

    def fall(self, taken, direction):
        every = range(len(self.content))
        kept = taken if direction == "kept" else [i for i in every if i not in taken]
        return tuple(a - b for a, b in zip(self.whole, self.of(kept), strict=True))

    def searched(self, stages, keep=False):
        """The units in the order of the reference, those to take first at its head."""
        return loops.reference(lambda kept: self.of(kept)[1], len(self.content), stages, keep)
