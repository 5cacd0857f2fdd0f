"""What sweeps over metrics give them: small options, and explanations with scores of any origin."""

from dataclasses import replace

import numpy as np
from methods.training import known
from support import marked

import exparity
from exparity import Explanation
from exparity.metrics import METRICS

QUICK = {"draws": 2, "num_samples": 3, "steps": 2, "bisections": 3, "max_tokens": 3}
"""Smaller values of options that set the cost, for metrics that have them."""


def scored(encoding, scores, target=0, **more):
    """An explanation of a text with given scores."""
    names = ("text", "token_ids", "tokens", "special_mask", "word_ids")
    of_text = {name: getattr(encoding, name) for name in names}
    return Explanation(**of_text, scores=scores, target=target, **more)


def explanation(scores, rationale=None, **more):
    """An explanation of tokens that have these scores."""
    tokens = ["t"] * len(scores)
    text = " ".join(tokens)
    return Explanation(text, 1, tokens=tokens, scores=scores, rationale=rationale, **more)


def value(metric, scores, rationale=None, **params):
    """What a metric says of an explanation that has these scores."""
    return exparity.evaluate(None, [explanation(scores, rationale)], metric, **params)[0]


def with_marks(explanation):
    """The same with a rationale and changed words."""
    marks = marked(explanation.text)
    return replace(explanation, rationale=marks, changed_words=marks)


def drawn(classifier, texts, targets=None, scorer=None):
    """Explanations with scores of ``scorer(encoding, index)``, or random ones of both signs."""
    return [
        scored(
            encoding,
            np.random.default_rng(i).normal(size=len(encoding))
            if scorer is None
            else scorer(encoding, i),
            i % 2 if targets is None else int(targets[i]),
        )
        for i, encoding in enumerate(classifier.encode(texts))
    ]


def evaluated(classifier, explanations, metric, seed=0, **options):
    """Values of any metric, quickly."""
    given = {**known(QUICK, METRICS.get(metric)), **options}
    return exparity.evaluate(classifier, explanations, metric, seed=seed, **given)


def bits_of(classifier, explanations, metric, **options):
    """Return a function from numbers of explanations to the bytes of their values."""

    def run(rows):
        chosen = [explanations[row] for row in rows]
        return [value.tobytes() for value in evaluated(classifier, chosen, metric, **options)]

    return run
