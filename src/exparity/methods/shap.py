"""Partition SHAP (Lundberg and Lee 2017) on the units of a text, with a hierarchy of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from exparity.core.flags import Range
from exparity.explanations.alignment import laid_on
from exparity.explanations.units import Units
from exparity.methods import MethodBatch, method
from exparity.methods._lockstep import Ask, run_in_lockstep
from exparity.types import BoolArray, Encoding, FloatArray, IntArray

_TOGETHER = 64  # texts that run side by side; what they ask fills the engine's batches
# Outputs that must not decide in which order shap splits the text are scaled down by this power of
# two, and the values up again: both without rounding.
_HUSH = 2.0**-200
_SHAP_BATCH = 5  # what shap's own masker for text asks for at a time


@method(
    "shap",
    signed=True,
    needs_gradient=False,
    target="probability",
    baseline="mask token",
    stochastic=True,
    reference="Lundberg and Lee 2017, arXiv:1705.07874; Owen 1977, doi:10.1007/978-3-642-45494-3_7",
    display="Partition SHAP",
    adaptive=True,
    passes=500,
    per="token",
)
def shap(
    batch: MethodBatch, *, max_evals: Annotated[int, Range(at_least=10, at_most=1_000_000)] = 500
) -> list[FloatArray]:
    r"""Owen values: Shapley values that respect a hierarchy of the text's tokens, or larger units.

    The shap package builds the hierarchy (pieces of words, then words, then clauses), splits the
    branch with the largest weighted effect first, and shares what is not split any more evenly.
    Absent tokens are replaced by the mask token; special tokens and those of a prompt stay. The
    tokens of a larger unit share its value. Draws decide between branches of equal effect only.

    Args:
        batch: the texts.
        max_evals: most masks to evaluate per text.

    Returns:
        (t,) signed scores for each text, in probability; where every branch was split they sum to
        f(input) − f(all masked).
    """
    scores: list[FloatArray] = [np.zeros(0)] * len(batch)
    leaders = np.unique(batch.leaders)
    for first in range(0, len(leaders), _TOGETHER):
        versions = [_versions(batch, leader) for leader in leaders[first : first + _TOGETHER]]
        for items, values in zip(
            versions, _explain_together(batch, versions, max_evals), strict=True
        ):
            for item, row in zip(items, values, strict=True):
                scores[item] = row
    return scores


def _versions(batch: MethodBatch, leader: int) -> IntArray:
    """Return the items that follow a text, the text itself first."""
    followers = np.flatnonzero(batch.leaders == leader)
    return np.concatenate([[leader], followers[followers != leader]]).astype(np.int64)


def _explain_together(
    batch: MethodBatch, versions: list[IntArray], max_evals: int
) -> list[FloatArray]:
    """Explain some texts with all versions of each, in shared batches."""
    from exparity.engine.masking import MaskedTexts

    tokenizer = batch.classifier.tokenizer
    order = np.concatenate(versions)
    starts = np.cumsum([0, *[len(items) for items in versions]])
    texts = MaskedTexts(
        batch.classifier,
        [batch.rows[item] for item in order],
        token_ids=[batch.token_ids[item] for item in order],
    )

    units = [batch.units[items[0]] for items in versions]
    frames = [
        batch.encodings[items[0]].frame_mask[own.first]
        for items, own in zip(versions, units, strict=True)
    ]

    def answer(asking: list[int], questions: list[BoolArray]) -> list[FloatArray]:
        questions = [
            units[text].on_tokens(laid_on(~frames[text], masks, True))
            for text, masks in zip(asking, questions, strict=True)
        ]
        asked = list(zip([versions[text] for text in asking], questions, strict=True))
        owners = [range(starts[text], starts[text + 1]) for text in asking]
        probabilities = texts.probabilities(
            np.concatenate([np.repeat(o, len(q)) for o, q in zip(owners, questions, strict=True)]),
            [mask for items, masks in asked for _ in items for mask in masks],
        )
        ends = np.cumsum([len(items) * len(masks) for items, masks in asked])[:-1]
        return [
            own.reshape(len(items), len(masks), -1)
            for own, (items, masks) in zip(np.split(probabilities, ends), asked, strict=True)
        ]

    explained = run_in_lockstep(
        [
            partial(
                owen_values,
                tokenizer=tokenizer,
                encoding=_without_frame(merged(batch.encodings[items[0]], own)),
                targets=batch.targets[items],
                max_evals=max_evals,
            )
            for items, own in zip(versions, units, strict=True)
        ],
        [int(batch.generator(items[0]).integers(2**32)) for items in versions],
        answer,
    )
    return [
        np.stack([own.shared(row) for row in laid_on(~frame, values, 0.0)])
        for own, frame, values in zip(units, frames, explained, strict=True)
    ]


def merged(encoding: Encoding, units: Units) -> Encoding:
    """Return a text as if each unit were one token, which spans the whole unit."""
    if units.are_tokens:
        return encoding
    assert encoding.offsets is not None
    ends = np.zeros(len(units), dtype=np.int64)
    np.maximum.at(ends, units.of_token, encoding.offsets[:, 1])
    return replace(
        encoding,
        token_ids=encoding.token_ids[units.first],
        tokens=tuple(encoding.tokens[place] for place in units.first),
        word_ids=encoding.word_ids[units.first],
        special_mask=encoding.special_mask[units.first],
        offsets=np.stack([encoding.offsets[units.first, 0], ends], axis=1),
    )


def _without_frame(encoding: Encoding) -> Encoding:
    """Return a text without the tokens of the prompt around it."""
    own = ~encoding.frame_mask
    assert encoding.offsets is not None
    return replace(
        encoding,
        token_ids=encoding.token_ids[own],
        tokens=tuple(encoding.tokens[place] for place in np.flatnonzero(own)),
        word_ids=encoding.word_ids[own],
        special_mask=encoding.special_mask[own],
        offsets=encoding.offsets[own],
    )


class _Model:
    """Masked model as shap's search asks it; shap's own means took half of the search's time."""

    def __init__(self, outputs: Callable[[BoolArray], FloatArray], special: BoolArray) -> None:
        self._outputs, self._special = outputs, special

    def __len__(self) -> int:
        return len(self._special)

    def __call__(self, masks: BoolArray) -> FloatArray:
        return self._outputs(masks | self._special)


