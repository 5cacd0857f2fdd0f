"""Bias in Bios (De-Arteaga et al. 2019): occupations of people from their biographies."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from sys import intern

from exparity.core.errors import InputError, require_known
from exparity.core.flags import Count
from exparity.data import dataset
from exparity.data._known import known_facts, known_files, known_labels
from exparity.data._rows import PlacedRow, read_rows
from exparity.data._split import stratified_sample
from exparity.data.facts import Loaded
from exparity.data.files import DataSource, read_published, split_of
from exparity.data.genders import GROUPS
from exparity.data.training_set import VALIDATES
from exparity.types import Example, Row

log = logging.getLogger(__name__)

FILES = known_files("bias_in_bios")
LABELS = known_labels("bias_in_bios")


@dataset("bias_in_bios", **known_facts("bias_in_bios"))
def bias_in_bios(
    source: DataSource,
    *,
    professions: list[str] | None = None,
    n_train: Count | None = None,
    n_test: Count | None = None,
    dev: bool = True,
    first_sentence: bool = False,
    verify: bool = True,
) -> Loaded:
    """Biographies from the web with one of 28 occupations.

    Args:
        source: where the raw files lie or go.
        professions: those to keep, in the order of the classes; all if None.
        n_train: biographies to train on, with the shares of class and gender of all; all if None.
        n_test: biographies in the test split, likewise.
        dev: train on the published development split too; False to hold it out: nothing is trained
            on it, and it validates trainings that have a ``validation_share``. With ``n_train``, as
            large a share of it is drawn.
        first_sentence: read the whole biography (column ``text``), in which ``_`` stands for every
            name of an occupation; False for the published text without its first sentence.
        verify: refuse the files, whose published SHA-256 is not known; set it to false once you
            have compared them.

    Returns:
        One example a biography; empty ones are left out.
    """
    classes = tuple(LABELS if professions is None else professions)
    for name in classes:
        require_known(name, LABELS, f"dataset bias_in_bios: no profession '{name}'")
    professions_of = dict(enumerate(LABELS))
    genders = dict(enumerate(GROUPS))
    empty: Counter[str] = Counter()

    def example_of(row: Row, part: str, number: int) -> Example | None:
        text = masked(row["text"]) if first_sentence else row["hard_text"]
        words = tuple(map(intern, text.split()))  # few words make many texts
        profession = professions_of[row["profession"]]
        gender = genders[row["gender"]]
        empty[part] += not words
        if not words or profession not in classes:
            return None
        label = classes.index(profession)
        attributes = {VALIDATES: part} if part == "dev" and not dev else {}
        example_id = f"{part}-{number:06d}"
        return Example(example_id, words, label, gender, split_of(part), attributes=attributes)

    columns = ("text" if first_sentence else "hard_text", "profession", "gender")
    examples = read_published(
        source, FILES, partial(_rows, columns=columns), example_of, verify=verify
    )
    for part, n in (+empty).items():
        log.warning("bias_in_bios: left out %d empty biographies of %s", n, part)
    return Loaded(_sampled(examples, n_train, n_test), "gender", GROUPS, classes)


def masked(text: str) -> str:
    """Return a text in which ``_`` stands for every name of an occupation, alone or in plural.

    Chen et al. (2024), appendix B.2; their code is not at hand, so that the words are those of the
    28 classes.
    """
    return _TITLES.sub("_", text)


_NAMES = sorted((label.split("_") for label in LABELS), key=len, reverse=True)
_TITLE = "|".join(r"[\s-]+".join(name) for name in _NAMES)
_TITLES = re.compile(rf"\b(?:{_TITLE})s?\b", re.IGNORECASE)
"""The occupations; of two that share words the longer first, as yoga teacher before teacher."""


def _rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the rows of a file; say where whole biographies can be had if it has none."""
    if "text" in columns and "text" not in _column_names(path, otherwise=columns):
        raise InputError(
            f"{path}: has no column 'text' with the whole biography, since the Hub's files leave "
            "out the first sentence; put a table there with text, profession and gender, or leave "
            "out the dataset's option 'first_sentence'"
        )
    return read_rows(path, columns)


def _column_names(path: Path, otherwise: Sequence[str]) -> Sequence[str]:
    """Return the columns of a Parquet file; others where it cannot be read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return otherwise


def _sampled(examples: Sequence[Example], n_train: int | None, n_test: int | None) -> list[Example]:
    """Draw the biographies to train on, to hold out and to test on."""
    train = [example for example in examples if example.split == "train"]
    trained_on = [example for example in train if VALIDATES not in example.attributes]
    held_out = [example for example in train if VALIDATES in example.attributes]
    test = [example for example in examples if example.split == "test"]
    n_held_out = None
    if n_train is not None and held_out:
        n_held_out = max(1, round(n_train * len(held_out) / len(trained_on)))
    return [
        *stratified_sample(trained_on, n_train),
        *stratified_sample(held_out, n_held_out),
        *stratified_sample(test, n_test),
    ]
