"""Quality metrics: the registry, and :func:`evaluate`, which scores explanations with one.

A metric that needs attributions alone is a function of padded arrays,
``f(scores, content_mask, *, options) -> (n,)``. One that compares with a rationale, or with the
words that a counterfactual changes, receives words instead of tokens, ``f(scores, rationale,
word_mask, *, options) -> (n,)``. One of what explanations tell a reader receives the words that
they name, ``f(messages, *, options) -> (n,)``. One that runs the model, or the explanation method
again, is a function of a :class:`MetricBatch`, ``f(batch, *, options) -> (n,)``. All are registered
with :func:`metric` in a module of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exparity.core.calls import Several, Use, checked, listed, unmasked, uses_of
from exparity.core.errors import ExparityError, InputError, shown
from exparity.core.flags import Seed
from exparity.core.progress import Progress
from exparity.core.registry import Entry, Registered, Registry
from exparity.core.seeding import without_global_draws
from exparity.core.undisturbed import undisturbed
from exparity.core.validation import Settings, complete, options_of
from exparity.explanations import Explanation
from exparity.explanations import units as _units
from exparity.explanations.units import Unit, Units, unit_options
from exparity.metrics import _arrays
from exparity.metrics._arrays import Attribution as Attribution
from exparity.metrics._arrays import mean_length as mean_length
from exparity.metrics._arrays import pad
from exparity.metrics._arrays import word_arrays as word_arrays
from exparity.metrics._messages import Cohort as Cohort
from exparity.metrics._messages import Messages as Messages
from exparity.metrics._messages import message_options as message_options
from exparity.metrics._messages import messages_of
from exparity.metrics.batch import MetricBatch as MetricBatch
from exparity.metrics.batch import normalised
from exparity.metrics.facts import MetricFacts
from exparity.metrics.foresight import Foresight, design_of
from exparity.metrics.foresight import foresights as foresights_of
from exparity.types import Falls, FloatArray, first_stray, guarded, locked

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

METRICS: Registry[MetricFacts] = Registry(
    "metric", "exparity.metrics", MetricFacts, lambda entry: metric_options(entry)
)
MARKS: Mapping[str, str] = {"rationale": "rationale", "counterfactual": "changed_words"}
"""Field of an explanation that each kind of word metric reads."""
Rationales = Sequence[Sequence[int] | None] | None
"""For each text a 0 or 1 per word, or None where unknown."""
SHARED_SOURCES = (Path(_arrays.__file__), Path(_units.__file__))
"""Source files of the inputs of all metrics."""


def metric(metric_id: str, **facts: object) -> Callable[[Registered], Registered]:
    """Register a metric under an id with its :class:`~exparity.metrics.facts.MetricFacts`."""
    return METRICS.register(metric_id, **facts)


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
    takes_raw_scores = facts.needs in ("explainer", "foresight")
    shared: list[Callable[..., None]] = [] if takes_raw_scores else [token_options]
    shared = [word_options] if facts.needs in MARKS else shared
    shared = [message_options] if facts.needs == "messages" else shared
    defaults: dict[str, str] = {"normalise_over": facts.normalise_over}
    if facts.per is not None:
        shared = [*shared, unit_options]
        defaults |= {"unit": facts.per}
    return options_of(*shared, entry.function, **defaults)


@checked
def evaluate(
    classifier: Classifier | None,
    explanations: Sequence[Explanation],
    metric: str,
    seed: Seed = 0,
    *,
    rationales: Rationales = None,
    **params: object,
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
        (n,) float64, one value per explanation, in the unit and range of the metric, which
        ``exparity list metrics`` shows with its source; NaN where it is undefined.

    Raises:
        InputError: unknown metric or option, or an explanation, rationale or classifier that the
            metric cannot work with.

    Examples:
        >>> import exparity
        >>> text, tokens = "a good film", ["a", "good", "film"]
        >>> focused = exparity.Explanation(text, target=1, tokens=tokens, scores=[0, 1, 0])
        >>> even = exparity.Explanation(text, target=1, tokens=tokens, scores=[1, 1, 1])
        >>> exparity.evaluate(None, [focused, even], "gini").round(2).tolist()
        [0.67, 0.0]
    """
    metrics = {metric: params}
    values = evaluate_many(classifier, {"": explanations}, metrics, seed, rationales=rationales)
    return values["", metric]


