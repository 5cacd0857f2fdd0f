"""Scores of any origin laid on the tokens of a text: by word, token or characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exparity.core.errors import InputError
from exparity.explanations.markup import token_texts
from exparity.types import BoolArray, Encoding, FloatArray, IntArray, Item


def of_words(encoding: Encoding, scores: FloatArray) -> FloatArray:
    """Share (w,) scores of words evenly among their (t,) tokens; special tokens get 0.

    A token may hold several words, and then has the scores of all. Words that were cut off, as the
    text is too long for the model, take their scores with them.
    """
    owners = encoding.word_ids
    written = encoding.written
    texts = written if isinstance(written, tuple) else (written,)
    n_words = sum(len(text.spans) for text in texts if text is not None)
    n_words = max(n_words, int(owners.max()) + 1)
    if len(scores) != n_words:
        raise InputError(
            f"explanation of {encoding.text!r}: {len(scores)} scores for {n_words} words; give one "
            "for each, and the text as a list where words have blanks or marks of their own"
        )
    with_tokens = owners_of_words(encoding, n_words)
    token_shares = np.zeros(n_words)
    np.add.at(token_shares, with_tokens, scores[: len(with_tokens)])
    return shared(owners, token_shares)


def owners_of_words(encoding: Encoding, n_words: int) -> IntArray:
    """Return the (r,) index of the word whose tokens hold each of the first r words.

    Words without a token of their own are in the token of one before them. Of a text that was cut,
    r is the number of words that were read; all words otherwise.
    """
    with_tokens = np.unique(encoding.word_ids[encoding.word_ids >= 0])
    read = int(with_tokens[-1]) + 1 if encoding.truncated else n_words
    places = np.searchsorted(with_tokens, np.arange(read), side="right") - 1
    return np.asarray(with_tokens[np.maximum(places, 0)])


def of_tokens(encoding: Encoding, tokens: Sequence[str], scores: FloatArray) -> FloatArray:
    """Lay scores of tokens on the model's own (t,) tokens; special ones not given get 0."""
    where = f"explanation of {encoding.text!r}: "
    if len(tokens) != len(scores):
        raise InputError(f"{where}{len(tokens)} tokens but {len(scores)} scores; give one for each")
    all_tokens = np.ones(len(encoding), dtype=bool)
    content = ~encoding.special_mask
    for kept in (all_tokens, content):
        names = [token for token, keep in zip(encoding.tokens, kept, strict=True) if keep]
        if len(names) == len(tokens):
            bare = token_texts(names)
            for written, name, text in zip(tokens, names, bare, strict=True):
                if written not in (name, text, text.lower()) and written.strip() != text:
                    raise InputError(
                        f"{where}token '{written}' where the model's tokenizer has '{name}'"
                    )
            laid = np.zeros(len(encoding))
            laid[kept] = scores
            return laid
    raise InputError(
        f"{where}{len(tokens)} tokens, and the model's tokenizer makes {int(content.sum())}, and "
        f"{int(encoding.special_mask.sum())} special ones; explain with the model's own tokenizer"
    )


def of_pieces(encoding: Encoding, pieces: Sequence[str], scores: FloatArray) -> FloatArray:
    """Lay scores of the pieces of a text on the tokens in them; return (t,), 0 for special ones."""
    where = f"explanation of {encoding.text!r}: "
    joined = "".join(pieces)
    shift = joined.find(encoding.text)
    if shift < 0 or joined.replace(encoding.text, "", 1).strip():
        raise InputError(f"{where}the pieces joined are {joined!r}; explain this same text")
    assert encoding.offsets is not None
    ends = np.cumsum([len(piece) for piece in pieces]) - shift
    # Some tokenizers count the blank before a word to it, and some pieces the one after it.
    starts = [
        end - (len(encoding.text[start:end].lstrip()) or end - start)
        for start, end in encoding.offsets
    ]
    # A blank at the end of a text may be a token without a character.
    pieces_of = np.minimum(np.searchsorted(ends, starts, side="right"), len(pieces) - 1)
    owners = np.where(encoding.special_mask, -1, pieces_of)
    counts = np.bincount(owners[owners >= 0], minlength=len(pieces))
    lost = np.flatnonzero((counts == 0) & (scores != 0) & [bool(p.strip()) for p in pieces])
    if lost.size and not encoding.truncated:
        raise InputError(f"{where}no token of the model starts in the piece {pieces[lost[0]]!r}")
    return shared(owners, scores)


def laid_on(mask: BoolArray, values: NDArray[Item], *, elsewhere: float | bool) -> NDArray[Item]:
    """Lay (…, k) values on the k tokens under a (t,) mask, and a constant elsewhere: (…, t)."""
    laid = np.full((*values.shape[:-1], len(mask)), elsewhere, dtype=values.dtype)
    laid[..., mask] = values
    return laid


def shared(owners: IntArray, scores: FloatArray) -> FloatArray:
    """Share scores evenly among their tokens; return (t,) shares, 0 for tokens without an owner."""
    counts = np.bincount(owners[owners >= 0], minlength=len(scores))
    shares = scores / np.maximum(counts, 1)
    return np.append(shares, 0.0)[np.maximum(owners, -1)]  # −1 is the last
