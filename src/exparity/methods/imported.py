"""Scores that another tool wrote to a JSONL file, one explanation a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from exparity.core.calls import array_of, checked_value, listed
from exparity.core.errors import InputError, within
from exparity.data.files import read_jsonl
from exparity.explanations import alignment
from exparity.methods import MethodBatch, method
from exparity.types import Encoding, FloatArray, Text


@method(
    "imported",
    signed=True,
    needs_gradient=False,
    target="none",
    baseline="that of the tool",
    stochastic=False,
    reference="a file of your own",
    path_options=("path",),
    repeatable=False,
)
def imported(batch: MethodBatch, *, path: str = "") -> list[FloatArray]:
    """Scores of a JSONL file that another tool wrote, laid on the model's tokens.

    A line explains the example of its ``example_id``, or else of its ``text`` or ``words``. It has
    a ``target`` and ``scores``, one for each word or for each of its ``tokens``. Other keys are not
    read.

    Args:
        batch: the texts.
        path: the JSONL file; in a config with ``{dataset}``, ``{model}`` and ``{seed}`` for those
            of each classifier.

    Returns:
        (t,) scores for each text, in the tool's unit.

    Raises:
        InputError: a text has no line or several, a line explains another class, or its words or
            tokens are not the text's; names file and line.
    """
    file = Path(path)
    if not path or not file.is_file():
        raise InputError(f"method imported: path: no file '{path}'; name the JSONL file to read")
    state = file.stat()
    index = _indexed(file, state.st_mtime_ns, state.st_size)
    scores = []
    for key, encoding, target in zip(batch.keys, batch.encodings, batch.targets, strict=True):
        line = _line_of(index, file, key, encoding)
        if line.target != target:
            raise InputError(
                f"{line.where}: explains class {line.target} of example '{key}', and class "
                f"{target} is to be explained; set `target` (label or predicted) to what the "
                "file explains"
            )
        scores.append(line.laid_on(encoding))
    return scores


@dataclass(frozen=True)
class _Line:
    """One explanation of a file: a score for each word, or for each of its tokens."""

    where: str
    key: tuple[str, str]
    target: int
    scores: FloatArray
    text: str | None
    tokens: tuple[str, ...] | None

    def laid_on(self, encoding: Encoding) -> FloatArray:
        """Return the (t,) scores of a text's tokens."""
        if self.text not in (None, _text_of(encoding)):
            raise InputError(f"{self.where}: its text is not that of example '{self.key[1]}'")
        try:
            if self.tokens is not None:
                return alignment.of_tokens(encoding, self.tokens, self.scores)
            return alignment.of_words(encoding, self.scores)
        except InputError as error:
            reason = str(error).removeprefix(f"explanation of {encoding.text!r}: ")
            raise InputError(f"{self.where}: {reason}") from None


_Index = Mapping[tuple[str, str], Sequence[_Line]]
"""Lines by the key that they are found by, ``example_id`` or ``text``, and its value."""


# Read once for all parts of a job.
@lru_cache(maxsize=1)
def _indexed(file: Path, changed: int, size: int) -> _Index:
    index: dict[tuple[str, str], list[_Line]] = {}
    for where, row in read_jsonl(file):
        with within(f"{where}: "):
            line = _read(where, row)
        index.setdefault(line.key, []).append(line)
    return index


def _read(where: str, row: Mapping[str, Any]) -> _Line:
    text, tokens = None, None
    if "words" in row or "text" in row:
        name = "words" if "words" in row else "text"
        words = row[name].split() if isinstance(row[name], str) else listed(row[name], name, "text")
        text = " ".join(checked_value(word, str, name) for word in words)
    if "tokens" in row:
        given = listed(row["tokens"], "tokens", "text")
        tokens = tuple(checked_value(token, str, "token") for token in given)
    for name in ("scores", "target"):
        if name not in row:
            raise InputError(f"no '{name}'; its keys are {', '.join(row)}")
    scores = array_of(float, row["scores"], "scores")
    strays = np.flatnonzero(~np.isfinite(scores))
    if strays.size or not scores.size:
        place = f"[{strays[0]}] is {scores[strays[0]]}" if strays.size else " is empty"
        raise InputError(f"scores{place}; leave out texts that the tool could not explain")
    if "example_id" in row:
        key = "example_id", checked_value(row["example_id"], str, "example_id")
    elif text:
        key = "text", text
    else:
        raise InputError("does not say what it explains; give it an example_id, text or words")
    return _Line(where, key, checked_value(row["target"], int, "target"), scores, text, tokens)


def _text_of(encoding: Encoding) -> str:
    """Return the words of a text with single blanks between them, as lines are found by."""
    written = encoding.written
    return " ".join(encoding.text.split() if not isinstance(written, Text) else written.words)


def _line_of(index: _Index, file: Path, key: str, encoding: Encoding) -> _Line:
    names = ("example_id", key), ("text", _text_of(encoding))
    lines = [line for name in names for line in index.get(name, ())]
    if not lines:
        raise InputError(
            f"{file}: no line explains example '{key}'; each takes one, with its example_id, its "
            "text or its words"
        )
    first, *others = lines
    for other in others:
        same = first.target == other.target and np.array_equal(first.scores, other.scores)
        if "example_id" in (first.key[0], other.key[0]) or not same:
            raise InputError(
                f"{other.where}: example '{key}' is explained in {first.where} as well; keep one, "
                "or name the example_id where texts are alike"
            )
    return first
