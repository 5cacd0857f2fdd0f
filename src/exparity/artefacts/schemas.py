"""The Parquet schemas of the artefacts: what columns each has, and whether a file has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from exparity.artefacts.analyses import made_by
from exparity.artefacts.layout import levels, made_by_analyses
from exparity.core.calls import shown
from exparity.core.errors import InputError, did_you_mean

_ID = pa.dictionary(pa.int32(), pa.string())


def fields(*columns: tuple[str, pa.DataType] | tuple[str, pa.DataType, bool]) -> list[pa.Field]:
    """Return columns from (name, type), or (name, type, True) for one that may be empty."""
    return [pa.field(c[0], c[1], nullable=len(c) > 2) for c in columns]


_IDS: dict[str, pa.Field] = {
    name: pa.field(name, pa.int64() if name == "seed" else _ID, nullable=False)
    for name in ("dataset", "model", "seed", "method", "metric")
}

_COST_COLUMNS = fields(
    ("output", pa.string()),
    ("stage", _ID),
    ("dataset", _ID, True),
    ("model", _ID, True),
    ("seed", pa.int64(), True),
    ("method", _ID, True),
    ("metric", _ID, True),
    ("shard", pa.string(), True),
    ("examples", pa.int64(), True),
    ("seconds", pa.float64(), True),
    ("work_seconds", pa.float64(), True),
    ("cpu_seconds", pa.float64(), True),
    ("max_rss_mb", pa.float64(), True),
    ("device", _ID),
    ("runs_model", pa.bool_()),
    ("bytes", pa.int64()),
)

KEY = fields(("example_id", pa.string()), ("group", pa.string()), ("match_id", pa.string(), True))
"""The columns of an artefact with one row an example."""

_TEST_COLUMNS = fields(
    ("group_a", pa.string()),
    ("group_b", pa.string()),
    ("n_a", pa.int64()),
    ("n_b", pa.int64()),
    ("mean_a", pa.float64()),
    ("mean_b", pa.float64()),
    ("sd_a", pa.float64()),
    ("sd_b", pa.float64()),
    ("mean_difference", pa.float64()),
    ("U", pa.float64()),
    ("p", pa.float64()),
    ("significant", pa.bool_()),
    ("cohens_d", pa.float64()),
    ("d_ci_low", pa.float64()),
    ("d_ci_high", pa.float64()),
    ("considerable", pa.bool_()),
    ("rank_biserial", pa.float64()),
    ("direction", pa.int8()),
    ("n_pairs", pa.int64()),
    ("wilcoxon_p", pa.float64()),
    ("d_z", pa.float64()),
    ("n_undefined", pa.int64()),
    ("n_examples", pa.int64()),
    ("flags", pa.list_(pa.string())),
    ("n_groups", pa.int64()),
    ("omnibus", pa.string()),
    ("omnibus_statistic", pa.float64()),
    ("omnibus_p", pa.float64()),
    ("epsilon_squared", pa.float64()),
    ("n_sets", pa.int64()),
    ("friedman_statistic", pa.float64()),
    ("friedman_p", pa.float64()),
)

# artefact: (columns beside the ids, sort keys); those of analyses are in the registry
_ARTEFACTS: dict[str, tuple[list[pa.Field], tuple[str, ...]]] = {
    "data": (
        fields(
            ("example_id", pa.string()),
            ("match_id", pa.string(), True),
            ("split", pa.string()),
            ("text", pa.string()),
            ("words", pa.list_(pa.string())),
            ("label", pa.int8()),
            ("group", pa.string()),
            ("rationale", pa.list_(pa.int8()), True),
            ("attributes", pa.map_(pa.string(), pa.string())),
        ),
        ("split", "example_id"),
    ),
    "history": (
        fields(
            ("epoch", pa.int64()),
            ("step", pa.int64()),
            ("learning_rate", pa.float64()),
            ("train_loss", pa.float64()),
            ("train_accuracy", pa.float64()),
            ("validation_loss", pa.float64()),
            ("validation_accuracy", pa.float64()),
            ("seconds", pa.float64()),
        ),
        ("epoch",),
    ),
    "training_set": (
        fields(
            ("position", pa.int64()),
            ("example_id", pa.string()),
            ("group", pa.string()),
            ("label", pa.int8()),
            ("weight", pa.float64()),
            ("made_by", pa.string(), True),
            ("words", pa.list_(pa.string()), True),
        ),
        ("position",),
    ),
    "predictions": (
        KEY
        + fields(
            ("label", pa.int8()),
            ("probabilities", pa.list_(pa.float32())),
            ("predicted", pa.int8()),
        ),
        ("example_id",),
    ),
    "explanations": (
        fields(
            ("example_id", pa.string()),
            ("target", pa.int8()),
            ("token_ids", pa.list_(pa.int32())),
            ("tokens", pa.list_(pa.string())),
            ("word_ids", pa.list_(pa.int32())),
            ("scores", pa.list_(pa.float32())),
        ),
        ("example_id",),
    ),
    "scores": (
        KEY + fields(("score", pa.float64())),
        ("example_id",),
    ),
    "tests": (
        _TEST_COLUMNS,
        ("group_a", "group_b"),
    ),
    "disparity": (
        _TEST_COLUMNS
        + fields(
            ("metric_direction", pa.string()),
            ("better_group", pa.string(), True),
            ("test_accuracy", pa.float64()),
            ("p_holm", pa.float64()),
            ("p_bh", pa.float64()),
            ("significant_holm", pa.bool_()),
            ("significant_bh", pa.bool_()),
        ),
        (*_IDS, "group_a", "group_b"),
    ),
    # Not every job has all ids: they are columns that may be empty.
    "cost": (_COST_COLUMNS, ("stage", "output")),
}


def artefacts() -> list[str]:
    """Return the artefacts that are tables."""
    return [*_ARTEFACTS, *made_by_analyses().values()]


def columns_of(artefact: str) -> tuple[tuple[str, ...], Sequence[pa.Field], tuple[str, ...]]:
    """Return the ids that the rows of an artefact carry, its further columns and its sort keys.

    Raises:
        InputError: no such artefact.
    """
    if artefact in _ARTEFACTS:
        ids = tuple(_IDS) if artefact == "disparity" else levels(artefact)
        return ids, *_ARTEFACTS[artefact]
    entry = made_by(artefact)
    if entry is None:
        raise InputError(f"unknown artefact '{artefact}'; {did_you_mean(artefact, artefacts())}")
    facts = entry.facts
    return (*facts.levels, *facts.ids), facts.columns, facts.keys


def check_columns(artefact: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Check that rows that came by hand hold values of an artefact's types where they have any.

    Raises:
        InputError: a value is of another type, or there is none; names row and column.
    """
    for field in schema_of(artefact):
        kind = getattr(field.type, "value_type", field.type)  # of ids, which are dictionaries
        kind = field.type if pa.types.is_list(field.type) else kind
        for position, row in enumerate(rows):
            if field.name not in row:
                continue
            value = row[field.name]
            try:
                null = pa.array([value], kind).null_count
                known = not isinstance(value, bytes) and (field.nullable or not null)
            except (pa.ArrowException, LookupError, OverflowError, TypeError, ValueError):
                known = False
            if not known:
                raise InputError(f"row {position}: {field.name} must be {kind}, not {shown(value)}")


