"""Explanation methods: the registry, and :func:`explain`, which runs one on texts.

A method is a function from a :class:`MethodBatch` and its options to one score vector per text,
registered with :func:`method` in a module of its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exparity.core.calls import (
    Several,
    array_of,
    checked,
    listed,
    unmasked,
    uses_of,
)
from exparity.core.errors import ExparityError, InputError, shown
from exparity.core.flags import Seed
from exparity.core.progress import Progress
from exparity.core.registry import Entry, Registered, Registry
from exparity.core.seeding import without_global_draws
from exparity.core.undisturbed import undisturbed
from exparity.core.validation import Settings, complete, options_of
from exparity.engine.encoding import as_list
from exparity.explanations import Explanation
from exparity.explanations.named_words import Answer
from exparity.explanations.units import unit_options
from exparity.methods._words import Texts as Texts
from exparity.methods._words import Training as Training
from exparity.methods.batch import Explains as Explains
from exparity.methods.batch import MethodBatch as MethodBatch
from exparity.methods.facts import MethodFacts
from exparity.models.class_names import class_index
from exparity.types import Encoding, FloatArray, IntArray, Origin, Text, TextLike, guarded, locked

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)

Targets = int | str | Sequence[int | str] | IntArray | None
"""Classes to explain; see :func:`explain`."""
METHODS: Registry[MethodFacts] = Registry(
    "method", "exparity.methods", MethodFacts, lambda entry: method_options(entry)
)


def method(method_id: str, **facts: object) -> Callable[[Registered], Registered]:
    """Register an explanation method under ``method_id`` with its facts.

    See :class:`~exparity.methods.facts.MethodFacts`.
    """
    return METHODS.register(method_id, **facts)


def logit_options(*, explains: Explains = "auto") -> None:
    """Options that every method of logits has.

    Args:
        explains: function of the logits that is explained: the ``logit`` of the target; its
            ``log_odds``, the target's logit less the log of the sum of the others' exponentials; or
            ``{against: CLASS}``, the target's logit less that of one class, and log odds where that
            class is the target itself. ``auto`` is log odds for classes that are words of a
            language model, of whose logits only differences count, and the logit otherwise.
    """


def method_options(entry: Entry[MethodFacts]) -> type[Settings]:
    """Return all options of a method: its own, and those that all of its kind share."""
    shared: list[object] = [logit_options] if entry.facts.target == "logit" else []
    if entry.facts.per is None:
        return options_of(entry.function, *shared)
    return options_of(entry.function, *shared, unit_options, unit=entry.facts.per)


@checked
def explain(
    classifier: Classifier,
    texts: str | Text | Sequence[TextLike],
    targets: Targets = None,
    method: str = "gradient",
    seed: Seed = 0,
    *,
    training: tuple[Texts, Sequence[int] | IntArray] | None = None,
    **params: object,
) -> list[Explanation]:
    """Explain a classifier's output for texts.

    Args:
        classifier: from :func:`exparity.load_classifier`.
        texts: strings, which the model reads byte for byte, lists of words, which single blanks
            part, or :class:`exparity.Text`, for other words; a single string is one text. A tuple
            of two strings is a pair, such as premise and hypothesis; a list of two strings is two
            texts.
        targets: index or name of a class for each text, or of one for all; the predicted class if
            None or ``predicted``.
        method: registered id, such as ``integrated_gradients``; :func:`explain_many` takes several.
        seed: seed of methods that draw random numbers.
        training: texts that the classifier was trained on and their class indices, for methods that
            work with them (``pattern_variant``); others leave it alone.
        **params: the method's options; ``exparity list methods`` shows them.

    Returns:
        One explanation per text, in order; raw, signed float64 scores, special tokens included, in
        the unit of the method, which ``exparity list methods`` shows with its source.

    Raises:
        InputError: unknown method or option, an empty text, a target that is not a class, no
            training texts for a method that needs them or classes of theirs that the model lacks,
            or texts of words that the tokenizer does not know.

    Examples:
        >>> import exparity
        >>> def predict(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> classifier = exparity.load_classifier(predict, classes=["bad", "good"])
        >>> (explanation,) = exparity.explain(classifier, ["a good film"], "good", "occlusion")
        >>> explanation.scores.round(2).tolist()
        [0.0, 0.7, 0.0]
    """
    methods = {method: params}
    return explain_many(classifier, texts, targets, methods, seed, training=training)[method]


@checked
def explain_many(
    classifier: Classifier,
    texts: str | Text | Sequence[TextLike],
    targets: Targets,
    methods: Several,
    seed: Seed = 0,
    *,
    training: tuple[Texts, Sequence[int] | IntArray] | None = None,
    seconds: dict[str, float] | None = None,
) -> dict[str, list[Explanation]]:
    """Explain texts with several methods, as :func:`explain` does, and share what they can.

    Methods are ids, or options by name, with ``use`` where the name is no id: ``{"lime_500":
    {"use": "lime", "num_samples": 500}}``. One gradient serves ``gradient`` and
    ``gradient_x_input``, and one path of gradients both forms of integrated gradients. Returns
    explanations of every text, in order, by name; ``seconds`` receives the wall time of each.
    """
    from exparity.engine.preflight import check_classifier, check_texts

    check_classifier(classifier)
    uses = uses_of(methods, "methods")
    for use in uses.values():  # before any takes time
        entry = METHODS.get(use.registered)
        complete(method_options(entry), use.options, f"method {use.registered}")
    with undisturbed(classifier.lock):
        listed_texts = as_list(texts)
        encodings = classifier.encode(listed_texts)
        check_texts(classifier, listed_texts, encodings)
        classes = targets_of(classifier, encodings, targets)
        learnt = None if training is None else Training.of(training)
        memo: dict[object, object] = {}
        explanations = {}
        with Progress(len(uses), "explaining", "methods") as progress:
            for name, use in uses.items():
                progress.name(f"explaining by {name}")
                start = time.perf_counter()
                recipe = (use.registered, use.options, seed)
                origins = [Origin(*recipe, encoding.text) for encoding in encodings]
                explanations[name] = explain_encodings(
                    classifier, encodings, classes, origins, memo=memo, training=learnt
                )
                if seconds is not None:
                    seconds[name] = time.perf_counter() - start
                progress.advance()
    return explanations


def targets_of(classifier: Classifier, encodings: Sequence[Encoding], targets: Targets) -> IntArray:
    """Return the (n,) class index to explain of each text."""
    if asks_for_predicted(targets):
        probabilities = classifier.probabilities([e.token_ids for e in encodings])
        return np.asarray(probabilities.argmax(-1), dtype=np.int64)
    return class_indices(targets, classifier.class_names, len(encodings))


def asks_for_predicted(targets: Targets) -> bool:
    """Return whether targets are the predicted classes, whichever these are."""
    return targets is None or (isinstance(targets, str) and targets == "predicted")


def class_indices(targets: Targets, names: Sequence[str], n_texts: int) -> IntArray:
    """Return the (n,) index of each text's class, of one for all texts or one for each."""
    if isinstance(targets, str | int | np.integer):
        targets = [targets] * n_texts
    column: object = targets
    if hasattr(column, "tolist"):  # arrays, and columns of pandas
        column = column.tolist()
    classes = listed(column, "targets", "classes")
    indices = {}
    for name in dict.fromkeys(target for target in classes if isinstance(target, str)):
        hint = f" (a method goes as method='{name}')" if name in METHODS.ids() else ""
        indices[name] = class_index(name, names, f"target '{name}'{hint}")
    settled = array_of(int, [indices[t] if isinstance(t, str) else t for t in classes], "targets")
    if settled.shape != (n_texts,):
        raise InputError(f"{n_texts} texts but targets of shape {settled.shape}")
    return settled


def explain_encodings(
    classifier: Classifier,
    encodings: Sequence[Encoding],
    targets: IntArray,
    origins: Sequence[Origin],
    *,
    flags: set[str] | None = None,
    memo: dict[object, object] | None = None,
    training: Training | None = None,
) -> list[Explanation]:
    """Explain texts that are already encoded; ``flags`` receives what readers must know."""
    noticed: set[str] = set()
    answers: dict[str, Answer] = {}
    scores = attribute(
        classifier,
        encodings,
        targets,
        origins,
        flags=noticed,
        memo=memo,
        training=training,
        answers=answers,
    )
    if flags is not None:
        flags |= noticed
    elif noticed:
        log.warning("%s: the scores are flagged %s", origins[0].method, ", ".join(sorted(noticed)))
    rows = zip(encodings, targets, scores, origins, strict=True)
    return [
        Explanation.of_encoding(classifier, *row, answer=answers.get(row[-1].key)) for row in rows
    ]


def attribute(
    classifier: Classifier,
    encodings: Sequence[Encoding],
    targets: IntArray,
    origins: Sequence[Origin],
    *,
    rows: Sequence[torch.Tensor] | None = None,
    leaders: IntArray | None = None,
    flags: set[str] | None = None,
    memo: dict[object, object] | None = None,
    training: Training | None = None,
    answers: dict[str, Answer] | None = None,
) -> list[FloatArray]:
    """Return the (t,) float64 scores that a method gives to each text, special tokens included.

    Tokens of a prompt get 0. ``rows`` are embeddings that were moved; ``answers`` receives what the
    model writes. More at :class:`MethodBatch`.
    """
    if not encodings:
        return []
    call = origins[0]
    entry = METHODS.get(call.method)
    _check_applies(entry, classifier, targets, training)
    options = complete(method_options(entry), call.params, f"method {call.method}")
    batch = MethodBatch(
        classifier=classifier,
        encodings=tuple(map(guarded, encodings)),
        targets=locked(targets),
        keys=tuple(origin.key for origin in origins),
        seed=call.seed,
        method=entry.id,
        moved=None if rows is None else tuple(rows),
        leaders=locked(np.arange(len(encodings)) if leaders is None else leaders),
        flags=set() if flags is None else flags,
        memo={} if memo is None else memo,
        training=training,
        explains=options.pop("explains", "auto"),
        unit=options.pop("unit", "token"),
        answers={} if answers is None else answers,
    )
    if entry.facts.target == "logit":
        classifier.objective(batch.explains)  # raises for a class that there is not
    if entry.facts.needs_gradient:
        in_fp32 = batch.part(classifier.fp32_twin or classifier, range(len(batch)))
        return _scores(entry, in_fp32, options)
    return classifier.run_by_precision(
        batch.token_ids, lambda chosen, places: _scores(entry, batch.part(chosen, places), options)
    )


def _check_applies(
    entry: Entry[MethodFacts],
    classifier: Classifier,
    targets: IntArray,
    training: Training | None,
) -> None:
    """Refuse a method that cannot work with a classifier, these classes or this training split."""
    from exparity.engine.preflight import check_asks_only, check_targets, check_writes

    check_asks_only(classifier, entry, METHODS)
    check_writes(classifier, entry)
    check_targets(targets, classifier.n_classes)
    if not entry.facts.needs_training:
        return
    if training is None:
        raise InputError(
            f"method {entry.id}: works with the texts that the model was trained on; give "
            "`training`, a pair of these texts and their class indices"
        )
    check_targets(training.labels, classifier.n_classes, "training text")


def _scores(
    entry: Entry[MethodFacts], batch: MethodBatch, options: Mapping[str, object]
) -> list[FloatArray]:
    """Run a method and validate its result."""
    # A method that takes nothing of the model would have the embeddings made for this alone.
    versions = [] if entry.facts.model_free else _versions(batch)
    with entry.running(), without_global_draws(f"method {entry.id}"):
        scores = [unmasked(s) for s in entry.function(batch, **options)]
    if not entry.facts.model_free and _versions(batch) != versions:
        raise ExparityError(f"method {entry.id}: writes to its inputs; copy them first")
    shapes = [s.shape for s in scores]
    expected_shapes = [(length,) for length in batch.lengths]
    if shapes != expected_shapes:
        raise ExparityError(
            f"method {entry.id}: must return one score per token of every text, special tokens "
            f"included: arrays of the shapes {shown(expected_shapes)}, not {shown(shapes)}"
        )
    if any(s.dtype.kind not in "biuf" or not np.isfinite(s).all() for s in scores):
        raise ExparityError(f"method {entry.id}: gives scores that are not finite real numbers")
    if not entry.facts.signed and any((s < 0).any() for s in scores):
        raise ExparityError(f"method {entry.id}: gives negative scores, and says signed=False")
    return [
        np.where(encoding.frame_mask, 0.0, s.astype(np.float64, copy=False))
        for encoding, s in zip(batch.encodings, scores, strict=True)
    ]


def _versions(batch: MethodBatch) -> list[int]:
    """Return how often each matrix of embeddings was written to."""
    return [rows._version for rows in batch.rows if not rows.is_inference()]
