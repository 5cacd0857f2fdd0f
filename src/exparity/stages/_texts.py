"""Encoding the texts of a job chunk by chunk, so that memory does not grow with their number."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from exparity.core.errors import InputError
from exparity.interface import Encoding, Example
from exparity.models.checkpoints import check_known

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)


def check_texts(classifier: Classifier, chunks: Sequence[Sequence[Example]]) -> list[Encoding]:
    """Encode every text once, which takes little, so that a bad one is found before any work.

    Returns:
        The encodings of the first chunk. Those of the others are made again when it is their turn.

    Raises:
        InputError: names the first text without any token to explain, or the tokenizer does not
            know the data's words.
    """
    first: list[Encoding] = []
    cut = unknown = total = 0
    for position, chunk in enumerate(chunks):
        encodings = encode(classifier, chunk)
        first = first if position else encodings
        cut += sum(encoding.truncated for encoding in encodings)
        for encoding in encodings:
            content = encoding.token_ids[~encoding.special_mask]
            unknown += int((content == classifier.tokenizer.unk_token_id).sum())
            total += len(content)
    check_known(classifier.tokenizer, unknown, total)
    if cut:
        texts, limit = sum(map(len, chunks)), classifier.max_length
        log.warning("%d of %d texts are longer than %d tokens and were cut", cut, texts, limit)
    return first


def encode(classifier: Classifier, examples: Sequence[Example]) -> list[Encoding]:
    """Encode the texts of one chunk.

    Raises:
        InputError: names the first text without any token to explain.
    """
    encoder = logging.getLogger("exparity.engine.encoding")
    level = encoder.level
    encoder.setLevel(logging.ERROR)  # check_texts counts the texts of all chunks that are cut
    try:
        return classifier.encode([example.words for example in examples])
    except InputError as error:
        position, _, reason = str(error).removeprefix("text ").partition(": ")
        name = examples[int(position)].example_id
        raise InputError(f"example '{name}': {reason}") from None
    finally:
        encoder.setLevel(level)
