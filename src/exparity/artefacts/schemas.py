"""The Parquet schemas of the artefacts: what columns each has, and whether a file has them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa

from exparity.artefacts.analyses import analysis_making
from exparity.artefacts.columns import ID, fields, may_be_left_out
from exparity.artefacts.layout import levels, of_analyses
from exparity.core.errors import InputError, did_you_mean
from exparity.resources import resource

IDS = ("dataset", "model", "seed", "method", "metric")
"""Ids that tell cells apart, in the order of paths and columns."""
CUT_TEXTS = "cut_texts"
"""Flag of scores of texts that the model read in part; among the notes, their number."""


@cache
def _tables() -> dict[str, tuple[list[pa.Field], tuple[str, ...]]]:
    """Return the columns beside the ids and the sort keys of all but the artefacts of analyses."""
    tables: dict[str, tuple[list[pa.Field], tuple[str, ...]]] = {}
    for name, table in tomllib.loads(resource("artefacts.toml").read_text("utf-8")).items():
        columns = fields(*map(": ".join, table["columns"].items()))
        start = tables[table["starts_as"]][0] if "starts_as" in table else []
        tables[name] = start + columns, tuple(table["keys"])
    return tables


def artefacts() -> list[str]:
    """Return the artefacts that are tables."""
    return [*_tables(), *of_analyses()]


def columns_of(artefact: str) -> tuple[tuple[str, ...], Sequence[pa.Field], tuple[str, ...]]:
    """Return the ids that the rows of an artefact carry, its further columns and its sort keys."""
    if artefact in _tables():
        return levels(artefact), *_tables()[artefact]
    entry = analysis_making(artefact)
    if entry is None:
        raise InputError(f"unknown artefact '{artefact}'; {did_you_mean(artefact, artefacts())}")
    table = entry.facts.writes[artefact]
    return (*entry.facts.levels, *table.ids), table.columns, table.keys


@cache
def schema_of(artefact: str) -> pa.Schema:
    """Return the schema of an artefact: its ids, then its own columns."""
    ids, columns, _ = columns_of(artefact)
    types = {"seed": pa.int64()}
    return pa.schema(
        [*(pa.field(name, types.get(name, ID), nullable=False) for name in ids), *columns]
    )


def prepare_schemas() -> None:
    """Make the schemas of all artefacts but those of analyses ahead of their use."""
    for artefact in _tables():
        schema_of(artefact)


def _same(actual: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_dictionary(expected):
        actual = actual.value_type if pa.types.is_dictionary(actual) else actual
        return bool(pa.types.is_string(actual) or pa.types.is_large_string(actual))
    # Parquet renames the item field of lists; the type inside is what counts.
    return bool(actual.equals(expected)) or str(actual) == str(expected)


def check_schema(path: Path, artefact: str, schema: pa.Schema) -> None:
    """Compare a file's schema with the artefact's."""
    for field in schema_of(artefact):
        actual = schema.field(field.name).type if field.name in schema.names else None
        if actual is None and may_be_left_out(field):
            continue
        if actual is None or not _same(actual, field.type):
            expected = "text id" if pa.types.is_dictionary(field.type) else str(field.type)
            raise InputError(
                f"{path}: not a '{artefact}' artefact: column '{field.name}': expected {expected}, "
                f"found {actual or 'none'}"
            )
