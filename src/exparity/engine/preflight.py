"""Checks before a job runs, so that it fails in seconds and not after hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from exparity.core.errors import ExparityError, InputError, reason_of, shown
from exparity.core.registry import Entry, Registry
from exparity.core.trials import outcome_of
from exparity.core.undisturbed import one_at_a_time
from exparity.engine.black_box import BlackBox
from exparity.engine.classifier import Classifier, in_evaluation
from exparity.engine.steadiness import keeps_bits, numbers_of, warn_of_bits
from exparity.explanations import Explanation
from exparity.models.functions import MUST_WRITE, refusal
from exparity.models.inputs import check_known, few_of, unknown_id
from exparity.models.placement import without_gradients
from exparity.types import Encoding, FloatArray, IntArray, TextLike, is_pair

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SPECIAL = ("cls", "sep", "bos", "eos", "pad")
_FEW_TOKENS = 50  # a share of fewer says little about a tokenizer: a text may hold emoji
_TOLERANCE = {"torch.float32": 1e-4, "torch.bfloat16": 0.05}


@one_at_a_time
def check_function(
    classifier: Classifier,
    sequences: Sequence[IntArray],
    texts: Sequence[str | tuple[str, str]],
    *,
    ids_are_given: bool = False,
) -> None:
    """Compare the engine's probabilities with the plain model's on a few texts, once a classifier.

    The plain model, or the one of peft around it, gets the tokens of one text at a time, as in a
    pipeline of transformers, or the ids themselves if these may differ; the engine runs texts alone
    and in batches. If they differ, explanations would be of another function. A black box is asked
    again. Jobs of a run that load the same classifier compare it once.
    """
    if isinstance(classifier, BlackBox):
        classifier.check_answers(sequences)
        return
    if classifier.is_compared or not sequences:
        return
    engine = classifier.fp32_twin or classifier

    def compared() -> tuple[bool, bool]:
        _compare(classifier, sequences, texts, ids_are_given=ids_are_given)
        return engine.exact, _keeps_bits(engine)

    if classifier.loaded_from:
        key = classifier.loaded_from, torch.get_num_threads()
        exact, is_steady = outcome_of(compared, "classifier", *key)
    else:
        exact, is_steady = compared()
    classifier.exact = engine.exact = exact
    if not is_steady:
        warn_of_bits(engine.model)
    classifier.is_compared = True


def _keeps_bits(engine: Classifier) -> bool:
    """Return whether a text has the same bits in any company; of a GPU that is not asked."""
    if engine.layers is None:
        return True
    answers = numbers_of(engine)
    size = engine.vocabulary_size
    return keeps_bits(engine.model, engine.layers, answers, size, engine.max_length)


def _compare(
    classifier: Classifier,
    sequences: Sequence[IntArray],
    texts: Sequence[str | tuple[str, str]],
    *,
    ids_are_given: bool,
) -> None:
    """Compare probabilities as :func:`check_function` says; a GPU's batches may turn exact."""
    engine = classifier.fp32_twin or classifier
    chosen = list(dict.fromkeys([0, *few_of(list(map(len, sequences)))]))
    few = [sequences[place] for place in chosen]
    name = type(engine.model).__name__
    tolerance = _TOLERANCE.get(str(engine.model.dtype), 0.05)
    try:
        plain = np.concatenate(
            [_plain(engine, sequences[i], texts[i], ids_are_given=ids_are_given) for i in chosen]
        )
        ours = {"in a batch": engine.probabilities(few)}
        if not engine.exact and np.abs(plain - ours["in a batch"]).max() > tolerance:
            # A few families read padding: texts of one length share a batch.
            classifier.exact = engine.exact = True
            ours = {"in a batch": engine.probabilities(few)}
        ours["alone"] = np.concatenate([engine.probabilities([ids]) for ids in few])
    except (ExparityError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # any model may raise anything here
        raise ExparityError(
            f"preflight: the {name} does not run on embeddings ({reason_of(error)}); take a "
            "model of a family that docs/models.md lists"
        ) from error
    for how, probabilities in ours.items():
        gap = float(np.abs(plain - probabilities).max())
        if not gap <= tolerance:
            raise ExparityError(
                f"preflight: run {how}, the {name} gives other probabilities on embeddings than "
                f"on what its tokenizer makes of a text (by {gap:.2g}); this family, or its "
                "tokenizer, is not supported"
            )


def _plain(
    classifier: Classifier, ids: IntArray, text: str | tuple[str, str], *, ids_are_given: bool
) -> FloatArray:
    """Return the (1, c) probabilities of a text by the plain model."""
    model = cast("PreTrainedModel", classifier.outermost)  # one of peft has what it wraps
    parts = text if isinstance(text, tuple) else (text,)
    options = {"truncation": True, "max_length": classifier.max_length, "return_tensors": "pt"}
    inputs = dict(classifier.tokenizer(*parts, **options))
    plain_ids, plain_types = classifier.split_types(ids)
    indices = torch.tensor(plain_ids)[None]
    types = torch.tensor(plain_types)[None]
    prompted = classifier.head.prompt is not None
    if prompted or (ids_are_given and not torch.equal(inputs["input_ids"], indices)):
        inputs = {"input_ids": indices, "attention_mask": torch.ones_like(indices)}
        inputs |= {"token_type_ids": types} if types.any() else {}
    parameters = signature(model.forward).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        inputs = {key: value for key, value in inputs.items() if key in parameters}
    inputs = {key: value.to(classifier.device) for key, value in inputs.items()}
    with in_evaluation(model), without_gradients(model):
        logits = classifier.head.plain_logits(model, **inputs)
    probabilities = classifier.head.probabilities(classifier.model, logits.float())
    return np.asarray(probabilities.cpu().numpy())


def check_classifier(classifier: object) -> None:
    """Refuse an object that is no classifier."""
    if not isinstance(classifier, Classifier):
        raise InputError(
            f"classifier must come from exparity.load_classifier, not {shown(classifier)}; it "
            "takes a folder or Hub id, a pair (model, tokenizer), a pipeline, or a function"
        )


def check_asks_only(classifier: Classifier, entry: Entry[Any], registry: Registry[Any]) -> None:
    """Refuse a method or metric that needs more of a black box than answers."""
    if classifier.is_black_box and not entry.facts.asks_only:
        raise InputError(refusal(entry, registry))


def check_writes(classifier: Classifier, entry: Entry[Any]) -> None:
    """Refuse a method whose explanations the model writes for a classifier that cannot write."""
    if entry.facts.writes and classifier.head.prompt is None:
        raise InputError(
            f"method {entry.id}: {MUST_WRITE}; give `prompt` and `words`, or take another method"
        )


def in_own_ids(classifier: Classifier, explanations: Sequence[Explanation]) -> list[Explanation]:
    """Return explanations with the word ids of a black box; unchanged for other classifiers."""
    if not classifier.is_black_box:
        return list(explanations)
    texts = [e.written or e.pair or e.text for e in explanations]
    in_its_ids = []
    for explanation, encoding in zip(explanations, classifier.encode(texts), strict=True):
        if len(encoding) != len(explanation):
            raise InputError(
                f"explanation of {explanation.text!r}: has {len(explanation)} tokens, and its text "
                f"{len(encoding)} words, which are the tokens of a function of texts; build it "
                "with exparity.Explanation.from_words"
            )
        in_its_ids.append(replace(explanation, token_ids=encoding.token_ids))
    return in_its_ids


def unknown_tokens(classifier: Classifier, encodings: Sequence[Encoding]) -> tuple[int, int]:
    """Return the numbers of unknown and of all tokens of texts, without special ones."""
    unknown = total = 0
    stand_in = unknown_id(classifier.tokenizer)
    for encoding in encodings:
        content, _ = classifier.split_types(encoding.token_ids[~encoding.special_mask])
        unknown += int((content == stand_in).sum())
        total += len(content)
    return unknown, total


def check_texts(
    classifier: Classifier, texts: Sequence[TextLike], encodings: Sequence[Encoding]
) -> None:
    """Check that the tokenizer knows words of the texts, and that the engine runs the model."""
    unknown, total = unknown_tokens(classifier, encodings)
    if total > _FEW_TOKENS or unknown == total:
        check_known(classifier.tokenizer, unknown, total)
    as_given = [
        text if isinstance(text, str) or is_pair(text) else encoding.pair or encoding.text
        for text, encoding in zip(texts, encodings, strict=True)
    ]
    check_function(classifier, [encoding.token_ids for encoding in encodings], as_given)


def check_targets(targets: IntArray, n_classes: int, what: str = "example") -> None:
    """Refuse (n,) class indices that the model does not have; ``what`` names their owners."""
    bad = np.flatnonzero((targets < 0) | (targets >= n_classes))
    if bad.size:
        raise InputError(
            f"target {targets[bad[0]]} of {what} {bad[0]}: the model has classes 0 to "
            f"{n_classes - 1}"
        )


def check_token_ids(classifier: Classifier, explanation: Explanation) -> None:
    """Refuse token ids of an explanation that the model cannot read."""
    ids = explanation.token_ids
    where = f"explanation of {explanation.text!r}: "
    assert ids is not None
    size = classifier.vocabulary_size * (1 if explanation.pair is None else classifier.n_types)
    if len(ids) > classifier.max_length or ids.min() < 0 or ids.max() >= size:
        raise InputError(
            f"{where}the model reads up to {classifier.max_length} token_ids of "
            f"0 to {size - 1}; here are {len(ids)} of {ids.min()} to {ids.max()}"
        )
    if explanation.origin is not None and not classifier.is_black_box:
        indices, _ = classifier.split_types(ids)
        names = classifier.tokenizer.convert_ids_to_tokens(indices.tolist())
        for name, token in zip(names, explanation.tokens, strict=True):
            if name != token:
                raise InputError(
                    f"{where}its token '{token}' is '{name}' to the model's tokenizer; score it "
                    "with the classifier that it explains"
                )
    typed = "token_type_ids" in classifier.tokenizer.model_input_names
    if typed and ids.max() < classifier.vocabulary_size < size:
        raise InputError(
            f"{where}its token_ids do not tell the texts of the pair apart, and the model does; "
            "build it with exparity.explain or Explanation.from_tokens"
        )


def with_special_tokens(classifier: Classifier, explanation: Explanation) -> Explanation:
    """Return an explanation with a mask of its special tokens, which are no words."""
    if explanation.special_mask is not None:
        return explanation
    ids = explanation.token_ids
    tokenizer = classifier.tokenizer
    if ids is None:
        special = {getattr(tokenizer, f"{role}_token") for role in _SPECIAL} & {*explanation.tokens}
    else:
        check_token_ids(classifier, explanation)
        special = {getattr(tokenizer, f"{role}_token_id") for role in _SPECIAL} & {*ids.tolist()}
        text = explanation.pair or explanation.text
        encoded = classifier.encode([text]) if explanation.text.strip() else []
        if encoded and np.array_equal(encoded[0].token_ids, ids):
            mask = encoded[0].special_mask
            words = encoded[0].word_ids
            return replace(explanation, special_mask=mask, word_ids=words)
    if special:
        raise InputError(
            f"explanation of {explanation.text!r}: has special tokens and no special_mask that "
            "marks them; give one, or build it with exparity.Explanation.from_tokens"
        )
    return explanation


def check_attributions(method: str, scores: Sequence[FloatArray]) -> None:
    """Refuse attributions of a probe that are all zero or all the same."""
    if all(np.ptp(s) == 0 for s in scores) and any(len(s) > 1 for s in scores):
        value = "zero" if all((s == 0).all() for s in scores) else "constant"
        raise ExparityError(
            f"preflight: '{method}' gives {value} attributions for all {len(scores)} probe texts; "
            "is the model trained?"
        )
