"""Tool assign-groups: give the texts of a table the group that their words name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exparity.core.escaping import say
from exparity.core.flags import Id, Output, Params
from exparity.counterfactuals import terms_of
from exparity.data.grouping import NONE, TIED, group_table


def assign_groups(
    output: Output,
    *,
    table: Path,
    text: str = "text",
    generator: Id = "gender_words",
    params: Params | None = None,
    groups: Sequence[str] = (),
    column: str = "group",
) -> None:
    """Group the texts of a table by their words, for the dataset ``table``.

    A text belongs to the group that most of its words name.

    Args:
        output: the table to write, of the same kind: rows with a group, which is added beside the
            number of words of each as ``n_GROUP``.
        table: CSV, TSV, JSONL or Parquet.
        text: column of the text.
        generator: counterfactual generator whose words tell the groups; see ``exparity list``.
        params: option of the generator, such as ``pairs={"young": "old"}``.
        groups: the groups, where the generator is for any; in the order of its words.
        column: name of the group's column.

    Raises:
        InputError: a file that cannot be read, an unknown column, generator or option, or a
            generator that has no list of words.
    """
    terms = terms_of(generator, params or {}, groups)
    sizes = group_table(table, output, text=text, terms=terms, column=column)
    for group in terms:
        say(f"{output}: {sizes[group]} texts of group {group}")
    say(f"left out: {sizes[TIED]} with as many words of two groups, {sizes[NONE]} with none")