@cache
def schema_of(artefact: str) -> pa.Schema:
    """Return the schema of an artefact: its ids, then its own columns.

    Raises:
        InputError: no such artefact.
    """
    ids, columns, _ = columns_of(artefact)
    return pa.schema([*(_IDS[name] for name in ids), *columns])


_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def record_columns(kind: type[Any]) -> dict[str, pa.DataType]:
    """Return a column for each attribute of a dataclass: text, a number, or a list of text."""
    columns = {}
    for name, hint in get_type_hints(kind).items():
        plain = next(_TYPES[part] for part in (*get_args(hint), hint) if part in _TYPES)
        columns[name] = pa.list_(plain) if Ellipsis in get_args(hint) else plain
    return columns


def _type_text(data_type: pa.DataType) -> str:
    return "text id" if pa.types.is_dictionary(data_type) else str(data_type)


def _same(actual: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_dictionary(expected):
        actual = actual.value_type if pa.types.is_dictionary(actual) else actual
        return bool(pa.types.is_string(actual) or pa.types.is_large_string(actual))
    # Parquet renames the item field of lists; the type inside is what counts.
    return bool(actual.equals(expected)) or str(actual) == str(expected)


def check_schema(path: Path, artefact: str, schema: pa.Schema) -> None:
    """Compare a file's schema with the artefact's.

    Raises:
        InputError: names file, column, expected and found type.
    """
    for field in schema_of(artefact):
        if field.name not in schema.names:
            raise InputError(
                f"{path}: not a '{artefact}' artefact: column '{field.name}' "
                f"({_type_text(field.type)}) is missing"
            )
        actual = schema.field(field.name).type
        if not _same(actual, field.type):
            raise InputError(
                f"{path}: column '{field.name}': expected {_type_text(field.type)}, found {actual}"
            )
