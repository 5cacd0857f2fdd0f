"""Parquet artefacts, written with the seconds and memory of their job, and read back.

Every file carries the ids of its cell (dataset, model, ...) as dictionary-encoded columns, so that
a folder of files is one table, and its provenance as key-value metadata.
"""

from __future__ import annotations

import fcntl
import glob
import json
import logging
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from exparity.artefacts import layout
from exparity.artefacts.columns import ID, Export, may_be_left_out
from exparity.artefacts.grid import read_grid
from exparity.artefacts.ids import Provenance
from exparity.artefacts.schemas import check_schema, columns_of, schema_of
from exparity.artefacts.seal import open_sealed, read_metadata, write_sealed
from exparity.core.calls import checked
from exparity.core.errors import InputError
from exparity.core.plain import as_float
from exparity.core.usage import usage

if TYPE_CHECKING:
    import pandas as pd

_METADATA_PREFIX = "exparity."
log = logging.getLogger(__name__)


@dataclass
class Run:
    """A job that is running.

    Attributes:
        lineage: key of its options and inputs; empty outside the workflow.
        started: when it started, in seconds since 1970.
        begun: the same by a clock that nobody sets.
        left: artefacts that it does not write, since a later job did.
    """

    lineage: str = ""
    started: float = field(default_factory=time.time)
    begun: float = field(default_factory=time.monotonic)
    left: set[Path] = field(default_factory=set)


_run: ContextVar[Run | None] = ContextVar("run", default=None)


def current_run() -> Run:
    """Return the job that is running; outside of one, a job that starts now."""
    return _run.get() or Run()


