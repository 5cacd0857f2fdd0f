"""What sweeps over methods give them: small options, and a training split where one is needed."""

import exparity
from exparity.methods import METHODS

METHOD_IDS = [id for id in METHODS.ids() if not METHODS.get(id).facts.path_options]
"""All but those that read files, of which a sweep has none."""
QUICK = {"n_steps": 3, "num_samples": 12, "max_evals": 12, "n_samples": 6}
"""Smaller values of options that set the cost, for methods that have them."""
LEARNT = [
    "She sings .",
    "The girl sings near the harbour .",
    "Her mother thanked the waitress .",
    "he",
    "The boy sings .",
    "His father thanked the waiter near the harbour .",
]
LABELS = [0, 0, 0, 1, 1, 1]
TEXTS = [
    "She sings .",
    "he",
    "The girl sings .",
    "His mother thanked the waiter .",
    "The boy sings .",  # as long as another
    "She sings .",  # the same again, for another class
]
TARGETS = [0, 1, 0, 1, 1, 1]


def known(options, entry):
    """The options that a method or metric has."""
    return {name: value for name, value in options.items() if name in entry.options.model_fields}


def quick(method):
    return known(QUICK, METHODS.get(method))


def training_for(method):
    """Keyword arguments of exparity.explain: a training split, if the method needs one."""
    needs = METHODS.get(method).facts.needs_training
    return {"training": (LEARNT, LABELS)} if needs else {}


def explained(classifier, texts, targets, method, seed=0, **options):
    """Explanations by any method, quickly."""
    given = {**quick(method), **training_for(method), **options}
    return exparity.explain(classifier, texts, targets, method, seed, **given)
