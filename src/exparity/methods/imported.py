"""Scores that another tool wrote to a JSONL or Parquet file, one explanation a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import MinLen
from pydantic import ConfigDict

from exparity.core.errors import InputError, reason_of, within
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
    """Scores of a JSONL or Parquet file that another tool wrote, laid on the model's tokens.

    A line explains the example of its ``example_id``, or else of its ``text`` or ``words``. It has
    a ``target``, which is the index or the name of a class, and ``scores``, one for each word or
    for each of its ``tokens``. Other keys are not read. Rows of Thermostat (Feldhus et al. 2021,
    arXiv:2108.13961) have ``input_ids``, ``attributions`` and ``predictions`` instead; they explain
    the text with these ids, and its highest prediction.

    Args:
        batch: the texts.
        path: the file, Parquet if its name ends in ``.parquet``, else JSONL; in a config with
            ``{dataset}``, ``{model}`` and ``{seed}`` for those of each classifier.

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
            if line.input_ids:
                scores.append(values[: len(encoding)])  # the rest is padding
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
    input_ids: Sequence[int] = ()

    @property
    def string(self) -> str:
        """The words with single blanks between them; empty where none are written."""
        written = self.words or self.text
        return " ".join(written.split() if isinstance(written, str) else written)


class _OfThermostat(Settings):
    """A row of Thermostat: scores of token ids, and the model's logits."""

    model_config = ConfigDict(extra="ignore")

    attributions: Annotated[list[float], MinLen(1)]
    input_ids: Annotated[list[int], MinLen(1)]
    predictions: Annotated[list[float], MinLen(1)]

    @property
    def line(self) -> _Line:
        """The same as a line, which explains the highest prediction."""
        ids = self.input_ids
        if len(ids) != len(self.attributions):
            raise InputError(
                f"{len(ids)} input_ids and {len(self.attributions)} attributions; give one for each"
            )
        target = int(np.argmax(self.predictions))
        return _Line(target=target, scores=self.attributions, input_ids=ids)


_THERMOSTAT = _OfThermostat.model_fields.keys()
_Key = tuple[Literal["example_id", "text", "input_ids"], str]
_Index = Mapping[_Key, Sequence[tuple[str, _Line]]]
"""Lines, and where each stands, by what they are found by."""


# Read once for all parts of a job.
@lru_cache(maxsize=1)
def _indexed(file: Path, changed: int, size: int) -> _Index:
    index: dict[_Key, list[tuple[str, _Line]]] = {}
    for where, row in _rows_of(file):
        with within(f"{where}: "):
            line = _OfThermostat(**row).line if row.keys() >= _THERMOSTAT else _Line(**row)
        for key in _keys_of(line, where):
            index.setdefault(key, []).append((where, line))
    return index


def _rows_of(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each row."""
    if file.suffix != ".parquet":
        yield from read_jsonl(file)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(file).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{file}: not a readable Parquet file ({reason_of(error)})") from None
    for number, row in enumerate(rows):
        yield f"{file}: row {number}", row


def _keys_of(line: _Line, where: str) -> list[_Key]:
    """Return what a line is found by; of ids both with and without what may be padding."""
    if line.example_id is not None:
        return [("example_id", line.example_id)]
    if line.string:
        return [("text", line.string)]
    if line.input_ids:
        ids = line.input_ids
        padding = sum(1 for _ in takewhile(ids[-1].__eq__, reversed(ids)))
        return [("input_ids", _joined(ids)), ("input_ids", _joined(ids[: len(ids) - padding]))]
    raise InputError(
        f"{where}: does not say what it explains; give it an example_id, text or words"
    )


def _joined(ids: Iterable[int]) -> str:
    return " ".join(map(str, ids))


def _text_of(encoding: Encoding) -> str:
    """Return the words of a text with single blanks between them, as lines are found by."""
    written = encoding.written
    return " ".join(encoding.text.split() if not isinstance(written, Text) else written.words)


def _line_of(index: _Index, file: Path, key: str, encoding: Encoding) -> tuple[str, _Line]:
    keys: list[_Key] = [
        ("example_id", key),
        ("text", _text_of(encoding)),
        ("input_ids", _joined(encoding.token_ids.tolist())),
    ]
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
