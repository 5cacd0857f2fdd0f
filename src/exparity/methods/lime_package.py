"""The explainer of texts of the lime package (Ribeiro et al. 2016), with its own options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.core.errors import InputError, shown, within
from exparity.methods import MethodBatch
from exparity.methods._masks import masking_method
from exparity.methods._packages import FUNCTION, Options, object_of, refusals, sorted_options
from exparity.methods._side_by_side import Ask, explained_side_by_side
from exparity.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

_IS_SETTLED = "is settled by exparity"
_SETTLED = {
    "char_level": f"{_IS_SETTLED}: a model sees tokens, and `unit` names what is left out",
    "class_names": _IS_SETTLED,
    "classifier_fn": _IS_SETTLED,
    "kernel": FUNCTION,
    "labels": f"{_IS_SETTLED}: the class that is explained is `target`",
    "random_state": f"{_IS_SETTLED}: draws are those of the run's seed and of the text",
    "split_expression": f"{_IS_SETTLED}: `unit` names what is left out",
    "text_instance": _IS_SETTLED,
    "top_labels": f"{_IS_SETTLED}: the class that is explained is `target`",
}
_MASKED = "-"
"""What lime writes for a masked unit; units are numbers."""


def _check(options: Mapping[str, Any]) -> None:
    _arguments(options["options"])


@masking_method(
    "lime_package",
    baseline="removed",
    stochastic=True,
    reference="Ribeiro et al. 2016, arXiv:1602.04938",
    display="LIME (package)",
    passes=5000,
    check_options=_check,
)
def lime_package(batch: MethodBatch, *, options: Mapping[str, object] = {}) -> list[FloatArray]:
    """Scores by ``LimeTextExplainer`` of the lime package, which asks for texts in shared batches.

    Its words are the text's tokens, or larger units; special tokens and those of a prompt stay.
    With ``bow``, the package's default, a unit is removed wherever it occurs, what is left moves
    together, and each of its places has its coefficient. Without, a unit is one place, and absent
    ones are replaced by ``mask_string``. The tokens of a unit share its coefficient.

    Args:
        batch: the texts.
        options: of the class or of its ``explain_instance``, such as ``bow``, ``num_samples``,
            ``num_features``, ``feature_selection`` or ``kernel_width``. Defaults are those of the
            package: 5000 samples, and no more than ten features with a coefficient. ``mask_string``
            is one token of the model, the mask token unless it is set. ``model_regressor`` is a
            class of ``sklearn.linear_model``, or ``use`` and its options.

    Returns:
        (t,) signed scores for each text, in probability; units without a coefficient score 0.

    Raises:
        InputError: an option that the explainer does not have, or that lime refuses.
    """
    from exparity.engine.masking import MaskedTexts, kept_target_probabilities

    with within("method lime_package: "):
        constructor, call = _arguments(options)
        absent = _absent_rows(batch, constructor)
    removes = bool(constructor.get("bow", True))
    features = [_features(batch, text, same=removes) for text in range(len(batch))]
    masked = None if removes else MaskedTexts(batch.classifier, batch.rows, absent)

    def answer(questions: Mapping[int, list[str]]) -> list[FloatArray]:
        """Return the (m, 1) target probabilities of m versions of each text."""
        masks = [
            batch.units[text].on_tokens(_kept(versions, features[text], removes=removes))
            for text, versions in questions.items()
        ]
        texts = list(questions)
        targets = batch.targets[texts]
        if masked is None:
            rows = [batch.rows[text] for text in texts]
            values = kept_target_probabilities(batch.classifier, rows, masks, targets)
        else:
            owners = np.repeat(texts, list(map(len, masks)))
            probabilities = masked.probabilities(
                owners, [mask for text_masks in masks for mask in text_masks]
            )
            target_values = probabilities[np.arange(len(owners)), batch.targets[owners]]
            values = np.split(target_values, np.cumsum(list(map(len, masks)))[:-1])
        return [text_values[:, None] for text_values in values]

    def explain(text: int, ask: Ask[list[str], FloatArray]) -> FloatArray:
        from lime.lime_text import LimeTextExplainer

        feature_of_token = features[text]
        named = feature_of_token[feature_of_token >= 0]
        written = " ".join(map(str, named.tolist()))
        with refusals(f"method lime_package: text {shown(batch.keys[text])}"):
            explainer = LimeTextExplainer(
                class_names=["target"], split_expression=r"\s+", **constructor
            )
            explained = explainer.explain_instance(written, ask, labels=(0,), **call)
        coefficients = np.zeros(len(feature_of_token))
        for feature, weight in explained.local_exp[0]:
            coefficients[feature] = weight
        scores = np.where(feature_of_token >= 0, coefficients[feature_of_token], 0.0)
        return batch.units[text].shared(scores)

    generators = [batch.generator(text) for text in range(len(batch))]
    return explained_side_by_side(explain, answer, generators)


def _arguments(options: Options) -> tuple[dict[str, object], dict[str, object]]:
    """Return the options of the explainer's class and of its call, as it takes them."""
    import sklearn.linear_model
    from lime.lime_text import LimeTextExplainer

    constructor, call = sorted_options(
        options,
        "LimeTextExplainer",
        LimeTextExplainer,
        LimeTextExplainer.explain_instance,
        settled=_SETTLED,
    )
    if call.get("model_regressor") is not None:
        module = sklearn.linear_model
        call["model_regressor"] = object_of(
            call["model_regressor"], module, module.__all__, "LimeTextExplainer: model_regressor"
        )
    return constructor, call


