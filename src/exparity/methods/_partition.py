"""Owen values of one text with the shap package, whose model calls go to whoever answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.interface import BoolArray, Encoding, FloatArray, IntArray

if TYPE_CHECKING:
    from exparity.methods._lockstep import Ask

# Outputs that must not decide in which order shap splits the text are scaled down by this power of
# two, and the values up again: both without rounding.
_HUSH = 2.0**-200
_SHAP_BATCH = 5  # what shap's own masker for text asks for at a time


class _Spans:
    """A stand-in for a tokenizer: shap's masker asks it for the spans of the text's tokens.

    The text is tokenized once, by the engine; shap must see the same tokens, also of a cut text.
    """

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
    from shap.maskers import Text

    masker = Text(_Spans(tokenizer, encoding), mask_token=0)
    linkage: FloatArray = masker.clustering(encoding.text)
    return linkage


def owen_values(
    ask: Ask, tokenizer: Any, encoding: Encoding, targets: IntArray, max_evals: int
) -> FloatArray:
    """Return Owen values of a text and of copies of it, all from the same masks.

    Args:
        ask: receives (m, t) masks, True for tokens that stay, and returns (v, m, c) probabilities
            of the v versions of the text. The first decides in which order tokens are split.
        tokenizer: of the model.
        encoding: the text.
        targets: (v,) class index of each version.
        max_evals: most masks to evaluate.

    Returns:
        (v, t) float64 values of each version.
    """
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
        from shap import PartitionExplainer

        masker = _Masks(encoding.special_mask, text_hierarchy(tokenizer, encoding))
        explainer = PartitionExplainer(probabilities, masker)
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
