"""Quality metrics: the registry, and :func:`evaluate`, which scores explanations with one.

A metric that needs attributions alone is a function of padded arrays,
``f(scores, content_mask, *, options) -> (n,)``. One that compares with a rationale is given words
instead of tokens, ``f(scores, rationale, word_mask, *, options) -> (n,)``; so is one that looks at
the words that a counterfactual changes. One that runs the model, or the explanation method again,
is a function of a :class:`MetricBatch`, ``f(batch, *, options) -> (n,)``. All are registered with
:func:`metric` in a module of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from exparity.core.calls import (
    Several,
    checked,
    listed,
    options_of_ids,
    shown,
)
from exparity.core.errors import ExparityError, InputError
from exparity.core.progress import Progress
from exparity.core.registry import Entry, Registry
from exparity.core.seeding import generator
from exparity.core.validation import Settings, complete, options_of
from exparity.explanations import Explanation
from exparity.explanations import units as _units
from exparity.explanations.units import Unit, Units, unit_options
from exparity.metrics import _arrays
from exparity.metrics._arrays import Attribution as Attribution
from exparity.metrics._arrays import l1_normalised, pad
from exparity.metrics._arrays import mean_length as mean_length
from exparity.metrics._arrays import word_arrays as word_arrays
from exparity.metrics.facts import MetricFacts
from exparity.types import (
    BoolArray,
    Encoding,
    Falls,
    FloatArray,
    IntArray,
    Origin,
    first_stray,
    guarded,
    locked,
)

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier
    from exparity.engine.objectives import Objective
    from exparity.methods.facts import MethodFacts

METRICS: Registry[MetricFacts] = Registry(
    "metric", "exparity.metrics", MetricFacts, lambda entry: metric_options(entry)
)
MARKS: Mapping[str, str] = {"rationale": "rationale", "counterfactual": "changed_words"}
"""What marks words, by what metrics of words need, and where an explanation has it."""
Rationales = Sequence[Sequence[int] | None] | None
"""For each text a 0 or 1 per word, or None where unknown."""
SHARED_SOURCES = (Path(_arrays.__file__), Path(_units.__file__))
"""Source files that make what metrics are given."""


_UNMARKED = {
    "rationale": "compares with rationales, and no explanation has one; give `rationales`",
    "counterfactual": "measures attribution on words that counterfactuals change, and no "
    "explanation says which; give each its `changed_words`",
}


def metric(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a metric under ``id`` with its :class:`~exparity.metrics.facts.MetricFacts`."""
    return METRICS.register(id, **facts)