def _absent_rows(batch: MethodBatch, constructor: dict[str, object]) -> list[torch.Tensor] | None:
    """Return the (t, h) rows that replace absent tokens, and have lime write a mark for them."""
    classifier = batch.classifier
    token = constructor.pop("mask_string", None)
    if constructor.get("bow", True):
        if token is not None:
            raise InputError("LimeTextExplainer: mask_string: nothing is masked with `bow`")
        return None
    constructor["mask_string"] = _MASKED
    mask_id = classifier.mask_id if token is None else _id_of(classifier.tokenizer, token)
    return [classifier.embed(classifier.in_place_of(ids, mask_id)) for ids in batch.token_ids]


def _id_of(tokenizer: PreTrainedTokenizerFast, token: object) -> int:
    ids = tokenizer(str(token), add_special_tokens=False)["input_ids"]
    if len(ids) != 1:
        raise InputError(
            f"LimeTextExplainer: mask_string: {shown(token)} is {len(ids)} tokens of the model; "
            "name one"
        )
    return int(ids[0])


def _features(batch: MethodBatch, text: int, *, same: bool) -> IntArray:
    """Return the (u,) number of each unit's feature, −1 for special tokens and a prompt's.

    Equal units are the ``same`` feature, or else each is one.
    """
    units = batch.units[text]
    content = batch.content_masks[text]
    tokens = np.array(batch.encodings[text].tokens, dtype=object)
    numbers: dict[object, int] = {}
    features = np.full(len(units), -1, dtype=np.int64)
    for unit in np.flatnonzero(content).tolist():
        key = tuple(tokens[units.unit_of_token == unit]) if same else unit
        features[unit] = numbers.setdefault(key, len(numbers))
    return features


def _kept(versions: list[str], features: IntArray, *, removes: bool) -> BoolArray:
    """Return the (m, u) masks, True for units that stay, of texts that lime has written."""
    masks = np.ones((len(versions), len(features)), dtype=bool)
    content = np.flatnonzero(features >= 0)
    for row, version in enumerate(versions):
        words = version.split()
        if removes:
            masks[row, content] = np.isin(features[content], np.array(words, dtype=np.int64))
        else:
            masks[row, content] = [word != _MASKED for word in words]
    return masks
