"""A table of the user's own, with a text, a label and a group per row."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Annotated, Any, NamedTuple, cast

from exparity.core.errors import InputError, name_list, shown
from exparity.core.escaping import visible
from exparity.core.flags import Range
from exparity.core.validation import read_settings
from exparity.data import MAX_CLASSES, MAX_GROUPS, dataset
from exparity.data._names import MISSING, UNLABELLED, id_of, is_empty, is_missing, name_of
from exparity.data._rows import class_names, marks_in, read_rows, words_in
from exparity.data._split import split_examples
from exparity.data.facts import Loaded, Marking
from exparity.data.files import FETCH, DataSource
from exparity.data.hub import local_copies
from exparity.data.raters import RaterTable
from exparity.types import Example, Split, Text

AND = " & "
"""Text between the values of a group of several columns, and between their names."""
_OPTIONS = (
    *("text", "label", "id", "match", "split", "rationale", "text_b", "rationale_b"),
    *("spans", "unit_spans"),
)
"""Options that name a column; ``group`` may name several."""
_NAMED = 3
"""Rows that an error names for each reason why they are incomplete."""
_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_WHOLE = re.compile(r"-?[0-9]+")


class _Row(NamedTuple):
    """A row of a table."""

    where: str  # its place, ``file:line``
    values: dict[str, object]  # by column
    number: str  # in the table, from 1, with leading zeros
    columns: Mapping[str, str]  # by option

    def id(self, option: str) -> str:
        """Return the id that the column of an option holds."""
        column = self.columns[option]
        return id_of(self.where, column, self.values[column])


def _columns(options: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return the columns by the options that name them, and those of the groups."""
    named = {option: options[option] for option in _OPTIONS if options[option] is not None}
    group: str | list[str] | None = options["group"]
    groups = options["groups"]
    if group is None or (groups is not None and not groups):
        return named, []
    return named, [group] if isinstance(group, str) else list(group)


def check_table(options: Mapping[str, Any]) -> None:
    """Read each file of the table as far as its first row."""
    named, by = _columns(options)
    files = local_copies(options["path"], options["revision"], download=False)
    for file in files or ():  # or the job that downloads it says so
        next(read_rows(file, [*named.values(), *by]), None)
    if raters := options.get("raters"):
        read_settings(RaterTable, raters, "raters").check()


def _markings(
    source: DataSource,
    examples: Mapping[str, Example],
    *,
    raters: Mapping[str, str],
    **others: object,
) -> Iterable[Marking]:
    """Return what raters marked, by their table."""
    return read_settings(RaterTable, raters, "raters").markings(examples)


