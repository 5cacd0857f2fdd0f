"""From text to token ids, with the word that each token belongs to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from exparity.core.calls import listed, shown
from exparity.core.errors import InputError
from exparity.models.checkpoints import check_pairs
from exparity.models.prompts import Prompt, read
from exparity.types import FRAME_WORD, SPECIAL_WORD, Encoding, IntArray, Text, Words, is_pair

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

log = logging.getLogger(__name__)


def words_of_tokens(
    offsets: Sequence[Sequence[int]], special: Sequence[int], words: Sequence[str]
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


def as_list(texts: str | Sequence[Text]) -> Sequence[Text]:
    """Return texts as a list of them: of a single string, or one pair of strings, a list of one."""
    return [cast(Text, texts)] if isinstance(texts, str) or is_pair(texts) else texts


def split_words(texts: Sequence[Text], name: str = "texts") -> list[Words]:
    """Return the words of each text, or of both texts of a pair: strings are split at blanks.

    A tuple of two strings, or of two lists of words, is a pair.

    Raises:
        InputError: one string instead of a list, or something other than text; names its position.
    """
    word_lists: list[Words] = []
    for position, text in enumerate(listed(texts, name, 'strings, such as ["one text"]')):
        where = f"text {position}"
        if isinstance(text, tuple) and len(text) == 2:
            first, second = (_words(part, where) for part in text)
            word_lists.append((first, second))
        else:
            word_lists.append(_words(text, where))
    return word_lists


def _words(text: str | Sequence[str], where: str) -> list[str]:
    words = text.split() if isinstance(text, str) else listed(text, where, "words")
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"{where}: a word must be text, not {shown(word)}")
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise InputError(f"{where}: {word!r} has a lone surrogate, no character")
    return words


def encode_texts(
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[Text],
    max_length: int,
    type_stride: int = 0,
    prompt: Prompt | None = None,
) -> list[Encoding]:
    """Encode texts; those longer than ``max_length`` tokens are cut, with a warning and a count.

    Of a pair, tokens of the longer text are cut first.

    Args:
        tokenizer: the model's tokenizer.
        texts: strings, which are split at blanks, or lists of words; tuples of two are pairs.
        max_length: most tokens, special ones included.
        type_stride: what token ids grow by with each token type; 0 for models without types.
        prompt: the frame around each text, if there is one; a text that is too long loses words.

    Raises:
        InputError: a text without any content token, or no text; names its position.
    """
    word_lists = split_words(texts)
    joined: list[str | tuple[str, str]] = [
        (" ".join(words[0]), " ".join(words[1])) if isinstance(words, tuple) else " ".join(words)
        for words in word_lists
    ]
    for position, text in enumerate(joined):
        if not all(part.strip() for part in ((text,) if isinstance(text, str) else text)):
            raise InputError(f"text {position}: is empty; there is nothing to explain")
        if not isinstance(text, str):
            check_pairs(tokenizer, f"text {position}")
    if not joined:
        return []
    if prompt is None:
        encodings = _encoded(tokenizer, joined, word_lists, max_length, type_stride)
    else:
        encodings = _prompted(tokenizer, prompt, word_lists, max_length)
    cut = sum(encoding.truncated for encoding in encodings)
    if cut:
        log.warning(
            "%d of %d texts are longer than %d tokens and were cut", cut, len(joined), max_length
        )
    return encodings


def _prompted(
    tokenizer: PreTrainedTokenizerFast, prompt: Prompt, word_lists: Sequence[Words], max_length: int
) -> list[Encoding]:
    texts = []
    for position, words in enumerate(word_lists):
        if isinstance(words, tuple):
            raise InputError(
                f"text {position}: is a pair, and the prompt takes one text; join them"
            )
        texts.append(" ".join(words))
    encodings = []
    for position, found in enumerate(read(tokenizer, prompt, texts, max_length)):
        if not found.content.any():
            raise InputError(f"text {position}: {texts[position]!r} has no token to explain")
        words = [str(word) for word in word_lists[position]]
        outside = np.where(found.special, SPECIAL_WORD, FRAME_WORD)
        own = words_of_tokens(found.offsets.tolist(), (~found.content).tolist(), words)
        encodings.append(
            Encoding(
                text=texts[position],
                token_ids=np.array(found.token_ids, dtype=np.int64),
                tokens=tuple(tokenizer.convert_ids_to_tokens(found.token_ids)),
                word_ids=np.where(found.content, own, outside),
                special_mask=~found.content,
                truncated=found.truncated,
                offsets=found.offsets,
                straddling=found.straddling,
            )
        )
    return encodings


def _encoded(
    tokenizer: PreTrainedTokenizerFast,
    joined: Sequence[str | tuple[str, str]],
    word_lists: Sequence[Words],
    max_length: int,
    type_stride: int,
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
        ids, special = batch["input_ids"][row], batch["special_tokens_mask"][row]
        if all(special):
            raise InputError(f"text {position}: {joined[position]!r} has no token to explain")
        offsets = np.array(batch["offset_mapping"][row], dtype=np.int64).reshape(-1, 2)
        encoding = Encoding(
            text="",
            token_ids=np.array(ids, dtype=np.int64),
            tokens=tuple(tokenizer.convert_ids_to_tokens(ids)),
            word_ids=np.full(len(ids), SPECIAL_WORD, dtype=np.int64),
            special_mask=np.array(special, dtype=bool),
            truncated=bool(windows[position] > 1),
            offsets=offsets,
        )
        words = word_lists[position]
        if isinstance(words, tuple):
            encoding = _laid_out(encoding, batch.sequence_ids(row), words, f"text {position}")
            if type_stride and "token_type_ids" in batch:
                types = np.array(batch["token_type_ids"][row], dtype=np.int64)
                encoding = replace(encoding, token_ids=encoding.token_ids + types * type_stride)
        else:
            own = words_of_tokens(offsets.tolist(), special, words)
            encoding = replace(encoding, text=" ".join(words), word_ids=own)
        encodings.append(encoding)
    return encodings


def _laid_out(
    encoding: Encoding,
    part_of: Sequence[int | None],
    words: tuple[Sequence[str], Sequence[str]],
    where: str,
) -> Encoding:
    """Return a pair's encoding with one text of both, and words and spans in that.

    Args:
        encoding: without text and words; spans are those in the text that a token is of.
        part_of: (t,) 0 or 1, the text that each token is of; None for special tokens.
        words: of both texts.
        where: how an error names it.
    """
    members = [np.array([part == side for part in part_of]) for side in (0, 1)]
    if not all(member.any() for member in members):
        raise InputError(f"{where}: no token of one text of the pair is left to explain")
    between = range(int(np.flatnonzero(members[0])[-1]) + 1, int(members[1].argmax()))
    assert encoding.offsets is not None
    pair = " ".join(words[0]), " ".join(words[1])
    offsets, word_ids, end = encoding.offsets.copy(), encoding.word_ids.copy(), len(pair[0]) + 1
    for side, member in enumerate(members):
        own = words_of_tokens(offsets.tolist(), (~member).tolist(), words[side])
        word_ids[member] = own[member] + side * len(words[0])
    for place in between:
        offsets[place] = end, end + len(encoding.tokens[place])
        end = int(offsets[place, 1])
    offsets[members[1]] += end + 1
    marks = "".join(encoding.tokens[place] for place in between)
    return replace(
        encoding, text=f"{pair[0]} {marks} {pair[1]}", word_ids=word_ids, offsets=offsets, pair=pair
    )
