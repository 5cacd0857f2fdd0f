"""Explanation methods: the registry, and :func:`explain`, which runs one on texts.

A method is a function from a :class:`MethodBatch` and its options to one score vector per text,
registered with :func:`method` in a module of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.errors import ExparityError, InputError
from exparity.interface import BoolArray, Encoding, Explanation, FloatArray, IntArray, MethodFacts
from exparity.parameters import complete
from exparity.registry import Registry
from exparity.seeding import generator

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)

METHODS: Registry[MethodFacts] = Registry("method", "exparity.methods", MethodFacts)


def method(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an explanation method under ``id`` with its facts.

    See :class:`~exparity.interface.MethodFacts`.
    """
    return METHODS.register(id, **facts)


@dataclass(frozen=True)
class MethodBatch:
    """Texts to explain.

    Attributes:
        classifier: the model, behind the engine.
        token_ids: (t,) ids of each text, special tokens included.
        special_masks: (t,) True for special tokens, for each text.
        targets: (n,) class index to explain.
        keys: identity of each text, for random draws.
        seed: the run's seed.
        method: id of the method.
        flags: what a method finds out that readers of its scores must know; it may add to it.
    """

    classifier: Classifier
    token_ids: tuple[IntArray, ...]
    special_masks: tuple[BoolArray, ...]
    targets: IntArray
    keys: tuple[str, ...]
    seed: int
    method: str
    flags: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def lengths(self) -> list[int]:
        """Tokens of each text."""
        return [len(ids) for ids in self.token_ids]

    def generator(self, index: int) -> np.random.Generator:
        """Return the random generator of one text; the same whatever it is batched with."""
        return generator(self.seed, "explain", self.method, self.keys[index])


def explain(
    classifier: Classifier,
    texts: Sequence[str | Sequence[str]],
    targets: Sequence[int] | IntArray | None = None,
    method: str = "gradient",
    seed: int = 0,
    **params: Any,
) -> list[Explanation]:
    """Explain a classifier's output for texts.

    Args:
        classifier: from :func:`exparity.load_classifier`.
        texts: strings or lists of words.
        targets: class index per text; the predicted class if None.
        method: registered id, such as ``integrated_gradients``.
        seed: seed of methods that draw random numbers.
        **params: the method's options; ``exparity list methods`` shows them.

    Returns:
        One explanation per text, in order; raw, signed float64 scores, special tokens included.

    Raises:
        InputError: unknown method or option, an empty text, or a target that is not a class.
    """
    encodings = classifier.encode(texts)
    if targets is None:
        found = classifier.probabilities([e.token_ids for e in encodings])
        settled = found.argmax(-1).astype(np.int64)
    else:
        settled = np.asarray(targets, dtype=np.int64)
    if settled.shape != (len(encodings),):
        raise InputError(f"{len(encodings)} texts but targets of shape {settled.shape}")
    keys = [encoding.text for encoding in encodings]
    return explain_encodings(classifier, encodings, settled, keys, method, seed, params)


def explain_encodings(
    classifier: Classifier,
    encodings: Sequence[Encoding],
    targets: IntArray,
    keys: Sequence[str],
    method: str,
    seed: int,
    params: dict[str, Any],
    flags: set[str] | None = None,
) -> list[Explanation]:
    """Explain texts that are already encoded; see :func:`explain`.

    Args:
        classifier: the model.
        encodings: the texts.
        targets: (n,) class indices.
        keys: identity of each text, for random draws.
        method: registered id.
        seed: the run's seed.
        params: the method's options.
        flags: receives what readers of the scores must know, such as ``rounding_noise``.

    Raises:
        InputError: unknown method or option, or a target that is not a class.
        ExparityError: the method broke its contract.
    """
    from exparity.engine.preflight import check_targets

    entry = METHODS.get(method)
    options = complete(entry.options, params, f"method {method}")
    check_targets(targets, classifier.n_classes)
    if not encodings:
        return []
    batch = MethodBatch(
        classifier=classifier,
        token_ids=tuple(e.token_ids for e in encodings),
        special_masks=tuple(e.special_mask for e in encodings),
        targets=targets,
        keys=tuple(keys),
        seed=seed,
        method=method,
    )
    scores: list[FloatArray] = entry.function(batch, **options)
    if [len(s) for s in scores] != batch.lengths:
        raise ExparityError(f"method {method}: must return one score per token of every text")
    if flags is not None:
        flags |= batch.flags
    elif batch.flags:
        log.warning("%s: the scores are flagged %s", method, ", ".join(sorted(batch.flags)))
    return [
        Explanation(
            text=encoding.text,
            target=int(target),
            token_ids=encoding.token_ids,
            tokens=encoding.tokens,
            scores=np.asarray(score, dtype=np.float64),
            special_mask=encoding.special_mask,
            word_ids=encoding.word_ids,
        )
        for encoding, target, score in zip(encodings, targets, scores, strict=True)
    ]
