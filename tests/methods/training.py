"""What methods are given in sweeps over them: a training split for those that work with one."""

from __future__ import annotations

from exparity.methods import METHODS

METHOD_IDS = [id for id in METHODS.ids() if not METHODS.get(id).facts.path_options]
"""All but those that read files, of which a sweep has none."""
TEXTS = [
    "She sings .",
    "The girl sings near the harbour .",
    "Her mother thanked the waitress .",
    "he",
    "The boy sings .",
    "His father thanked the waiter near the harbour .",
]
LABELS = [0, 0, 0, 1, 1, 1]


def training_for(method):
    """Keyword arguments of exparity.explain: a training split, if the method needs one."""
    needs = METHODS.get(method).facts.needs_training
    return {"training": (TEXTS, LABELS)} if needs else {}