@dataclass(frozen=True)
class MetricBatch:
    """Explanations to score with a metric that runs the model; arrays cannot be written to.

    Attributes:
        classifier: the model, behind the engine.
        explanations: as they were given, with raw attributions.
        scores: (u,) normalised attributions of the units of each text: of its tokens, unless the
            metric has the option ``unit``.
        keys: identity of each text, for random draws.
        seed: the run's seed.
        metric: id of the metric.
        notes: what the metric counts beside its values, such as ``censored``; it may add to it.
        falls: by index of the text, what the metric's score is a mean of; metrics whose ``skill``
            is in falls add those of every text that has a score.
        unit: what counts as one.
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

    def left(self, index: int, stays: BoolArray) -> IntArray:
        """Return the token ids of a text of which the units under a (u,) mask stay."""
        mask: BoolArray = self.units[index].on_tokens(stays)
        return self.token_ids[index][mask]

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
        """(t, h) embeddings of each text without what tells the texts of a pair apart."""
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

    def attributions(
        self, rows: Sequence[torch.Tensor], owners: IntArray
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return raw (t,) attributions of every text of the batch, and of moved copies of texts.

        Random draws and adaptive choices are those of the text, so that differences come from the
        move alone.

        Args:
            rows: (t, h) embeddings of each copy.
            owners: (m,) index of the text that each copy was made from.

        Raises:
            InputError: an explanation does not say what made it, or its text gives other tokens.
        """
        from exparity.methods import attribute

        originals: list[FloatArray] = [e.scores for e in self.explanations]
        encodings, origins = self._encodings, self._origins
        entry = self.explainer
        owners = np.asarray(owners, dtype=np.int64)
        if entry.facts.model_free:  # it sees neither the model nor what was moved
            return originals, [originals[owner] for owner in owners]
        # An adaptive method needs the text beside its copies to follow its choices.
        led = np.arange(len(self)) if entry.facts.adaptive else np.zeros(0, dtype=np.int64)
        items = np.concatenate([led, owners])
        explained = attribute(
            self.classifier,
            [encodings[i] for i in items],
            self.targets[items],
            [origins[i] for i in items],
            rows=[*(self.rows[i] for i in led), *rows],
            leaders=items if entry.facts.adaptive else None,
        )
        return explained[: len(led)] or originals, explained[len(led) :]

    def explained_by(self, classifier: Classifier) -> list[FloatArray]:
        """Return raw (t,) attributions of every text for another classifier of the same tokens.

        Random draws are those of the text.

        Raises:
            InputError: an explanation does not say what made it, or its text gives other tokens.
        """
        from exparity.methods import attribute

        if self.explainer.facts.model_free:
            return [e.scores for e in self.explanations]
        return attribute(classifier, self._encodings, self.targets, self._origins)

    def of_classes(self) -> MetricBatch:
        """Return each text explained for each class of the model, text by text.

        Explanations that were given stay as they are; the method makes the others, with the draws
        of the text.

        Raises:
            InputError: an explanation does not say what made it, or its text gives other tokens.
        """
        from exparity.methods import attribute

        n_classes = self.classifier.n_classes
        texts, targets = np.divmod(np.arange(len(self) * n_classes), n_classes)
        others = targets != self.targets[texts]
        made = attribute(
            self.classifier,
            [self._encodings[text] for text in texts[others]],
            targets[others],
            [self._origins[text] for text in texts[others]],
        )
        raw = [self.explanations[text].scores for text in texts]
        for item, scores in zip(np.flatnonzero(others), made, strict=True):
            raw[item] = scores
        explanations = [
            guarded(
                replace(
                    self.explanations[text],
                    target=int(target),
                    target_name=self.classifier.class_names[target],
                    scores=scores,
                )
            )
            for text, target, scores in zip(texts, targets, raw, strict=True)
        ]
        normalised = tuple(
            locked(_normalised(e, e.units(self.unit), "sequence")) for e in explanations
        )
        keys = tuple(self.keys[text] for text in texts)
        return replace(self, explanations=tuple(explanations), scores=normalised, keys=keys)

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
    def objective(self) -> Objective:
        """The function of the logits that the explanations are of, by methods of logits."""
        return self.classifier.objective(self._origins[0].params.get("explains", "auto"))

    @cached_property
    def _encodings(self) -> list[Encoding]:
        encodings = self.classifier.encode(
            [e.written or e.pair or e.text for e in self.explanations]
        )
        for encoding, ids, explanation in zip(
            encodings, self.token_ids, self.explanations, strict=True
        ):
            if not np.array_equal(encoding.token_ids, ids):
                raise InputError(
                    f"explanation of {explanation.text!r}: its token_ids are not those that this "
                    "model's tokenizer gives to the text; explain it again with this model"
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


def token_options(*, normalise_over: Literal["sequence", "content"] = "sequence") -> None:
    """Options that every metric of normalised attributions has.

    Args:
        normalise_over: tokens that the norm runs over: all of the ``sequence`` but those of a
            prompt, as the ferret library does, or ``content``, which leaves special tokens out.
    """


def word_options(*, attribution: Attribution = "absolute") -> None:
    """Options that every metric of words has.

    Args:
        attribution: part of a score that counts: its size (``absolute``, as GECOBench does), or its
            ``positive`` part, evidence for the target alone (as the ferret library does).
    """


def metric_options(entry: Entry[MetricFacts]) -> type[Settings]:
    """Return all options of a metric: its own, and those that all of its kind share."""
    facts = entry.facts
    shared: list[Any] = [token_options] if facts.needs != "explainer" else []  # of raw attributions
    shared = [word_options] if facts.needs in MARKS else shared
    defaults: dict[str, Any] = {"normalise_over": facts.normalise_over}
    if facts.per is not None:
        shared, defaults = [*shared, unit_options], {**defaults, "unit": facts.per}
    return options_of(*shared, entry.function, **defaults)


@checked
def evaluate(
    classifier: Classifier | None,
    explanations: Sequence[Explanation],
    metric: str,
    seed: int = 0,
    *,
    rationales: Rationales = None,
    **params: Any,
) -> FloatArray:
    """Score explanations with a metric.

    Args:
        classifier: the explained model; None for metrics that do not run it.
        explanations: from :func:`exparity.explain` or built by hand.
        metric: registered id, such as ``comprehensiveness``; :func:`evaluate_many` takes several.
        seed: seed of metrics that draw random numbers.
        rationales: for each explanation a 0 or 1 per word of its text, or None where unknown, for
            metrics that compare with them; those of the explanations if None.
        **params: the options of the metric and those of its kind. ``normalise_over``: ``sequence``
            divides by the L1 norm over all tokens, ``content`` leaves special tokens out, as
            ``sparsity`` does by default. With a rationale, ``attribution``: ``absolute`` values of
            tokens count, or their ``positive`` part. ``unit``: see
            :func:`exparity.explanations.units.unit_options`.

    Returns:
        (n,) float64, one value per explanation; NaN where the metric is undefined.

    Raises:
        InputError: unknown metric or option, or an explanation, rationale or classifier that the
            metric cannot work with.
    """
    metrics = {metric: params}
    values = evaluate_many(classifier, {"": explanations}, metrics, seed, rationales=rationales)
    return values["", metric]


@checked
def evaluate_many(
    classifier: Classifier | None,
    explanations: Mapping[str, Sequence[Explanation]],
    metrics: Several,
    seed: int = 0,
    *,
    rationales: Rationales = None,
) -> dict[tuple[str, str], FloatArray]:
    """Score explanations of several methods with several metrics, as :func:`evaluate` does.

    Metrics are ids, or options by id. What the model says of a text, or of a part of it that
    several methods or thresholds remove or keep, is computed once. Returns (n,) values by (name of
    the explanations, metric).
    """
    if not isinstance(explanations, Mapping):
        raise InputError(f"explanations must be lists by name, not {shown(explanations)}")
    options = options_of_ids(metrics, "metrics")
    for id in options:
        METRICS.get(id)  # a misspelt one before others have taken their time
    if classifier is not None:
        from exparity.engine.preflight import check_classifier

        check_classifier(classifier)
    settled = {name: _settled(classifier, of, rationales) for name, of in explanations.items()}
    pairs = [(name, id) for name in settled for id in options]
    values = {}
    remembering = nullcontext() if classifier is None else classifier.remembering()
    with remembering, Progress(len(pairs), "scoring", "values") as progress:
        for name, id in pairs:
            values[name, id] = _scored(classifier, settled[name], id, seed, options[id])
            progress.advance()
    return values


def _settled(
    classifier: Classifier | None, explanations: Any, rationales: Rationales
) -> list[Explanation]:
    """Return explanations with what the tokenizer tells of them, and with their rationales."""
    settled = listed(explanations, "explanations", "explanations")
    for value in settled:
        if not isinstance(value, Explanation):
            raise InputError(f"explanations must be of exparity.Explanation, not {shown(value)}")
    if classifier is not None:
        from exparity.engine.preflight import with_special_tokens

        settled = [with_special_tokens(classifier, explanation) for explanation in settled]
    if rationales is None:
        return settled
    marks = listed(rationales, "rationales", "marks, those of each explanation")
    if len(marks) != len(settled):
        raise InputError(f"{len(marks)} rationales for {len(settled)} explanations; give one each")
    return [
        replace(explanation, rationale=rationale)
        for explanation, rationale in zip(settled, marks, strict=True)
    ]


def _scored(
    classifier: Classifier | None,
    explanations: list[Explanation],
    metric: str,
    seed: int,
    params: dict[str, Any],
) -> FloatArray:
    """Score explanations with a metric, held to having the marks of words that it compares with."""
    needs = METRICS.get(metric).facts.needs
    marks = [getattr(e, MARKS[needs]) for e in explanations] if needs in MARKS else [()]
    if marks and all(one is None for one in marks):
        raise InputError(
            f"metric {metric}: {_UNMARKED[needs]}, a 0 or 1 for each word of each text"
        )
    return evaluate_keyed(
        classifier, explanations, [e.text for e in explanations], metric, seed, params
    )


def evaluate_keyed(
    classifier: Classifier | None,
    explanations: Sequence[Explanation],
    keys: Sequence[str],
    metric: str,
    seed: int,
    params: dict[str, Any],
    notes: Counter[str] | None = None,
    falls: dict[int, Falls] | None = None,
) -> FloatArray:
    """Score explanations whose random draws are keyed by ``keys``; see :func:`evaluate`.

    ``notes`` receives what the metric counts beside its values, and ``falls``, by the index of an
    explanation, what its score is a mean of.
    """
    entry = METRICS.get(metric)
    options = complete(metric_options(entry), params, f"metric {metric}")
    if not explanations:
        return np.zeros(0)
    for explanation in explanations:
        if not explanation.content_mask.any():
            raise InputError(f"explanation of {explanation.text!r}: all tokens are special")
    inputs: tuple[Any, ...]
    if entry.facts.needs in MARKS:
        if entry.facts.needs == "counterfactual":
            explanations = [replace(e, rationale=e.changed_words) for e in explanations]
        inputs = tuple(map(locked, word_arrays(explanations, options.pop("attribution"))))
    else:
        over, unit = options.pop("normalise_over", "sequence"), options.pop("unit", "token")
        units = [e.units(unit) for e in explanations]
        scores = [_normalised(e, own, over) for e, own in zip(explanations, units, strict=True)]
        if entry.facts.needs == "attributions":
            masks = [e.content_mask[own.first] for e, own in zip(explanations, units, strict=True)]
            inputs = (locked(pad(scores)), locked(pad(masks)))
        else:
            model, explanations = _checked_model(classifier, explanations, entry)

            def run(chosen: Classifier, places: list[int]) -> FloatArray:
                own: dict[int, Falls] = {}
                values = evaluate_keyed(
                    chosen,
                    [explanations[place] for place in places],
                    [keys[place] for place in places],
                    *(metric, seed, params, notes, own),
                )
                if falls is not None:
                    falls.update({places[index]: each for index, each in own.items()})
                return values

            apart = model.split([e.token_ids for e in explanations if e.token_ids is not None], run)
            if apart is not None:
                return np.array(apart)
            explained, normalised = tuple(map(guarded, explanations)), tuple(map(locked, scores))
            inputs = (
                MetricBatch(model, explained, normalised, tuple(keys), seed, metric, unit=unit),
            )
    with entry.running():
        values = np.asarray(entry.function(*inputs, **options))
    values = _as_declared(entry, values, len(explanations), options)
    if isinstance(inputs[0], MetricBatch):
        if notes is not None:
            notes.update(inputs[0].notes)
        if entry.facts.keeps_falls:
            kept = inputs[0].falls
            if not set(np.flatnonzero(np.isfinite(values)).tolist()) <= kept.keys():
                raise ExparityError(
                    f"metric {entry.id}: says skill={entry.facts.skill}, and keeps no falls of a "
                    "text with a score"
                )
            if falls is not None:
                falls.update(kept)
    return values


def _normalised(explanation: Explanation, units: Units, over: str) -> FloatArray:
    """Return the (u,) attributions of units, divided by their norm over a part of the text."""
    counted = explanation.content_mask if over == "content" else explanation.sequence_mask
    return l1_normalised(units.summed(explanation.scores), counted[units.first])


def _as_declared(
    entry: Entry[MetricFacts], values: NDArray[Any], size: int, options: Mapping[str, Any]
) -> FloatArray:
    """Hold what a metric returned to what it declares."""
    if values.shape != (size,) or values.dtype.kind not in "biuf":
        raise ExparityError(f"metric {entry.id}: must return one value per explanation, a number")
    values = values.astype(np.float64)
    bounds = low, high = entry.facts.bounds_with(options)
    stray = first_stray(values, bounds)
    if stray is not None:
        raise ExparityError(
            f"metric {entry.id}: gives {values[stray]:.9g}, and says bounds=({low:g}, {high:g}); "
            "undefined values are NaN"
        )
    return values


def _checked_model(
    classifier: Classifier | None, explanations: Sequence[Explanation], entry: Entry[MetricFacts]
) -> tuple[Classifier, Sequence[Explanation]]:
    """Return the classifier that a metric runs, and explanations in its token ids; checks both."""
    if classifier is None:
        raise InputError(f"metric {entry.id}: runs the model, so it needs a classifier")
    from exparity.engine.preflight import (
        check_asks_only,
        check_classifier,
        check_function,
        check_targets,
        check_token_ids,
        in_own_ids,
    )

    check_classifier(classifier)
    check_asks_only(classifier, entry, METRICS)
    explanations = in_own_ids(classifier, explanations)
    for explanation in explanations:
        if explanation.token_ids is None:
            raise InputError(
                f"explanation of {explanation.text!r}: metric {entry.id} runs the model, so it "
                "needs token_ids; exparity.Explanation.from_words and from_tokens find them"
            )
        check_token_ids(classifier, explanation)
    ids = [e.token_ids for e in explanations if e.token_ids is not None]
    check_function(classifier, ids, [e.pair or e.text for e in explanations], ids_are_given=True)
    check_targets(np.array([e.target for e in explanations]), classifier.n_classes)
    return classifier, explanations
