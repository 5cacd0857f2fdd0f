"""Scores that another tool wrote to a JSONL file, one explanation a line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exparity.core.errors import InputError
from exparity.methods import MethodBatch, method
from exparity.methods._lines import ExplanationLine, Index, indexed, text_of, without_padding
from exparity.types import Encoding, FloatArray


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

    A line explains the example of its ``example_id``, or else of its ``text``, ``words`` or
    ``input_ids``. It has a ``target`` and ``scores``, one for each word or for each of its
    ``tokens``; or, as in Thermostat, ``attributions`` of ``input_ids`` for the class that its
    ``predictions`` are highest for. Other keys are not read.

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
    padding, state = batch.classifier.pad_id, file.stat()
    index = indexed(file, padding, state.st_mtime_ns, state.st_size)
    scores = []
    for key, encoding, target in zip(batch.keys, batch.encodings, batch.targets, strict=True):
        line = _line_of(index, file, key, encoding, padding)
        if line.n_classes not in (None, batch.classifier.n_classes):
            raise InputError(
                f"{line.where}: predictions of {line.n_classes} classes, and the model has "
                f"{batch.classifier.n_classes}; these are explanations of another model"
            )
        if line.target != target:
            raise InputError(
                f"{line.where}: explains class {line.target} of example '{key}', and class "
                f"{target} is to be explained; set `target` (label or predicted) to what the "
                "file explains"
            )
        scores.append(line.laid_on(encoding, padding))
    return scores


def _line_of(
    index: Index, file: Path, key: str, encoding: Encoding, padding: int
) -> ExplanationLine:
    names = (
        ("example_id", key),
        ("text", text_of(encoding)),
        ("input_ids", without_padding(encoding.token_ids, padding)),
    )
    lines = [line for name in names for line in index.get(name, ())]
    if not lines:
        raise InputError(
            f"{file}: no line explains example '{key}'; each takes one, with its example_id, its "
            "text or words, or the input_ids that this model's tokenizer makes of it"
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