@contextmanager
def job(lineage: str = "") -> Iterator[Run]:
    """Run a job in this block: of two jobs of one cell, the later one's artefacts stay."""
    token = _run.set(Run(lineage))
    try:
        yield current_run()
    finally:
        _run.reset(token)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it into place on success.

    A job that dies leaves nothing that looks finished; two that race leave one whole file. The
    temporary file of a killed writer is removed by the next one of the same path: nobody locks it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for abandoned in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with suppress(OSError), abandoned.open("rb+") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            abandoned.unlink()
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:  # the temporary file is none that the user knows
        raise OSError(error.errno, error.strerror, str(path.parent)) from error
    temporary = Path(name)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield temporary
        open_to_colleagues(temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        # The file that the user knows; libraries name none, or the temporary one.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def open_to_colleagues(*paths: Path) -> None:
    """Give files, and all files in folders, the mode of a plain new file: 0666 less the umask.

    ``mkstemp`` and some libraries, such as safetensors, make files that only their owner can read.
    """
    mask = os.umask(0)
    os.umask(mask)
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file() and not file.is_symlink():
                file.chmod(0o666 & ~mask)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, which then takes the place of an earlier one."""
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    yield temporary
    open_to_colleagues(temporary)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.replace(folder)


@cache
def facts_of_code() -> dict[str, object]:
    """Return version and commit of exparity and the versions of what it computes with.

    They are looked up once, also for the processes that this one forks.
    """
    packages = ("numpy", "scipy", "pyarrow", "torch", "transformers")
    versions = {package: version(package) for package in packages}
    return {"version": version("exparity"), "commit": _commit(), "packages": versions}


def _commit() -> str:
    """Return the git commit of the source tree that exparity runs from, or ``unknown``."""
    command = ["git", "-C", str(Path(__file__).resolve().parent), "rev-parse", "HEAD"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return run.stdout.strip()


def write_artefact(
    path: Path,
    artefact: str,
    rows: Sequence[Mapping[str, object]] | pa.Table,
    ids: Mapping[str, str | int],
    *,
    parameters: Mapping[str, object],
    device: str = "cpu",
    extra: Mapping[str, object] | None = None,
) -> None:
    """Write rows as an artefact: checked, sorted by key, with provenance, atomically.

    Jobs of a killed run live on, and may end after those of the next run, whose parameters can be
    others and whose results may be in use: what a job that started later wrote is left as it is.
    A start in the future comes from a wrong clock, and protects nothing.
    """
    run = current_run()
    now = time.time()
    started = 0.0
    with suppress(ValueError):  # there is none to read
        started = as_float(facts_of(read_metadata(path).metadata).get("started", 0))
    if run.started < started <= now:
        log.warning("%s: a job that started later has written it; left as it is", path)
        run.left.add(path)
        return
    table = rows if isinstance(rows, pa.Table) else table_of(path, artefact, rows, ids)
    provenance = {
        "artefact": artefact,
        **facts_of_code(),
        "stage": layout.maker_of(artefact),
        "wildcards": dict(ids),
        "parameters": dict(parameters),
        "device": device,
        "seed": ids.get("seed"),
        "rows": table.num_rows,
        "started": run.started,
        "wall_seconds": round(time.monotonic() - run.begun, 3),
        **usage(),
        **(extra or {}),
    }
    save_parquet(path, table, provenance, run.lineage)


def table_of(
    path: Path, artefact: str, rows: Sequence[Mapping[str, object]], ids: Mapping[str, str | int]
) -> pa.Table:
    """Return rows as a checked table of an artefact, sorted by key."""
    id_names, _, keys = columns_of(artefact)
    schema = schema_of(artefact)
    full = [{**{name: ids.get(name) for name in id_names}, **row} for row in rows]
    unknown = {name for row in full for name in row} - set(schema.names)
    if unknown:
        raise InputError(f"{path}: '{min(unknown)}' is not a column of the artefact '{artefact}'")
    try:
        full.sort(key=lambda row: tuple(row[key] for key in keys))
        table = pa.Table.from_pylist(full, schema=schema)
        table.validate(full=True)
        for field in schema:
            if not field.nullable and table.column(field.name).null_count:
                raise InputError(f"{path}: column '{field.name}' has empty cells")
    except (pa.ArrowInvalid, TypeError, KeyError, OverflowError) as error:
        raise InputError(f"{path}: rows do not fit the artefact '{artefact}': {error}") from error
    return _without_empty(table, schema)


def _without_empty(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Leave out the columns that a table has no value in, of those that it may lack."""
    optional_names = [name for name in table.column_names if may_be_left_out(schema.field(name))]
    return table.drop_columns(
        [n for n in optional_names if table.column(n).null_count == len(table)]
    )


def join_tables(artefact: str, tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables of one artefact as one, sorted by key: what all rows at once would give."""
    schema = schema_of(artefact)
    empty = schema.empty_table()
    cast = [table.cast(pa.schema(map(schema.field, table.column_names))) for table in tables]
    table = pa.concat_tables([empty, *cast], promote_options="default").unify_dictionaries()
    keys = columns_of(artefact)[2]
    table = _without_empty(table, schema).sort_by([(key, "ascending") for key in keys])
    return table.combine_chunks() if tables else empty


def save_parquet(
    path: Path, table: pa.Table, facts: Mapping[str, object], lineage: str = ""
) -> None:
    """Write a table with facts as its only metadata, atomically and with a seal."""
    metadata = {
        _METADATA_PREFIX + key: json.dumps(value, sort_keys=True, ensure_ascii=False)
        for key, value in facts.items()
    }
    with atomic_path(path) as temporary:
        write_sealed(table.replace_schema_metadata(metadata), temporary, lineage)


def save_export(export: Export, folder: Path, facts: Mapping[str, object]) -> None:
    """Write a plain table as CSV and as Parquet with facts as metadata, under its name."""
    save_parquet(folder / f"{export.name}.parquet", export.as_table(), facts)
    with atomic_path(folder / f"{export.name}.csv") as path:
        path.write_text(export.as_csv(), encoding="utf-8", newline="")


def read_parquet(path: Path) -> tuple[pa.Table, Provenance]:
    """Read what :func:`save_parquet` wrote: the table and the facts."""
    with open_sealed(path) as file:
        # Threads cost more than they save where there is little to read.
        table = file.read(use_threads=path.stat().st_size > 1 << 20)
        return table, facts_of(table.schema.metadata)


def facts_of(metadata: Mapping[bytes, bytes] | None) -> Provenance:
    """Return exparity's own entries of a Parquet file's metadata."""
    return Provenance(
        (key.decode().removeprefix(_METADATA_PREFIX), json.loads(value))
        for key, value in (metadata or {}).items()
        if key.decode().startswith(_METADATA_PREFIX)
    )


def read_artefact(path: Path, artefact: str) -> tuple[pa.Table, Provenance]:
    """Return a file's table, in the artefact's column order, and its provenance; refuse another."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; run the stage that makes '{artefact}' first")
    table, metadata = read_parquet(path)
    check_schema(path, artefact, table.schema)
    if "wildcards" not in metadata:
        raise InputError(f"{path}: names no cell; run the stage that makes '{artefact}' again")
    names = [name for name in schema_of(artefact).names if name in table.schema.names]
    return table.select(names), metadata


def read_tables(paths: Sequence[Path], artefact: str) -> pa.Table:
    """Read many files of one artefact into one table, in the given order, ids as plain text."""
    columns = schema_of(artefact)
    schema = pa.schema(
        [column.with_type(pa.string()) if column.type == ID else column for column in columns]
    )
    tables = (read_artefact(path, artefact)[0] for path in paths)
    cast = [table.cast(pa.schema(map(schema.field, table.column_names))) for table in tables]
    return pa.concat_tables(cast, promote_options="default") if cast else schema.empty_table()


@checked
def read_results(folder: str | Path, artefact: str) -> pd.DataFrame:
    """Read all files of an artefact below a results folder as one table.

    Args:
        folder: the results folder of a run, such as ``results``.
        artefact: ``data``, ``predictions``, ``explanations``, ``scores``, ``tests``,
            ``disparity``, ``history``, ``cost``, or that of an analysis, such as ``bias``.

    Returns:
        A data frame with the cell's ids (dataset, model, seed, method, metric) as first columns
        and the rows of all files, sorted by file. A warning says how many files are missing of the
        last run's grid.

    Raises:
        InputError: unknown artefact, no such folder, no file, or a file of another form.

    Examples:
        >>> import exparity
        >>> scores = exparity.read_results("results", "scores")
        >>> list(scores.columns[:5])
        ['dataset', 'model', 'seed', 'method', 'metric']
    """
    columns_of(artefact)
    results = Path(folder)
    paths = [path for _, path in layout.files(results, artefact)]
    if not paths:
        place = results / Path(layout.every(artefact)).parts[0]
        raise InputError(f"{place}: no '{artefact}' files there; has that stage run?")
    _warn_of_missing(results, artefact)
    return read_tables(paths, artefact).to_pandas()


def _warn_of_missing(results: Path, artefact: str) -> None:
    """Warn if the grid of the last run has files of an artefact that are not there."""
    try:
        grid = read_grid(results)
    except InputError as error:
        warnings.warn(f"whether files are missing is not known: {error}", stacklevel=3)
        return
    if grid is None:  # results of single stages
        return
    paths = layout.paths_of(results, grid, artefact)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        warnings.warn(
            f"{len(missing)} of {len(paths)} '{artefact}' files are missing, such as {missing[0]}; "
            "run snakemake to make them",
            stacklevel=3,
        )
