"""Texts to explain, as methods receive them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from annotated_types import MinLen

from exparity.core.seeding import generator
from exparity.explanations.named_words import Answer
from exparity.explanations.units import Unit, Units, units_of
from exparity.methods._words import Training
from exparity.types import BoolArray, Encoding, FloatArray, IntArray, locked

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier
    from exparity.engine.objectives import Objective

Explains = (
    Literal["auto", "logit", "log_odds"] | Annotated[Mapping[Literal["against"], str], MinLen(1)]
)
"""Functions of logits that methods explain; see :func:`exparity.methods.logit_options`."""


def generator_of_text(seed: int, method: str, key: str) -> np.random.Generator:
    """Return the random generator of a method on one text."""
    return generator(seed, "explain", method, key)


@dataclass(frozen=True)
class MethodBatch:
    """Texts to explain; arrays are read-only.

    Attributes:
        classifier: the model, behind the engine.
        encodings: the texts as the model sees them.
        targets: (n,) class index to explain.
        keys: identity of each text, for random draws.
        seed: the run's seed.
        method: id of the method.
        moved: (t, h) embeddings of each text that a metric has moved; None where none has.
        leaders: (n,) index of the item whose choices each item follows, usually its own. Moved
            copies of a text follow the text, so that only the move changes their scores. Only
            ``adaptive`` methods need it, since draws are keyed.
        flags: warnings for readers of the scores, to which the method may add.
        memo: work that methods of the same texts share; see :func:`exparity.methods.explain_many`.
        training: the texts that the model was trained on, for methods with ``needs_training``.
        explains: function that methods of logits explain; see
            :func:`exparity.methods.logit_options`.
        unit: the option ``unit`` of methods that have it.
        answers: by key, what the model wrote of each text, of methods with ``writes``.
    """

    classifier: Classifier
    encodings: tuple[Encoding, ...]
    targets: IntArray
    keys: tuple[str, ...]
    seed: int
    method: str
    moved: tuple[torch.Tensor, ...] | None
    leaders: IntArray
    flags: set[str] = field(default_factory=set)
    memo: dict[object, Any] = field(default_factory=dict)
    training: Training | None = None
    explains: Explains = "auto"
    unit: Unit = "token"
    answers: dict[str, Answer] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.encodings)

    def part(self, classifier: Classifier, places: Sequence[int]) -> MethodBatch:
        """Return some of the texts, for a classifier that is this one or its twin in fp32."""
        moved = None if self.moved is None else [self.moved[place] for place in places]
        if moved is not None and classifier is not self.classifier:
            moved = [rows.float() for rows in moved]
        return replace(
            self,
            classifier=classifier,
            encodings=tuple(self.encodings[place] for place in places),
            targets=locked(self.targets[list(places)]),
            keys=tuple(self.keys[place] for place in places),
            moved=None if moved is None else tuple(moved),
            # Copies of a text go where the text goes.
            leaders=locked(np.searchsorted(places, self.leaders[list(places)])),
        )

    @cached_property
    def rows(self) -> tuple[torch.Tensor, ...]:
        """(t, h) input embeddings of each text.

        A metric may have moved them away from those of the token ids: methods work on these, and
        never look ids up.
        """
        if self.moved is not None:
            return self.moved
        return tuple(self.classifier.embed(ids) for ids in self.token_ids)

    @cached_property
    def objective(self) -> Objective:
        """The function of logits and targets that ``explains`` selects."""
        return self.classifier.objective(self.explains)

    @property
    def token_ids(self) -> tuple[IntArray, ...]:
        """(t,) ids of each text, special tokens included."""
        return tuple(encoding.token_ids for encoding in self.encodings)

    @property
    def special_masks(self) -> tuple[BoolArray, ...]:
        """(t,) True for special tokens, for each text."""
        return tuple(encoding.special_mask for encoding in self.encodings)

    @cached_property
    def units(self) -> tuple[Units, ...]:
        """The units of each text, which are left out and attributed as one."""
        return tuple(
            units_of(e.word_ids, e.special_mask, e.written, self.unit) for e in self.encodings
        )

    @cached_property
    def content_masks(self) -> tuple[BoolArray, ...]:
        """(u,) True for the units of each text that have content: all but special tokens."""
        pairs = zip(self.units, self.special_masks, strict=True)
        return tuple(~special[units.first] for units, special in pairs)

    @cached_property
    def text_masks(self) -> tuple[BoolArray, ...]:
        """(u,) True for the units of each text itself: all but those of a prompt around it."""
        pairs = zip(self.units, self.encodings, strict=True)
        return tuple(~encoding.frame_mask[units.first] for units, encoding in pairs)

    @cached_property
    def lengths(self) -> list[int]:
        """Tokens of each text."""
        return [len(encoding) for encoding in self.encodings]

    @property
    def word_rows(self) -> list[torch.Tensor]:
        """(t, h) embeddings of each text without token types, which mark the texts of a pair."""
        pairs = zip(self.rows, self.token_ids, strict=True)
        return [self.classifier.without_types(rows, ids) for rows, ids in pairs]

    def gradients(self, objective: Objective | None = None) -> list[torch.Tensor]:
        """Differentiate a function of each text's logits with respect to its embeddings.

        Args:
            objective: receives the (b, c) logits and (b,) targets of b texts, and returns (b,)
                numbers, each of its own text alone; :attr:`objective` if None.

        Returns:
            (t, h) gradient of each text, in order.
        """
        from exparity.engine.batching import padded

        gradients = self.classifier.input_gradients(
            self.lengths, padded(self.rows), self.targets, objective or self.objective
        )
        by_text = {index: gradient for index, gradient, _ in gradients}
        return [by_text[index] for index in range(len(self))]

    def gradients_between(
        self,
        starts: Sequence[torch.Tensor],
        places: Sequence[FloatArray],
        objective: Objective | None = None,
    ) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Differentiate a function of the logits at points between baselines and texts.

        Args:
            starts: (t, h) baseline of each text.
            places: (p,) where each text's points lie, from 0 (the baseline) to 1 (the text).
            objective: see :meth:`gradients`.

        Yields:
            A text, one of its points and the (t, h) gradient there. Points of a text come one after
            the other, so that a sum does not depend on where batches end.
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence

        counts = [len(points) for points in places]
        owners = np.repeat(np.arange(len(self)), counts)
        steps = np.concatenate([np.arange(count) for count in counts])
        ends = pad_sequence(list(self.rows), batch_first=True)  # (n, t, h)
        padded_starts = pad_sequence(list(starts), batch_first=True)
        alphas = torch.as_tensor(np.concatenate(places), dtype=ends.dtype, device=ends.device)

        def build(positions: list[int], width: int) -> torch.Tensor:
            texts = torch.as_tensor(owners[positions], device=ends.device)
            start = padded_starts[texts, :width]
            end = ends[texts, :width]
            return start + alphas[positions][:, None, None] * (end - start)

        lengths = [self.lengths[row] for row in owners]
        for position, gradient, _ in self.classifier.input_gradients(
            lengths, build, self.targets[owners], objective or self.objective
        ):
            yield int(owners[position]), int(steps[position]), gradient

    def generator(self, index: int) -> np.random.Generator:
        """Return the random generator of one text; the same whatever it is batched with."""
        return generator_of_text(self.seed, self.method, self.keys[index])
