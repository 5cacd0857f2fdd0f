"""Bias in Bios (De-Arteaga et al. 2019): occupations of people from their biographies."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from functools import partial
from sys import intern
from typing import Any

from exparity.core.errors import require_known
from exparity.core.flags import Count
from exparity.data import dataset
from exparity.data._known import known_facts, known_files
from exparity.data._rows import read_rows
from exparity.data._split import stratified_sample
from exparity.data.facts import Loaded
from exparity.data.files import DataSource, read_published, split_of
from exparity.data.genders import GROUPS
from exparity.types import Example

log = logging.getLogger(__name__)

FILES = known_files("bias_in_bios")
LABELS: tuple[str, ...] = known_facts("bias_in_bios")["labels"]


@dataset("bias_in_bios", **known_facts("bias_in_bios"))
def bias_in_bios(
    source: DataSource,
    *,
    professions: list[str] | None = None,
    n_train: Count | None = None,
    n_test: Count | None = None,
    verify: bool = True,
) -> Loaded:
    """Biographies from the web without their first sentence, with one of 28 occupations.

    Args:
        source: where the raw files lie or go.
        professions: those to keep, in the order of the classes; all if None.
        n_train: biographies to train on, with the shares of class and gender of all; all if None.
        n_test: biographies in the test split, likewise.
        verify: refuse the files, whose published SHA-256 is not known; set it to false once you
            have compared them.

    Returns:
        One example a biography; empty ones are left out.
    """
    classes = tuple(LABELS if professions is None else professions)
    for name in classes:
        require_known(name, LABELS, f"dataset bias_in_bios: no profession '{name}'")
    professions_of, genders = dict(enumerate(LABELS)), dict(enumerate(GROUPS))
    empty: Counter[str] = Counter()

    def example_of(row: Mapping[str, Any], part: str, number: int) -> Example | None:
        words = tuple(map(intern, row["hard_text"].split()))  # few words make many texts
        profession, gender = professions_of[row["profession"]], genders[row["gender"]]
        empty[part] += not words
        if not words or profession not in classes:
            return None
        label = classes.index(profession)
        return Example(f"{part}-{number:06d}", words, label, gender, split_of(part))

    columns = ("hard_text", "profession", "gender")
    examples = read_published(
        source, FILES, partial(read_rows, columns=columns), example_of, verify=verify
    )
    for part, n in (+empty).items():
        log.warning("bias_in_bios: left out %d empty biographies of %s", n, part)
    chosen = [
        example
        for split, size in (("train", n_train), ("test", n_test))
        for example in stratified_sample([e for e in examples if e.split == split], size)
    ]
    return Loaded(chosen, "gender", GROUPS, classes)