@dataset(
    "table",
    attribute="group",
    labels=(),
    licence="your own",
    reference="a file of your own",
    path_options=("path",),
    from_hub=True,
    rationale_option="rationale",
    group_option="group",
    check_options=check_table,
    markings=_markings,
    rater_option="raters",
)
def own_table(
    source: DataSource,
    *,
    path: str | list[str] = "",
    revision: str | None = None,
    text: str = "text",
    label: str = "label",
    group: str | list[str] | None = "group",
    id: str | None = None,
    match: str | None = None,
    split: str | None = None,
    rationale: str | None = None,
    text_b: str | None = None,
    rationale_b: str | None = None,
    spans: str | None = None,
    unit_spans: str | None = None,
    separator: str = " ",
    groups: list[str] | list[int] | tuple[()] | None = None,
    labels: list[str] | list[int] | None = None,
    test_share: Annotated[float, Range(above=0, at_most=1)] = 0.2,
    split_seed: int = 0,
    drop_incomplete: bool = False,
    raters: RaterTable | None = None,
) -> Loaded:
    """A table of your own: CSV, TSV, JSON or Parquet with a text, a label and a group per row.

    Args:
        source: whether a table of the Hub may be downloaded.
        path: the table, relative to the current folder, or ``hf://datasets/OWNER/NAME/FILE`` of the
            Hugging Face Hub; for several files, a list or a pattern with ``*``.
        revision: commit of a table of the Hub, 40 digits.
        text: column of the text: a string, which the model reads byte for byte and whose words are
            separated by blanks, or a list of words.
        label: column of the class.
        group: column of the protected attribute. With several columns, every combination of values
            in the table is a group, such as ``female & Black``. Without it, or with an empty
            ``groups``, nothing is compared.
        id: column of an id; the number of the row if None.
        match: column of the matched set; empty for a row without one.
        split: column of ``train`` or ``test``; if None, see :func:`split_examples`.
        rationale: column with a 0 or 1 for each word, as a list or separated by blanks.
        text_b: column of the second text of a pair, such as a hypothesis; empty for a single text.
        rationale_b: column with a 0 or 1 for each word of the second text.
        spans: column of the words that blanks do not separate: start and end of each in characters.
        unit_spans: column of the units for methods and metrics with ``unit: spans``, such as names
            or clauses: start and end of each in characters. A word belongs to the unit that it
            starts in; a word outside all units is a unit of its own.
        separator: text between the words of lists; '' for languages without blanks.
        groups: the groups in the order that fixes the sign; sorted if None.
        labels: the classes in the order of a model's outputs; if None, as a Parquet file of the
            Hub declares them, else sorted.
        test_share: share of the rows in the test split, without a column ``split``. With 1 there
            is no training split, which models with 0 epochs do not need.
        split_seed: seed of that split.
        drop_incomplete: leave out rows without visible text, class, group, id or split, and rows
            that repeat an id; the page shows their number. If False, they are refused.
        raters: a table of what several people marked in each text, for the analysis
            ``whose_rationale``: its ``path``, and the columns of its ``groups``.

    Returns:
        One example per row.
    """
    columns, by = _columns(locals())
    _check_marks_of_pairs(text_b, rationale, rationale_b)
    files = local_copies(path, revision, download=source.download)
    path = path if isinstance(path, str) else ", ".join(path)
    if files is None:
        raise InputError(f"{path} is not here; {FETCH}")
    rows = _rows_of(files, columns, by, path)
    declared = _declared_classes(files, label) if labels is None else labels
    listed = _listed(label, declared, by, groups)
    rows, dropped = _complete(path, rows, listed, drop=drop_incomplete)
    _check_not_swapped(path, rows, label, text)
    label_names = [listed[0].name(row) for row in rows]
    group_names = _group_names(rows, listed[1:])
    crossed = AND.join(by)
    classes = _order(label, "labels", declared, label_names, rows)
    order = _order(crossed, "groups", groups, group_names, rows) if by else ()
    codes = map({name: i for i, name in enumerate(classes)}.__getitem__, label_names)
    examples = list(map(partial(_example, separator=separator), rows, codes, group_names))
    if rationale:
        _check_is_marked(path, examples, rationale)
    # With too many of either, splitting takes hours, and the table is refused anyway.
    if split is None and test_share == 1:
        examples = [replace(example, split="test") for example in examples]
    elif split is None and len(order) <= MAX_GROUPS and len(classes) <= MAX_CLASSES:
        examples = split_examples(examples, test_share=test_share, seed=split_seed, where=path)
    return Loaded(examples, crossed, order, classes, dropped, labels_sorted=declared is None)


def _check_marks_of_pairs(
    text_b: str | None, rationale: str | None, rationale_b: str | None
) -> None:
    """Check that both texts of a pair are marked, or none."""
    if (rationale_b is None) != (text_b is None or rationale is None):
        raise InputError(
            "dataset table: mark both texts of a pair or none: `rationale_b` takes `text_b` and "
            "`rationale`, and these two take `rationale_b`"
        )


def _rows_of(
    files: Sequence[Path], columns: Mapping[str, str], by: Sequence[str], path: str
) -> list[_Row]:
    """Return the numbered rows of all files, which ``path`` names; no rows are an error."""
    placed = [row for file in files for row in read_rows(file, [*columns.values(), *by])]
    if not placed:
        raise InputError(f"{path}: has no rows")
    digits = len(str(len(placed)))
    numbered = enumerate(placed, start=1)
    return [_Row(*row, f"{number:0{digits}d}", columns) for number, row in numbered]


def _check_not_swapped(path: str, rows: Sequence[_Row], label: str, text: str) -> None:
    """Check that there are not many more classes than texts."""
    n_classes = _count_distinct(rows, label)
    n_texts = _count_distinct(rows, text)
    if n_classes > max(2 * n_texts, 10):
        raise InputError(
            f"{path}: {n_classes} classes in column '{label}', and {n_texts} different texts in "
            f"'{text}'; text and label seem to be swapped"
        )


def _check_is_marked(path: str, examples: Sequence[Example], column: str) -> None:
    """Check that a column marks words of some text."""
    if all(example.rationale is None for example in examples):
        raise InputError(f"{path}: column '{column}' is empty in every row; leave `rationale` out")


def _count_distinct(rows: Sequence[_Row], column: str) -> int:
    """Return the number of distinct values of a column."""
    return len({str(row.values[column]) for row in rows})


