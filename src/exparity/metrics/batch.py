"""Explanations to score, as metrics that run the model receive them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exparity.core.errors import InputError
from exparity.core.registry import Entry
from exparity.core.seeding import generator
from exparity.explanations import Explanation
from exparity.explanations.units import Unit, Units
from exparity.metrics._arrays import l1_normalised
from exparity.types import (
    BoolArray,
    Encoding,
    Falls,
    FloatArray,
    IntArray,
    Origin,
    guarded,
    locked,
)

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier
    from exparity.methods.facts import MethodFacts


@dataclass(frozen=True)
class MetricBatch:
    """Explanations to score with a metric that runs the model; arrays are read-only.

    Attributes:
        classifier: the model, behind the engine.
        explanations: as they were given, with raw attributions.
        scores: (u,) normalised attributions of the units of each text: of its tokens, unless the
            metric has the option ``unit``.
        keys: identity of each text, for random draws.
        seed: the run's seed.
        metric: id of the metric.
        notes: counts beside the values, such as ``censored``, to which the metric may add.
        falls: by index of the text, the falls that its score averages; metrics with the ``skill``
            ``removal`` or ``draws`` add those of every text that has a score.
        unit: the option ``unit`` of metrics that have it.

    Raises:
        InputError: the method is to run again, and explanations have no origin or several, or their
            texts have other tokens.
    """

    classifier: Classifier
    explanations: tuple[Explanation, ...]
    scores: tuple[FloatArray, ...]
    keys: tuple[str, ...]
    seed: int
    metric: str
    notes: Counter[str] = field(default_factory=Counter)
    falls: dict[int, Falls] = field(default_factory=dict)
    unit: Unit = "token"

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, classifier: Classifier, places: Sequence[int]) -> MetricBatch:
        """Return some of the explanations, for another classifier, with falls of their own."""
        return replace(
            self,
            classifier=classifier,
            explanations=tuple(self.explanations[place] for place in places),
            scores=tuple(self.scores[place] for place in places),
            keys=tuple(self.keys[place] for place in places),
            falls={},
        )

    @cached_property
    def token_ids(self) -> tuple[IntArray, ...]:
        """(t,) ids of each text, special tokens included."""
        return tuple(e.token_ids for e in self.explanations if e.token_ids is not None)

    @cached_property
    def units(self) -> tuple[Units, ...]:
        """The units of each text."""
        return tuple(e.units(self.unit) for e in self.explanations)

    @cached_property
    def content_masks(self) -> tuple[BoolArray, ...]:
        """(u,) True for units that count, for each text."""
        pairs = zip(self.explanations, self.units, strict=True)
        return tuple(locked(e.content_mask[units.first]) for e, units in pairs)

    def left(self, index: int, stays: BoolArray) -> list[IntArray]:
        """Return the token ids of a text that keeps the units under each of (k, u) masks."""
        masks: BoolArray = self.units[index].on_tokens(stays)
        ids = self.token_ids[index]
        return [ids[mask] for mask in masks]

    @cached_property
    def targets(self) -> IntArray:
        """(n,) explained class indices."""
        return locked(np.array([e.target for e in self.explanations], dtype=np.int64))

    def generator(self, index: int, *more: str | int) -> np.random.Generator:
        """Return the random generator of one text; the same whatever it is batched with.

        Args:
            index: the text.
            more: which of several generators of the text, such as the number of a draw.
        """
        return generator(self.seed, "evaluate", self.metric, self.keys[index], *more)

    @cached_property
    def rows(self) -> tuple[torch.Tensor, ...]:
        """(t, h) input embeddings of each text."""
        return tuple(self.classifier.embed(ids) for ids in self.token_ids)

    @cached_property
    def word_rows(self) -> tuple[torch.Tensor, ...]:
        """(t, h) embeddings of each text without token types, which mark the texts of a pair."""
        pairs = zip(self.rows, self.token_ids, strict=True)
        return tuple(self.classifier.without_types(rows, ids) for rows, ids in pairs)

    def target_probabilities(
        self, sequences: Sequence[Sequence[int] | IntArray], owners: Sequence[int] | IntArray
    ) -> FloatArray:
        """Return (m,) the probability of a target for each of m token-id sequences.

        Args:
            sequences: token ids.
            owners: index of the text that each sequence was made from, whose target is meant.
        """
        return self.target_outputs(sequences, owners)[0]

    def target_outputs(
        self, sequences: Sequence[Sequence[int] | IntArray], owners: Sequence[int] | IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (m,) probability and log odds; see :meth:`target_probabilities`."""
        targets = self.targets[np.asarray(owners, dtype=np.int64)]
        return self.classifier.outputs(sequences).of_targets(targets)

    def target_contrasts(
        self, sequences: Sequence[Sequence[int] | IntArray], owners: Sequence[int] | IntArray
    ) -> FloatArray:
        """Return (m,) the target's logit less the mean of the others', by owners as above."""
        targets = self.targets[np.asarray(owners, dtype=np.int64)]
        exclusive = self.classifier.classes_are_exclusive
        return self.classifier.outputs(sequences).contrasts(targets, exclusive=exclusive)

    def falls_of_sets(
        self, sets: Sequence[BoolArray | Sequence[BoolArray]], *, keep: bool
    ) -> list[Falls]:
        """Return the falls of each text when the units of its (u,) sets go, or alone stay."""
        sequences = list(self.token_ids)
        owners = list(range(len(self)))
        sizes: list[IntArray] = []
        for index, text_sets in enumerate(sets):
            mask = self.content_masks[index]
            is_taken = np.array(text_sets, dtype=bool).reshape(len(text_sets), len(mask))
            sequences += self.left(index, is_taken | ~mask if keep else ~is_taken)
            owners += [index] * len(text_sets)
            sizes.append(is_taken.sum(axis=1, dtype=np.int64))
        probability, log_odds = self.target_outputs(sequences, owners)
        falls = []
        start = len(self)
        for index, set_sizes in enumerate(sizes):
            steps = slice(start, start := start + len(set_sizes))
            falls.append(
                Falls(
                    set_sizes,
                    probability[index] - probability[steps],
                    log_odds[index] - log_odds[steps],
                )
            )
        return falls

    def attributions(
        self, rows: Sequence[torch.Tensor], owners: IntArray
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return raw (t,) attributions of every text of the batch, and of moved copies of texts.

        Random draws and adaptive choices are those of the text, so that differences come from the
        move alone.

        Args:
            rows: (t, h) embeddings of each copy.
            owners: (m,) index of the text that each copy was made from.
        """
        originals: list[FloatArray] = [e.scores for e in self.explanations]
        facts = self.explainer.facts
        owners = np.asarray(owners, dtype=np.int64)
        if facts.model_free:  # it sees neither the model nor what was moved
            return originals, [originals[owner] for owner in owners]
        # An adaptive method needs the text beside its copies to follow its choices.
        led = np.arange(len(self)) if facts.adaptive else np.zeros(0, dtype=np.int64)
        texts = np.concatenate([led, owners])
        explained = self._explained(
            self.classifier,
            texts,
            self.targets[texts],
            rows=[*(self.rows[i] for i in led), *rows],
            leaders=texts if facts.adaptive else None,
        )
        return explained[: len(led)] or originals, explained[len(led) :]

    def explained_by(self, classifier: Classifier) -> list[FloatArray]:
        """Return raw (t,) attributions by a classifier of the same tokens, with the same draws."""
        if self.explainer.facts.model_free:
            return [e.scores for e in self.explanations]
        return self._explained(classifier, np.arange(len(self)), self.targets)

    def of_class(self, target: int) -> MetricBatch:
        """Return each text explained for one class of the model, with the draws of the text.

        Explanations of that class that were given stay as they are.
        """
        others = np.flatnonzero(self.targets != target)
        raw = [e.scores for e in self.explanations]
        scores_of = self._explained(self.classifier, others, np.full(len(others), target))
        for text, scores in zip(others, scores_of, strict=True):
            raw[text] = scores
        name = self.classifier.class_names[target]
        explanations = [
            guarded(replace(e, target=target, target_name=name, scores=scores))
            for e, scores in zip(self.explanations, raw, strict=True)
        ]
        shares = [locked(normalised(e, e.units(self.unit), "sequence")) for e in explanations]
        return replace(self, explanations=tuple(explanations), scores=tuple(shares), falls={})

    def _explained(
        self,
        classifier: Classifier,
        texts: IntArray,
        targets: IntArray,
        *,
        rows: Sequence[torch.Tensor] | None = None,
        leaders: IntArray | None = None,
    ) -> list[FloatArray]:
        """Return raw (t,) attributions of some texts, by index, with the draws of each."""
        from exparity.methods import attribute

        encodings = [self._encodings[text] for text in texts]
        origins = [self._origins[text] for text in texts]
        return attribute(classifier, encodings, targets, origins, rows=rows, leaders=leaders)

    @property
    def explainer(self) -> Entry[MethodFacts]:
        """The method that made the explanations.

        Raises:
            InputError: an explanation does not say what made it, or cannot be made again.
        """
        from exparity.methods import METHODS

        entry = METHODS.get(self._origins[0].method)
        if not entry.facts.repeatable:
            raise InputError(
                f"metric {self.metric}: runs the method again, and '{entry.id}' cannot explain "
                "other texts than it has scores of; leave the metric out for it"
            )
        return entry

    @cached_property
    def _encodings(self) -> list[Encoding]:
        texts = [e.written or e.pair or e.text for e in self.explanations]
        encodings = self.classifier.encode(texts)
        for place, (encoding, ids) in enumerate(zip(encodings, self.token_ids, strict=True)):
            if not np.array_equal(encoding.token_ids, ids):
                raise InputError(
                    f"explanation of {self.explanations[place].text!r}: its token_ids are not "
                    "those that this model's tokenizer gives to the text; explain it again with "
                    "this model"
                )
        return encodings

    @cached_property
    def _origins(self) -> list[Origin]:
        origins = []
        for explanation in self.explanations:
            if explanation.origin is None:
                raise InputError(
                    f"explanation of {explanation.text!r}: metric {self.metric} runs the method "
                    "again, so the explanation must come from exparity.explain"
                )
            origins.append(explanation.origin)
        first = origins[0]
        for origin in origins:
            if replace(origin, key=first.key) != first:
                raise InputError(
                    f"metric {self.metric}: explanations of several methods or options; evaluate "
                    "those of each on their own"
                )
        return origins


def normalised(explanation: Explanation, units: Units, over: str) -> FloatArray:
    """Return the (u,) attributions of units, divided by their norm over a part of the text."""
    counted = explanation.content_mask if over == "content" else explanation.sequence_mask
    return l1_normalised(units.summed(explanation.scores), counted[units.first])
