"""Scores that another tool wrote to a JSONL file, one explanation a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from annotated_types import MinLen
from pydantic import ConfigDict

from exparity.core.errors import InputError, within
from exparity.core.validation import Settings
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
    a ``target``, which is the index or the name of a class, and ``scores``, one for each word or
    for each of its ``tokens``. Other keys are not read.

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
        where, line = _line_of(index, file, key, encoding)
        with within(f"{where}: "):
            explained = batch.classifier.class_index(line.target)
        if explained != target:
            raise InputError(
                f"{where}: explains class {line.target} of example '{key}', and class "
                f"{target} is to be explained; set `target` (label or predicted) to what the "
                "file explains"
            )
        if line.string and line.string != _text_of(encoding):
            raise InputError(f"{where}: its text is not that of example '{key}'")
        values = np.array(line.scores)
        try:
            if line.tokens is None:
                scores.append(alignment.of_words(encoding, values))
            else:
                scores.append(alignment.of_tokens(encoding, line.tokens, values))
        except InputError as error:
            reason = str(error).removeprefix(f"explanation of {encoding.text!r}: ")
            raise InputError(f"{where}: {reason}") from None
    return scores


class _Line(Settings):
    """One explanation of a file: a score for each word, or for each of its tokens."""

    model_config = ConfigDict(extra="ignore")

    target: int | str
    scores: Annotated[list[float], MinLen(1)]
    tokens: list[str] | None = None
    words: list[str] | str = ""
    text: list[str] | str = ""
    example_id: str | None = None

    @property
    def string(self) -> str:
        """The words with single blanks between them; empty where none are written."""
        written = self.words or self.text
        return " ".join(written.split() if isinstance(written, str) else written)


_Key = tuple[Literal["example_id", "text"], str]
_Index = Mapping[_Key, Sequence[tuple[str, _Line]]]
"""Lines, and where each stands, by what they are found by."""


# Read once for all parts of a job.
@lru_cache(maxsize=1)
def _indexed(file: Path, changed: int, size: int) -> _Index:
    index: dict[_Key, list[tuple[str, _Line]]] = {}
    for where, row in read_jsonl(file):
        with within(f"{where}: "):
            line = _Line(**row)
        if line.example_id is None and not line.string:
            raise InputError(
                f"{where}: does not say what it explains; give it an example_id, text or words"
            )
        key: _Key = ("text", line.string)
        key = key if line.example_id is None else ("example_id", line.example_id)
        index.setdefault(key, []).append((where, line))
    return index


def _text_of(encoding: Encoding) -> str:
    """Return the words of a text with single blanks between them, as lines are found by."""
    written = encoding.written
    return " ".join(encoding.text.split() if not isinstance(written, Text) else written.words)


def _line_of(index: _Index, file: Path, key: str, encoding: Encoding) -> tuple[str, _Line]:
    keys: list[_Key] = [("example_id", key), ("text", _text_of(encoding))]
    lines = [line for one in keys for line in index.get(one, ())]
    if not lines:
        raise InputError(
            f"{file}: no line explains example '{key}'; each takes one, with its example_id, its "
            "text or its words"
        )
    (where, first), *others = lines
    for place, other in others:
        same = (first.target, first.scores) == (other.target, other.scores)
        if first.example_id is not None or not same:
            raise InputError(
                f"{place}: example '{key}' is explained in {where} as well; keep one, "
                "or name the example_id where texts are alike"
            )
    return where, first