class _Column(NamedTuple):
    """A column of names."""

    column: str
    names: frozenset[str] = frozenset()  # that an option lists: they are as they are written
    words: frozenset[str] = MISSING  # that mean a missing value

    def is_missing(self, row: _Row) -> bool:
        """Return whether a row has no name here."""
        return is_missing(row.values[self.column], self.words, self.names)

    def name(self, row: _Row) -> str:
        """Return the class or group of a row that has one."""
        return name_of(row.where, self.column, row.values[self.column], self.names)


def _listed(
    label: str,
    labels: Sequence[str | int] | None,
    by: Sequence[str],
    groups: Sequence[str | int] | None,
) -> list[_Column]:
    """Return the column of classes and those of groups, with the names that options list."""
    group_names = [str(name) for name in groups or ()]
    if len(by) > 1:
        group_names = [part for name in group_names for part in name.split(AND)]
    words = MISSING - {"None"}  # many a class has this name
    if labels:
        words |= UNLABELLED
    classes = _Column(label, frozenset(map(str, labels or ())), words)
    return [classes, *(_Column(column, frozenset(group_names)) for column in by)]


def _declared_classes(files: Sequence[Path], label: str) -> Sequence[str] | None:
    """Return the classes that all files declare; None where they declare none.

    Raises:
        InputError: two files declare different classes, or the same in another order.
    """
    first = class_names(files[0], label)
    for file in files[1:]:
        other = class_names(file, label)
        if other != first:
            kinds = [name_list(names or ()) or "no classes" for names in (first, other)]
            raise InputError(
                f"{file}: column '{label}' declares {kinds[1]}, but {kinds[0]} in {files[0]}; "
                "list the classes in `labels`"
            )
    return first


def _group_names(rows: Sequence[_Row], columns: Sequence[_Column]) -> list[str]:
    """Return the group of each row; no two combinations of values have one name."""
    values_of: dict[str, list[str]] = {}
    names = []
    for row in rows:
        values = [column.name(row) for column in columns]
        name = AND.join(values)
        first = values_of.setdefault(name, values)
        if first != values:
            raise InputError(
                f"{row.where}: {values} and {first} would both be the group '{name}'; write "
                f"another word for '{AND.strip()}' in one of them"
            )
        names.append(name)
    return names


def _example(row: _Row, label: int, group: str, separator: str) -> Example:
    """Return the example of a complete row."""
    columns = row.columns
    match = columns.get("match")
    text = _text(row, "text", separator)
    text_b = None
    marks = _marks(row, "rationale", "text", text)
    if not is_empty(row.values.get(columns.get("text_b", ""))):
        text_b = _text(row, "text_b", separator)
        marks_b = _marks(row, "rationale_b", "text_b", text_b)
        if (marks is None) != (marks_b is None):
            raise InputError(
                f"{row.where}: one of {columns['rationale']} and {columns['rationale_b']} is "
                "empty; mark both texts or none"
            )
        marks = None if marks is None or marks_b is None else marks + marks_b
    if "unit_spans" in columns:
        units = _in_spans(row, "unit_spans").spans  # a word that starts in none is one itself
        owners = [next((u for u in units if u[0] <= word[0] < u[1]), word) for word in text.spans]
        numbers = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
        text = replace(text, units=tuple(numbers[owner] for owner in owners))
    split = row.id("split") if "split" in columns else "train"
    if split not in ("train", "test"):
        raise InputError(
            f"{row.where}: {columns['split']} '{split}' is neither train nor test; rename it or "
            "remove the row"
        )
    return Example(
        example_id=row.id("id") if "id" in columns else row.number,
        words=tuple(map(intern, text.words)),  # few words make many texts
        label=label,
        group=group,
        split=cast(Split, split),
        match_id=None if match is None or is_missing(row.values[match]) else row.id("match"),
        rationale=marks,
        words_b=None if text_b is None else text_b.words,
        written=None if text.is_plain else text,
        written_b=None if text_b is None or text_b.is_plain else text_b,
    )


