"""Zero-shot classification by a model of sentence pairs (Yin et al. 2019, arXiv:1909.00161)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exparity.core.calls import listed
from exparity.core.errors import InputError, shown
from exparity.engine.encoding import as_list, parted
from exparity.methods import Targets, asks_for_predicted, class_indices
from exparity.types import Text, TextLike

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

HYPOTHESIS = "This example is {}."
"""Hypothesis that a text of a class entails; the template of transformers' pipeline."""


def hypotheses(
    classifier: Classifier,
    texts: str | Text | Sequence[TextLike],
    labels: Sequence[str],
    targets: Targets,
    template: str = HYPOTHESIS,
) -> tuple[list[TextLike], int]:
    """Return every text as a pair with the hypothesis of one label, and the class of entailment."""
    names = listed(labels, "candidate_labels", "names")
    is_text = all(isinstance(name, str) for name in names)
    if not (names and is_text and len(set(names)) == len(names)):
        raise InputError(f"candidate_labels must be different names, not {shown(labels)}")
    if template.format("a") == template:
        raise InputError(f"pipeline: hypothesis_template {template!r} keeps no label; write {{}}")
    entailment = entailment_class(classifier)
    premises = parted(as_list(texts))
    if any(isinstance(text, tuple) for text in premises):
        raise InputError("candidate_labels: take one text each, and no pairs")
    pairs: list[list[Any]] = [
        [(premise, template.format(name)) for name in names] for premise in premises
    ]
    if asks_for_predicted(targets):
        encodings = classifier.encode([pair for text_pairs in pairs for pair in text_pairs])
        entailed = classifier.probabilities([e.token_ids for e in encodings])[:, entailment]
        chosen = entailed.reshape(len(premises), len(names)).argmax(axis=1)
    else:
        chosen = class_indices(targets, names, len(premises))
        if ((chosen < 0) | (chosen >= len(names))).any():
            raise InputError(
                f"targets must be candidate labels, or their places from 0, not {shown(targets)}"
            )
    return [text_pairs[place] for text_pairs, place in zip(pairs, chosen, strict=True)], entailment


def entailment_class(classifier: Classifier) -> int:
    """Return the index of the class that says that the second text follows from the first."""
    names = classifier.class_names
    entailing = [i for i, name in enumerate(names) if name.lower().startswith("entail")]
    if len(entailing) != 1:
        raise InputError(
            "candidate_labels: take a model of sentence pairs that names one class 'entailment' in "
            f"its configuration; this one has {', '.join(names)}"
        )
    return entailing[0]
