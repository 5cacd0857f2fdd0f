"""Scores that another tool wrote to a JSONL, Parquet or Arrow file, one explanation a row."""

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
from exparity.data.files import COLUMNAR, read_columnar, read_jsonl
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
    """Scores of a file that another tool wrote, laid on the model's tokens.

    A line explains the example of its ``example_id``, or else of its ``text`` or ``words``. It has
    a ``target``, which is the index or the name of a class, and ``scores``, one for each word or
    for each of its ``tokens``. Other keys are not read. Rows of Thermostat (Feldhus et al. 2021,
    arXiv:2108.13961) have ``input_ids``, ``attributions`` and ``predictions`` instead; they explain
    the text with these ids, and its highest prediction.

    Args:
        batch: the texts.
        path: the file, Parquet or Arrow if its name ends in ``.parquet`` or ``.arrow``, else JSONL;
            in a config with ``{dataset}``, ``{model}`` and ``{seed}`` for those of each classifier.

    Returns:
        (t,) scores for each text, in the tool's unit.

    Raises:
        InputError: a text has no line or several, a line explains another class, or its words or
            tokens are not the text's; names file and line.
    """
    file = Path(path)
    if not path or not file.is_file():
        raise InputError(f"method imported: path: no file '{path}'; name the file to read")
    state = file.stat()
    classifier = batch.classifier
    padding_id = classifier.tokenizer.pad_token_id
    index = _indexed(file, state.st_mtime_ns, state.st_size, padding_id)
    scores = []
    for key, encoding, target in zip(batch.keys, batch.encodings, batch.targets, strict=True):
        indices, _ = classifier.split_types(encoding.token_ids)
        token_ids = indices.tolist()
        places: list[_Key] = [
            ("example_id", key),
            ("text", _text_of(encoding)),
            ("input_ids", _content(token_ids, padding_id)),
        ]
        where, line = _line_of(index, file, places)
        with within(f"{where}: "):
            explained = classifier.class_index(line.target)
        if explained != target:
            raise InputError(
                f"{where}: explains class {line.target} of example '{key}', and class "
                f"{target} is to be explained; set `target` (label or predicted) to what the "
                "file explains"
            )
        if line.string and line.string != _text_of(encoding):
            raise InputError(f"{where}: its text is not the text of example '{key}'")
        values = np.array(line.scores)
        try:
            if isinstance(line, _PaddedLine):
                scores.append(values[_place_of(token_ids, line.input_ids)])
            elif line.tokens is None:
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


class _PaddedLine(_Line):
    """One explanation of token ids: a score for each."""

    input_ids: list[int]


class _OfThermostat(Settings):
    """A row of Thermostat: scores of token ids, and the model's logits."""

    model_config = ConfigDict(extra="ignore")

    attributions: Annotated[list[float], MinLen(1)]
    input_ids: Annotated[list[int], MinLen(1)]
    predictions: Annotated[list[float], MinLen(1)]

    @property
    def line(self) -> _PaddedLine:
        """The same as a line, which explains the highest prediction."""
        ids = self.input_ids
        if len(ids) != len(self.attributions):
            raise InputError(
                f"{len(ids)} input_ids and {len(self.attributions)} attributions; give one for each"
            )
        target = int(np.argmax(self.predictions))
        return _PaddedLine(target=target, scores=self.attributions, input_ids=ids)


_THERMOSTAT = _OfThermostat.model_fields.keys()
_Key = tuple[Literal["example_id", "text", "input_ids"], str]
_Index = Mapping[_Key, Sequence[tuple[str, _Line]]]
"""Lines and the place of each, by the key of a look-up."""


# Read once for all parts of a job.
@lru_cache(maxsize=1)
def _indexed(file: Path, changed: int, size: int, padding_id: int | None) -> _Index:
    del changed, size  # a file that has changed is read again
    index: dict[_Key, list[tuple[str, _Line]]] = {}
    rows = read_columnar if file.suffix.lower() in COLUMNAR else read_jsonl
    for where, row in rows(file):
        with within(f"{where}: "):
            line = _line_from(row)
        index.setdefault(_key_of(line, where, padding_id), []).append((where, line))
    return index


def _line_from(row: Mapping[str, object]) -> _Line:
    return _OfThermostat(**row).line if row.keys() >= _THERMOSTAT else _Line(**row)


def _key_of(line: _Line, where: str, padding_id: int | None) -> _Key:
    """Return what a line is found by."""
    if line.example_id is not None:
        return "example_id", line.example_id
    if line.string:
        return "text", line.string
    if isinstance(line, _PaddedLine):
        return "input_ids", _content(line.input_ids, padding_id)
    raise InputError(
        f"{where}: does not say what it explains; give it an example_id, text or words"
    )


def _content(token_ids: Sequence[int], padding_id: int | None) -> str:
    """Return token ids without the padding before and after them, as a text is found by them."""
    places = [place for place, token_id in enumerate(token_ids) if token_id != padding_id] or [0]
    return " ".join(map(str, token_ids[places[0] : places[-1] + 1]))


def _place_of(token_ids: Sequence[int], padded: Sequence[int]) -> slice:
    """Return where a text's ids are among those of a padded row."""
    length = len(token_ids)
    starts = range(len(padded) - length + 1)
    start = next((i for i in starts if padded[i : i + length] == token_ids), None)
    if start is None:
        raise InputError("its input_ids are not those of the text")
    return slice(start, start + length)


def _text_of(encoding: Encoding) -> str:
    """Return the words of a text with single blanks between them, as lines are found by."""
    written = encoding.written
    return " ".join(encoding.text.split() if not isinstance(written, Text) else written.words)


def _line_of(index: _Index, file: Path, keys: Sequence[_Key]) -> tuple[str, _Line]:
    """Return the line that explains a text, by its example_id or another of its keys."""
    (_, example_id), *_ = keys
    lines = [line for key in keys for line in index.get(key, ())]
    if not lines:
        raise InputError(
            f"{file}: no line explains example '{example_id}'; each takes one, with its "
            "example_id, its text or its words"
        )
    (where, first), *others = lines
    for place, other in others:
        same = (first.target, first.scores) == (other.target, other.scores)
        if first.example_id is not None or not same:
            raise InputError(
                f"{place}: example '{example_id}' is explained in {where} as well; keep one, "
                "or name the example_id where texts are alike"
            )
    return where, first