class _Spans:
    """A stand-in for a tokenizer, for shap to see the engine's tokens, also of a cut text."""

    def __init__(self, tokenizer: Any, encoding: Encoding) -> None:
        self._encoding = encoding
        self.mask_token = tokenizer.mask_token or tokenizer.unk_token or tokenizer.pad_token
        self.mask_token_id = 0
        self.sep_token = tokenizer.sep_token

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        if text != self._encoding.text:
            return {"input_ids": [], "offset_mapping": []}
        assert self._encoding.offsets is not None
        spans = [tuple(span) for span in self._encoding.offsets.tolist()]
        return {"input_ids": self._encoding.token_ids.tolist(), "offset_mapping": spans}


class _Masks:
    """A masker for shap that hands masks through; special tokens always stay."""

    immutable_outputs = True
    default_batch_size = _SHAP_BATCH

    def __init__(self, special: BoolArray, clustering: FloatArray) -> None:
        self._special = special
        self.clustering = clustering

    def __call__(self, mask: BoolArray, _: Any) -> tuple[BoolArray]:
        return ((mask | self._special)[None],)

    def shape(self, _: Any) -> tuple[int, int]:
        return 1, len(self._special)

    def mask_shapes(self, _: Any) -> list[tuple[int]]:
        return [(len(self._special),)]

    def invariants(self, _: Any) -> BoolArray:
        return self._special[None]


def text_hierarchy(tokenizer: Any, encoding: Encoding) -> FloatArray:
    """Return shap's hierarchy of a text's tokens: (t − 1, 4), in the form of scipy's linkage."""
    from exparity.methods._shap import Text

    masker = Text(_Spans(tokenizer, encoding), mask_token=0)
    linkage: FloatArray = masker.clustering(encoding.text)
    return linkage


def owen_values(
    ask: Ask, tokenizer: Any, encoding: Encoding, targets: IntArray, max_evals: int
) -> FloatArray:
    """Return (v, t) values of one text's v versions; ``ask`` turns (m, t) masks to (v, m, c)."""
    answered: dict[bytes, FloatArray] = {}

    def probabilities(masks: BoolArray) -> FloatArray:
        keys = [mask.tobytes() for mask in masks]
        new = {key: mask for key, mask in zip(keys, masks, strict=True) if key not in answered}
        if new:
            answers = ask(np.stack(list(new.values())))  # (v, m, c)
            for place, key in enumerate(new):
                own = [answers[v, place, target] for v, target in enumerate(targets)]
                answered[key] = np.concatenate([answers[0, place], np.array(own) * _HUSH])
        return np.stack([answered[key] for key in keys])  # (m, c + v)

    if len(encoding) == 1:
        whole, none = probabilities(np.array([[True], [bool(encoding.special_mask[0])]]))
        values = (whole - none)[None]
    else:
        from exparity.methods._shap import PartitionExplainer

        # shap recurses down its hierarchy, which may be as deep as the text is long.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1_000 + len(encoding)))
        masker = _Masks(encoding.special_mask, text_hierarchy(tokenizer, encoding))
        explainer = PartitionExplainer(probabilities, masker)
        search, model = explainer.owen, _Model(probabilities, encoding.special_mask)
        explainer.owen = lambda _, *arguments: search(model, *arguments)
        explained = explainer.explain_row(
            encoding.text,
            max_evals=max_evals,
            main_effects=False,
            error_bounds=False,
            outputs=None,
            silent=True,
            batch_size=_SHAP_BATCH,
            fixed_context=None,
        )
        values = explained["values"]
    own_values = values[:, -len(targets) :].T / _HUSH
    return np.asarray(own_values, dtype=np.float64)