def _complete(
    path: str, rows: list[_Row], names: Sequence[_Column], *, drop: bool
) -> tuple[list[_Row], dict[str, int]]:
    """Return the rows that have all that an example needs, and count the others by reason.

    Raises:
        InputError: a row is incomplete and may not be dropped, or none is complete.
    """
    columns = rows[0].columns
    text = columns["text"]
    ids_and_splits = [_Column(columns[option]) for option in ("split", "id") if option in columns]
    needed = [*names, *ids_and_splits]
    complete: list[_Row] = []
    places: dict[str, list[str]] = defaultdict(list)
    words: dict[str, None] = {}
    ids: set[str] = set()
    for row in rows:
        missing = [column.column for column in needed if column.is_missing(row)]
        words |= dict.fromkeys(
            str(row.values[by]) for by in missing if not is_empty(row.values[by])
        )
        if not _is_visible(words_in(row.where, row.values, text)):
            missing.insert(0, text)
        name = row.id("id") if "id" in columns and not missing else None
        if missing:
            places[f"without {missing[0]}"].append(row.where)
        elif name in ids:
            places[f"with the {columns['id']} of an earlier row"].append(row.where)
        else:
            complete.append(row)
        ids |= set() if name is None else {name}
    if places and not (drop and complete):
        raise _incomplete(
            f"{path}: incomplete rows, {len(rows) - len(complete):,} of {len(rows):,}",
            places,
            words,
        )
    return complete, {reason: len(wheres) for reason, wheres in places.items()}


def _is_visible(words: Sequence[str]) -> bool:
    """Return whether a text has a character that a tokenizer turns into a token."""
    signs = chain.from_iterable(words)
    return any(unicodedata.category(sign) not in _BLANK_CATEGORIES for sign in signs)


def _incomplete(what: str, places: Mapping[str, Sequence[str]], words: Iterable[str]) -> InputError:
    """Return the error that counts incomplete rows by reason, and names the first of each."""
    counts = ", ".join(
        f"{len(rows):,} {reason} ({', '.join(rows[:_NAMED])}{', …' if len(rows) > _NAMED else ''})"
        for reason, rows in places.items()
    )
    names = ", ".join(f"'{visible(word)}'" for word in words)
    remedy = f"; {names} count as missing, unless `labels` or `groups` list them" if names else ""
    return InputError(
        f"{what}: {counts}; complete them, or leave them out with `drop_incomplete: true` (in an "
        f"audit: --drop-incomplete){remedy}"
    )


def _order(
    column: str,
    option: str,
    order_option: Sequence[str | int] | None,
    names: Sequence[str],
    rows: Sequence[_Row],
) -> tuple[str, ...]:
    """Return the groups or classes in the order of an option, or sorted, whole numbers by value."""
    if order_option is None:
        distinct = set(names)
        are_numbers = all(map(_WHOLE.fullmatch, distinct))
        return tuple(sorted(distinct, key=lambda name: (int(name) if are_numbers else 0, name)))
    order = tuple(map(str, order_option))
    for name, row in zip(names, rows, strict=True):
        if name not in order:
            raise InputError(
                f"{row.where}: {column} '{name}' is not one of {name_list(order)}; add it to "
                f"`{option}` or remove the row"
            )
    return order


def _text(row: _Row, option: str, separator: str) -> Text:
    """Return a row's text, without words of a list that are only a blank."""
    column = row.columns[option]
    words = words_in(row.where, row.values, column)
    value = row.values[column]
    if option == "text" and "spans" in row.columns:
        return _in_spans(row, "spans")
    if isinstance(value, str):
        return Text.of(value)
    return Text.of_words([word.strip() for word in words if word.strip()], separator)


def _marks(row: _Row, option: str, text_option: str, text: Text) -> tuple[int, ...] | None:
    """Return the marks of the words of a text."""
    column = row.columns.get(option, "")
    written = row.values.get(column)
    if is_empty(written):
        return None
    value = row.values[row.columns[text_option]]
    words = value if isinstance(value, list) else text.words
    marks = marks_in(row.where, column, written)
    if len(marks) != len(words):
        raise InputError(f"{row.where}: {len(words)} words but {len(marks)} marks in {column}")
    return tuple(mark for word, mark in zip(words, marks, strict=True) if word.strip())


def _in_spans(row: _Row, option: str) -> Text:
    """Return a text whose words are the spans of a column, which are lists or JSON."""
    column = row.columns[option]
    string = row.values[row.columns["text"]]
    spans: Any = row.values[column]
    try:
        edges = json.loads(spans) if isinstance(spans, str) else spans
        places = tuple((_place(start), _place(end)) for start, end in edges)
        if not isinstance(string, str) or not all(start < end for start, end in places):
            raise ValueError
        return Text(string, places)
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            f"{row.where}: {column} must be the start and end of each part of a string, in order, "
            f"such as [[0, 2], [2, 4]], found {shown(spans)}"
        ) from None


def _place(number: Any) -> int:
    """Return a whole number, which a column of floats may hold."""
    if isinstance(number, bool) or not isinstance(number, int | float) or number % 1 != 0:
        raise ValueError
    return int(number)
