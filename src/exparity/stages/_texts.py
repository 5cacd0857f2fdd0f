"""Encoding the texts of a job chunk by chunk, so that memory does not grow with their number."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    kept: list[Encoding] = []
    cut = unknown = total = 0
    for position, chunk in enumerate(chunks):
        found = encode(classifier, chunk)
        cut += sum(encoding.truncated for encoding in found)
        for encoding in found:
            content = encoding.token_ids[~encoding.special_mask]
            unknown += int((content == classifier.tokenizer.unk_token_id).sum())
            total += len(content)
        kept = kept if position else found
    check_known(classifier.tokenizer, unknown, total)
    if cut:
        log.warning(
            "%d of %d texts are longer than %d tokens and were cut",
            cut, sum(map(len, chunks)), classifier.max_length,
        )  # fmt: skip
    return kept


def encode(classifier: Classifier, examples: Sequence[Example]) -> list[Encoding]:
    """Encode the texts of one chunk.

    Raises:
        InputError: names the first text without any token to explain.
    """
    with _one_warning_a_job():
        try:
            return classifier.encode([example.words for example in examples])
        except InputError:
            for example in examples:
                _check(classifier, example)
            raise


def _check(classifier: Classifier, example: Example) -> None:
    try:
        classifier.encode([example.words])
    except InputError as error:
        reason = str(error).partition(": ")[2]  # without the position in a list of one
        raise InputError(f"example '{example.example_id}': {reason}") from None


@contextmanager
def _one_warning_a_job() -> Iterator[None]:
    """Keep the encoder from counting cut texts chunk by chunk: :func:`check_texts` does it once."""
    encoder = logging.getLogger("exparity.engine.encoding")
    before = encoder.level
    encoder.setLevel(logging.ERROR)
    try:
        yield
    finally:
        encoder.setLevel(before)