@checked
def evaluate_many(
    classifier: Classifier | None,
    explanations: Mapping[str, Sequence[Explanation]],
    metrics: Several,
    seed: Seed = 0,
    *,
    rationales: Rationales = None,
) -> dict[tuple[str, str], FloatArray]:
    """Score explanations of several methods with several metrics, as :func:`evaluate` does.

    Metrics are ids, or options by name, with ``use`` where the name is no id. What the model says
    of a text, or of a part of it that several methods or thresholds remove or keep, is computed
    once. Returns (n,) values by (name of the explanations, metric).
    """
    if not isinstance(explanations, Mapping):
        raise InputError(f"explanations must be lists by name, not {shown(explanations)}")
    uses = checked_metrics(metrics)
    if classifier is not None:
        from exparity.engine.preflight import check_classifier

        check_classifier(classifier)
    marks = None if rationales is None else listed(rationales, "rationales", "marks, one per text")
    values = {}
    with ExitStack() as stack:
        stack.enter_context(undisturbed(None if classifier is None else classifier.lock))
        if classifier is not None:
            stack.enter_context(classifier.remembering())
        prepared = {
            name: _prepared(classifier, explained, marks)
            for name, explained in explanations.items()
        }
        pairs = list(product(prepared, uses))
        progress = stack.enter_context(Progress(len(pairs), "scoring", "scores"))
        for name, metric in pairs:
            progress.name(f"scoring {name} by {metric}".replace("  ", " "))
            scored = prepared[name]
            use = uses[metric]
            field = MARKS.get(METRICS.get(use.registered).facts.needs)
            if field and scored and all(getattr(e, field) is None for e in scored):
                raise InputError(
                    f"metric {metric}: no explanation has `{field}`, a 0 or 1 for each word of its "
                    f"text; give `{field.removesuffix('s')}s`"
                )
            keys = [e.text for e in scored]
            values[name, metric] = evaluate_keyed(
                classifier, scored, keys, use.registered, seed, use.options
            )
            progress.advance()
    return values


def checked_metrics(metrics: Several) -> dict[str, Use]:
    """Return the metrics that a caller asks for, by name; misspelt ones end it before any time."""
    uses = uses_of(metrics, "metrics")
    for use in uses.values():
        entry = METRICS.get(use.registered)
        complete(metric_options(entry), use.options, f"metric {use.registered}")
    return uses


def _prepared(
    classifier: Classifier | None, explanations: object, rationales: Rationales
) -> list[Explanation]:
    """Return explanations with special tokens, by the tokenizer, and with their rationales."""
    prepared = listed(explanations, "explanations", "explanations")
    for value in prepared:
        if not isinstance(value, Explanation):
            raise InputError(f"explanations must be of exparity.Explanation, not {shown(value)}")
    if classifier is not None:
        from exparity.engine.preflight import with_special_tokens

        prepared = [with_special_tokens(classifier, explanation) for explanation in prepared]
    if rationales is None:
        return prepared
    if len(rationales) != len(prepared):
        raise InputError(
            f"{len(rationales)} rationales for {len(prepared)} explanations; give one each"
        )
    return [replace(e, rationale=words) for e, words in zip(prepared, rationales, strict=True)]


def evaluate_keyed(
    classifier: Classifier | None,
    explanations: Sequence[Explanation],
    keys: Sequence[str],
    metric: str,
    seed: int,
    params: Mapping[str, object],
    notes: Counter[str] | None = None,
    falls: dict[int, Falls] | None = None,
    foresights: Sequence[Foresight] | None = None,
    cohort: Cohort | None = None,
) -> FloatArray:
    """Score explanations whose random draws are keyed by ``keys``; see :func:`evaluate`.

    ``notes`` receives the counts of the metric, and ``falls``, by the index of an explanation, the
    falls that its score averages. ``foresights`` of the texts are made if they are not given. Where
    no ``cohort`` is known, the explained classes are the predicted ones, and ``keys`` the sets.
    """
    entry = METRICS.get(metric)
    options = complete(metric_options(entry), params, f"metric {metric}")
    if not explanations:
        return np.zeros(0)
    _check_content(explanations)
    needs = entry.facts.needs
    if needs in MARKS:
        return _by_words(entry, options, explanations)
    if needs == "messages":
        return _by_messages(entry, options, explanations, keys, cohort)
    over = options.pop("normalise_over", "sequence")
    unit = options.pop("unit", "token")
    if needs == "foresight" and foresights is not None:
        return _foreseen(entry, options, explanations, foresights, unit)
    with_units = [(e, e.units(unit)) for e in explanations]
    scores = [normalised(e, units, over) for e, units in with_units]
    if needs == "attributions":
        masks = [e.content_mask[units.first] for e, units in with_units]
        return _values(entry, options, len(masks), locked(pad(scores)), locked(pad(masks)))
    model, explained = _checked_model(classifier, explanations, entry)
    batch = MetricBatch(
        model,
        tuple(map(guarded, explained)),
        tuple(map(locked, scores)),
        tuple(keys),
        seed,
        metric,
        notes=Counter() if notes is None else notes,
        unit=unit,
    )
    if needs == "foresight":
        computed = foresights_of(batch, design_of({**options, "unit": unit}))
        return _foreseen(entry, options, batch.explanations, computed, unit)
    return _by_model(entry, options, model, batch, falls)


