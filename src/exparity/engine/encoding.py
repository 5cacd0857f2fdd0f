"""From text to token ids, with the word that each token belongs to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from exparity.core.calls import is_missing, listed
from exparity.core.errors import InputError, shown
from exparity.models.inputs import check_pairs, words_of_tokens
from exparity.models.prompts import Prompt, encode_prompt
from exparity.types import SPECIAL_WORD, Encoding, Parts, Text, TextLike, is_pair

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

log = logging.getLogger(__name__)


_TEXTS = 'strings, such as ["one text"]'


def as_list(texts: str | Text | Sequence[TextLike]) -> Sequence[TextLike]:
    """Return texts as a list of them: of a single text, or one pair of strings, a list of one."""
    if isinstance(texts, str | Text) or is_pair(texts):
        return [cast(TextLike, texts)]
    return listed(texts, "texts", _TEXTS)  # once: an iterator is at its end then


def parted(texts: Sequence[TextLike], name: str = "texts") -> list[Parts]:
    """Return each text with its words, or both of a pair, which is a tuple of two."""
    parts: list[Parts] = []
    for position, text in enumerate(listed(texts, name, _TEXTS)):
        where = f"text {position}"
        if isinstance(text, tuple) and len(text) == 2:
            parts.append((_text(text[0], where), _text(text[1], where)))
        else:
            parts.append(_text(text, where))
    return parts


def _text(text: str | Text | Sequence[str], where: str) -> Text:
    if isinstance(text, str):
        text = Text.of(text)
    elif not isinstance(text, Text):
        if is_missing(text):
            raise InputError(f"missing text in row {where.partition(' ')[2]}; leave it out")
        words = listed(text, where, "words")
        for word in words:
            if not isinstance(word, str):
                raise InputError(f"{where}: a word must be text, not {shown(word)}")
        text = Text.of_words(words)
    string = text.string
    if not string.isascii() and any("\ud800" <= letter <= "\udfff" for letter in string):
        raise InputError(f"{where}: {string!r} has a lone surrogate, no character")
    return text


def encode_texts(
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[TextLike],
    max_length: int,
    type_stride: int = 0,
    prompt: Prompt | None = None,
) -> list[Encoding]:
    """Encode texts, or pairs; those longer than ``max_length`` tokens are cut, which is counted.

    Of a pair, tokens of the longer text are cut first; in a prompt, words of the text. Token ids
    grow by ``type_stride`` with each token type; it is 0 for models without types.
    """
    with_words = parted(texts)
    for position, parts in enumerate(with_words):
        members = parts if isinstance(parts, tuple) else (parts,)
        if not all(member.string.strip() and member.spans for member in members):
            raise InputError(f"text {position}: is empty; there is nothing to explain")
        if len(members) == 2:
            check_pairs(tokenizer, f"text {position}")
    if not with_words:
        return []
    if prompt is None:
        encodings = _encoded(tokenizer, with_words, max_length, type_stride)
    else:
        encodings = encode_prompt(tokenizer, prompt, single(with_words, "prompt"), max_length)
    for position, encoding in enumerate(encodings):
        if encoding.special_mask.all():
            raise InputError(f"text {position}: {encoding.text!r} has no token to explain")
    if cut := sum(encoding.truncated for encoding in encodings):
        log.warning(
            "%d of %d texts are longer than %d tokens and were cut", cut, len(texts), max_length
        )
    return encodings


def single(texts: Sequence[Parts], taker: str) -> list[Text]:
    """Return texts for a prompt or a function, the ``taker``; refuse pairs."""
    alone = [text for text in texts if not isinstance(text, tuple)]
    if len(alone) < len(texts):
        place = next(place for place, text in enumerate(texts) if isinstance(text, tuple))
        raise InputError(f"text {place}: is a pair, and a {taker} takes one text; join them")
    return alone


def _encoded(
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[Parts],
    max_length: int,
    type_stride: int,
) -> list[Encoding]:
    strings = [
        (text[0].string, text[1].string) if isinstance(text, tuple) else text.string
        for text in texts
    ]
    # Lengths are checked here, so that the tokenizer need not warn and cut texts are counted.
    batch = tokenizer(
        strings,
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
        ids = batch["input_ids"][row]
        special = batch["special_tokens_mask"][row]
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
        text = texts[position]
        if isinstance(text, tuple):
            encoding = _laid_out(encoding, batch.sequence_ids(row), text, f"text {position}")
            if type_stride and "token_type_ids" in batch:
                types = np.array(batch["token_type_ids"][row], dtype=np.int64)
                encoding = replace(encoding, token_ids=encoding.token_ids + types * type_stride)
        else:
            word_ids = words_of_tokens(offsets.tolist(), special, text)
            encoding = replace(encoding, text=text.string, word_ids=word_ids, written=text)
        encodings.append(encoding)
    return encodings


def _laid_out(
    encoding: Encoding,
    part_of: Sequence[int | None],
    texts: tuple[Text, Text],
    where: str,
) -> Encoding:
    """Return a pair's encoding with one text of both; ``part_of`` is (t,) each token's text."""
    members = [np.array([part == side for part in part_of]) for side in (0, 1)]
    if not all(member.any() for member in members):
        raise InputError(f"{where}: no token of one text of the pair is left to explain")
    between = range(int(np.flatnonzero(members[0])[-1]) + 1, int(members[1].argmax()))
    assert encoding.offsets is not None
    pair = texts[0].string, texts[1].string
    offsets = encoding.offsets.copy()
    word_ids = encoding.word_ids.copy()
    end = len(pair[0]) + 1
    for side, member in enumerate(members):
        words = words_of_tokens(offsets.tolist(), (~member).tolist(), texts[side])
        word_ids[member] = words[member] + side * len(texts[0].spans)
    for place in between:
        offsets[place] = end, end + len(encoding.tokens[place])
        end = int(offsets[place, 1])
    offsets[members[1]] += end + 1
    marks = "".join(encoding.tokens[place] for place in between)
    return replace(
        encoding,
        text=f"{pair[0]} {marks} {pair[1]}",
        word_ids=word_ids,
        offsets=offsets,
        pair=pair,
        written=texts,
    )
