"""From text to token ids, with the word that each token belongs to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from exparity.core.calls import listed, shown
from exparity.core.errors import InputError
from exparity.interface import SPECIAL_WORD, Encoding, IntArray

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

log = logging.getLogger(__name__)


def words_of_tokens(
    offsets: Sequence[tuple[int, int]], special: Sequence[int], words: Sequence[str]
) -> IntArray:
    """Assign each token to the word that its first visible character lies in.

    Characters decide, not the tokenizer's own idea of words, so that it works for every family and
    for words that hold blanks or punctuation.

    Args:
        offsets: (t,) character spans in the joined words.
        special: (t,) 1 for special tokens.
        words: the words.

    Returns:
        (t,) word indices; −1 for special tokens.
    """
    text = " ".join(words)
    owner = np.full(len(text) + 1, SPECIAL_WORD, dtype=np.int64)
    start = 0
    for index, word in enumerate(words):  # the blank before a word announces it
        end = start + len(word)
        owner[max(start - 1, 0) : end] = index
        start = end + 1
    result = np.full(len(offsets), SPECIAL_WORD, dtype=np.int64)
    for position, (start, end) in enumerate(offsets):
        if special[position]:
            continue
        while start < end - 1 and text[start].isspace():
            start += 1
        result[position] = owner[min(start, len(text) - 1)]
    return result


def split_words(texts: Sequence[str | Sequence[str]], name: str = "texts") -> list[list[str]]:
    """Return the words of each text: strings are split at blanks.

    Raises:
        InputError: one string instead of a list, or something other than text; names its position.
    """
    word_lists = []
    for position, text in enumerate(listed(texts, name, 'strings, such as ["one text"]')):
        words = text.split() if isinstance(text, str) else listed(text, f"text {position}", "words")
        for word in words:
            if not isinstance(word, str):
                raise InputError(f"text {position}: a word must be text, not {shown(word)}")
            if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
                raise InputError(f"text {position}: {word!r} has a lone surrogate, no character")
        word_lists.append(words)
    return word_lists


def encode_texts(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[str | Sequence[str]], max_length: int
) -> list[Encoding]:
    """Encode texts; those longer than ``max_length`` tokens are cut, with a warning and a count.

    Args:
        tokenizer: the model's tokenizer.
        texts: strings, which are split at blanks, or lists of words.
        max_length: most tokens, special ones included.

    Raises:
        InputError: a text without any content token, or no text; names its position.
    """
    word_lists = split_words(texts)
    joined = [" ".join(words) for words in word_lists]
    for position, text in enumerate(joined):
        if not text.strip():
            raise InputError(f"text {position}: is empty; there is nothing to explain")
    if not joined:
        return []
    encodings = _encoded(tokenizer, joined, word_lists, max_length)
    cut = sum(encoding.truncated for encoding in encodings)
    if cut:
        log.warning(
            "%d of %d texts are longer than %d tokens and were cut", cut, len(joined), max_length
        )
    return encodings


def _encoded(
    tokenizer: PreTrainedTokenizerFast,
    joined: Sequence[str],
    word_lists: Sequence[Sequence[str]],
    max_length: int,
) -> list[Encoding]:
    # Lengths are checked here, so that the tokenizer need not warn and cut texts are counted.
    batch = tokenizer(
        joined,
        truncation=True,
        max_length=max_length,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_overflowing_tokens=True,
    )
    _, first, windows = np.unique(
        batch["overflow_to_sample_mapping"], return_index=True, return_counts=True
    )
    encodings = []
    for position, row in enumerate(first):
        special = batch["special_tokens_mask"][row]
        ids = batch["input_ids"][row]
        if all(special):
            raise InputError(f"text {position}: {joined[position]!r} has no token to explain")
        encodings.append(
            Encoding(
                text=joined[position],
                token_ids=np.array(ids, dtype=np.int64),
                tokens=tuple(tokenizer.convert_ids_to_tokens(ids)),
                word_ids=words_of_tokens(
                    batch["offset_mapping"][row], special, word_lists[position]
                ),
                special_mask=np.array(special, dtype=bool),
                truncated=bool(windows[position] > 1),
                offsets=np.array(batch["offset_mapping"][row], dtype=np.int64).reshape(-1, 2),
            )
        )
    return encodings
