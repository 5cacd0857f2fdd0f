"""Explanations in a JSONL file, one a line: our layout, and that of Thermostat."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from exparity.core.calls import array_of, checked_value, listed
from exparity.core.errors import InputError
from exparity.data.files import read_jsonl
from exparity.explanations import alignment
from exparity.types import Encoding, FloatArray, IntArray, Text

Key = tuple[str, Hashable]
"""Key of a line: the name of a key, ``example_id``, ``text`` or ``input_ids``, and its
value."""
Index = Mapping[Key, Sequence["ExplanationLine"]]


def text_of(encoding: Encoding) -> str:
    """Return the words of a text with single blanks between them, as lines are found by."""
    written = encoding.written
    return " ".join(encoding.text.split() if not isinstance(written, Text) else written.words)


@dataclass(frozen=True)
class ExplanationLine:
    """One explanation of a file.

    Attributes:
        where: file and line.
        key: what it is found by.
        target: class index that it explains.
        scores: one for each word, or for each of ``tokens`` or ``token_ids``.
        text: of the example, if the line has it.
        tokens: names of the tokens, if that is what is scored.
        token_ids: ids of the tokens, with padding around them, if that is what is scored.
        n_classes: of the model, if the line says.
    """

    where: str
    key: Key
    target: int
    scores: FloatArray
    text: str | None = None
    tokens: tuple[str, ...] | None = None
    token_ids: IntArray | None = None
    n_classes: int | None = None

    def laid_on(self, encoding: Encoding, padding: int) -> FloatArray:
        """Return the (t,) scores of a text's tokens."""
        if self.text not in (None, text_of(encoding)):
            raise InputError(f"{self.where}: its text is not that of example '{self.key[1]}'")
        try:
            if self.token_ids is not None:
                return alignment.of_ids(encoding, self.token_ids, self.scores, padding)
            if self.tokens is not None:
                return alignment.of_tokens(encoding, self.tokens, self.scores)
            return alignment.of_words(encoding, self.scores)
        except InputError as error:
            reason = str(error).removeprefix(f"explanation of {encoding.text!r}: ")
            raise InputError(f"{self.where}: {reason}") from None


# Read once for all parts of a job.
@lru_cache(maxsize=1)
def indexed(file: Path, padding: int, changed: int, size: int) -> Index:
    """Return the lines of a file by what they are found by."""
    index: dict[Key, list[ExplanationLine]] = {}
    for number, row in read_jsonl(file):
        where = f"{file}:{number}"
        try:
            line = _thermostat(where, row, padding) if "attributions" in row else _own(where, row)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        index.setdefault(line.key, []).append(line)
    return index


def _own(where: str, row: Mapping[str, Any]) -> ExplanationLine:
    text, tokens = None, None
    if "words" in row or "text" in row:
        name = "words" if "words" in row else "text"
        words = row[name].split() if isinstance(row[name], str) else listed(row[name], name, "text")
        text = " ".join(checked_value(word, str, name) for word in words)
    if "tokens" in row:
        tokens = tuple(
            checked_value(t, str, "token") for t in listed(row["tokens"], "tokens", "text")
        )
    scores = _numbers(row, "scores")
    target = checked_value(_value(row, "target"), int, "target")
    return ExplanationLine(
        where, _key(row, ("text", text) if text else None), target, scores, text, tokens
    )


def _thermostat(where: str, row: Mapping[str, Any], padding: int) -> ExplanationLine:
    """Return a line of Thermostat's layout (Feldhus et al. 2021)."""
    ids = array_of(int, _value(row, "input_ids"), "input_ids")
    scores, predictions = _numbers(row, "attributions"), _numbers(row, "predictions")
    if len(ids) != len(scores):
        raise InputError(f"{len(ids)} input_ids but {len(scores)} attributions; give one for each")
    return ExplanationLine(
        where,
        _key(row, ("input_ids", without_padding(ids, padding))),
        int(predictions.argmax()),
        scores,
        token_ids=ids,
        n_classes=len(predictions),
    )


def _key(row: Mapping[str, Any], otherwise: Key | None) -> Key:
    if "example_id" in row:
        return "example_id", checked_value(row["example_id"], str, "example_id")
    if otherwise is None:
        raise InputError("does not say what it explains; give it an example_id, text or words")
    return otherwise


def _value(row: Mapping[str, Any], name: str) -> Any:
    if name not in row:
        raise InputError(f"no '{name}'; its keys are {', '.join(row)}")
    return row[name]


def _numbers(row: Mapping[str, Any], name: str) -> FloatArray:
    numbers = array_of(float, _value(row, name), name)
    strays = np.flatnonzero(~np.isfinite(numbers))
    if strays.size or not numbers.size:
        place = f"[{strays[0]}] is {numbers[strays[0]]}" if strays.size else " is empty"
        raise InputError(f"{name}{place}; leave out texts that the tool could not explain")
    return numbers


def without_padding(token_ids: IntArray, padding: int) -> tuple[int, ...]:
    """Return (t,) token ids without the padding around them."""
    held = np.flatnonzero(token_ids != padding)
    return tuple(token_ids[held[0] : held[-1] + 1].tolist()) if held.size else ()