def _check_content(explanations: Sequence[Explanation]) -> None:
    """Refuse explanations of special tokens alone."""
    for explanation in explanations:
        if not explanation.content_mask.any():
            raise InputError(f"explanation of {explanation.text!r}: all tokens are special")


def _by_words(
    entry: Entry[MetricFacts], options: dict[str, Any], explanations: Sequence[Explanation]
) -> FloatArray:
    """Score explanations by how far they mark the words of a rationale, or those that change."""
    if entry.facts.needs == "counterfactual":
        explanations = [replace(e, rationale=e.changed_words) for e in explanations]
    arrays = word_arrays(explanations, options.pop("attribution"))
    return _values(entry, options, len(explanations), *map(locked, arrays))


def _by_messages(
    entry: Entry[MetricFacts],
    options: dict[str, Any],
    explanations: Sequence[Explanation],
    keys: Sequence[str],
    cohort: Cohort | None,
) -> FloatArray:
    """Score explanations by the words that they name, of all texts together; NaN of others."""
    size = len(explanations)
    if cohort is None:
        cohort = Cohort([e.target for e in explanations], keys, [""] * size)
    places, messages = messages_of(explanations, keys, cohort, options.pop("share"))
    values = np.full(size, np.nan)
    values[places] = _values(entry, options, len(places), messages)
    return values


def _by_model(
    entry: Entry[MetricFacts],
    options: Mapping[str, object],
    model: Classifier,
    batch: MetricBatch,
    falls: dict[int, Falls] | None,
) -> FloatArray:
    """Score explanations by a metric that runs the model; ``falls`` receives what it averages."""

    def run(chosen: Classifier, places: list[int]) -> FloatArray:
        part = batch.part(chosen, places)
        values = _values(entry, options, len(part), part)
        if entry.facts.keeps_falls:
            if not {*np.flatnonzero(np.isfinite(values)).tolist()} <= part.falls.keys():
                raise ExparityError(
                    f"metric {entry.id}: says skill={entry.facts.skill}, and keeps no falls of a "
                    "text with a score"
                )
            if falls is not None:
                falls.update({places[index]: fall for index, fall in part.falls.items()})
        return values

    return np.array(model.run_by_precision(batch.token_ids, run))


def _foreseen(
    entry: Entry[MetricFacts],
    options: Mapping[str, object],
    explanations: Sequence[Explanation],
    foresights: Sequence[Foresight],
    unit: Unit,
) -> FloatArray:
    """Score explanations by what their texts' classifier does, with raw scores of units."""
    scores = []
    units_by_words: dict[int, Units] = {}  # random draws of a text have one array of word ids
    for explanation in explanations:
        tokens = id(explanation.word_ids)
        if tokens not in units_by_words:
            units_by_words[tokens] = explanation.units(unit)
        units = units_by_words[tokens]
        content = explanation.content_mask[units.first]
        scores.append(locked(units.summed(explanation.scores)[content]))
    return _values(entry, options, len(explanations), scores, foresights)


def _values(
    entry: Entry[MetricFacts], options: Mapping[str, object], size: int, *inputs: object
) -> FloatArray:
    """Run a metric and validate its result."""
    with entry.running(), without_global_draws(f"metric {entry.id}"):
        values = unmasked(entry.function(*inputs, **options))
    if values.shape != (size,) or values.dtype.kind not in "biuf":
        raise ExparityError(
            f"metric {entry.id}: must return one value per explanation, a number: an array of the "
            f"shape {(size,)}, not {values.dtype} of the shape {values.shape}"
        )
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
        check_function,
        check_targets,
        check_token_ids,
        in_own_ids,
    )

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
