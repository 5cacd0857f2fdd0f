"""Artefacts: schema round trips, provenance, atomic writes, and errors that name the culprit."""

import errno
import json
import math
import os
import re
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from made_up import value
from support import rotten

from exparity import read_results
from exparity.artefacts.files import atomic_path, job, new_folder, read_artefact, write_artefact
from exparity.artefacts.schemas import artefacts, columns_of, may_be_left_out, schema_of
from exparity.core.errors import InputError, system_reason

ARTEFACTS = artefacts()
CELL = {"dataset": "pairs", "model": "bert", "seed": 3, "method": "lime", "metric": "gini"}


def ids_of(artefact):
    return {name: CELL[name] for name in columns_of(artefact)[0]}


def rows_of(artefact):
    """Rows in the order of their keys, each of which decides on the order of some."""
    _, _, keys = columns_of(artefact)
    own = [f for f in schema_of(artefact) if f.name in keys or f.name not in ids_of(artefact)]
    first = {field.name: value(field.type, 0) for field in own}
    last = {field.name: value(field.type, 1) for field in own}
    return [first, *({**first, key: last[key]} for key in reversed(keys))]


ROWS = {artefact: rows_of(artefact) for artefact in ARTEFACTS}
_KEY = {"example_id": "0001", "group": "male", "match_id": "m1"}


def write(path, artefact, rows=None, ids=None, **more):
    write_artefact(
        path,
        artefact,
        ROWS[artefact] if rows is None else rows,
        ids_of(artefact) if ids is None else ids,
        parameters={"alpha": 0.05},
        **more,
    )


def plain(kind):
    """A type as text, without the names that Parquet gives to the insides of lists and maps."""
    return re.sub(r" \('\w+'\)", "", str(kind)).replace("element", "item")


@pytest.mark.contract
class TestRoundTrip:
    @pytest.mark.parametrize("artefact", ARTEFACTS)
    def test_rows_and_types_come_back_sorted_by_key(self, artefact, tmp_path):
        path = tmp_path / "deep" / "file.parquet"
        write(path, artefact, list(reversed(ROWS[artefact])))
        table, _ = read_artefact(path, artefact)
        declared, stored = schema_of(artefact), pq.read_schema(path)
        assert table.column_names == stored.names == declared.names
        assert table.to_pylist() == [{**ids_of(artefact), **row} for row in ROWS[artefact]]
        for field in declared:
            assert plain(stored.field(field.name).type) == plain(field.type), field.name
            assert stored.field(field.name).nullable == field.nullable
        row_group = pq.ParquetFile(path).metadata.row_group(0)
        codecs = {row_group.column(i).compression for i in range(row_group.num_columns)}
        assert codecs == {"ZSTD"}

    def test_an_optional_column_is_left_out_where_no_row_has_a_value(self, tmp_path):
        optional = {"words_b", "text_b", "spans", "spans_b"}
        names = [name for name in schema_of("data").names if name not in optional]
        row = {name: ROWS["data"][0][name] for name in names[1:]}
        write(tmp_path / "single.parquet", "data", [{**row, **dict.fromkeys(optional)}])
        write(tmp_path / "none.parquet", "data", [row])
        for name in ("single", "none"):
            assert pq.read_schema(tmp_path / f"{name}.parquet").names == names
            assert read_artefact(tmp_path / f"{name}.parquet", "data")[0].column_names == names

    def test_nan_survives_and_is_not_null(self, tmp_path):
        path = tmp_path / "s.parquet"
        write(path, "scores", [{**_KEY, "score": math.nan}])
        column = read_artefact(path, "scores")[0].column("score")
        assert column.null_count == 0
        assert math.isnan(column[0].as_py())

    def test_the_same_rows_give_the_same_bytes(self, tmp_path, monkeypatch):
        monkeypatch.setattr("exparity.artefacts.files.usage", lambda: {"cpu_seconds": 1.0})
        with job():
            for name in ("a", "b"):
                write(tmp_path / name, "tests", extra={"wall_seconds": 1.0})
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.contract
def test_the_provenance_has_every_key_as_json(tmp_path):
    path = tmp_path / "s.parquet"
    begun = time.time()
    with job():
        write(path, "scores", device="cuda:1", extra={"groups": ["é", "b"]})
    stored = {
        key.decode(): json.loads(value)
        for key, value in pq.read_schema(path).metadata.items()
        if key.startswith(b"exparity.")
    }
    packages, commit, started, wall, cpu, memory = (
        stored.pop(f"exparity.{name}")
        for name in (
            "packages", "commit", "started", "wall_seconds", "cpu_seconds", "max_rss_mb",
        )
    )  # fmt: skip
    assert begun <= started < time.time()
    assert 0 <= wall < 10
    assert 0 < cpu <= time.process_time() + 0.001  # rounded
    assert 20 < memory < 64_000
    assert stored == {
        "exparity.artefact": "scores",
        "exparity.version": "0.1.0",
        "exparity.stage": "evaluate",
        "exparity.wildcards": CELL,
        "exparity.parameters": {"alpha": 0.05},
        "exparity.device": "cuda:1",
        "exparity.seed": 3,
        "exparity.rows": 2,
        "exparity.groups": ["é", "b"],
    }
    assert packages["numpy"]
    assert packages["pyarrow"] == pa.__version__
    assert commit == "unknown" or len(commit) == 40
    found = read_artefact(path, "scores")[1]
    assert all(found[key.removeprefix("exparity.")] == stored[key] for key in stored)


@pytest.mark.contract
class TestRefusedOnWrite:
    @pytest.mark.parametrize("artefact", ["data", "verdicts"])
    def test_null_is_where_it_may_be(self, artefact, tmp_path):
        for field in schema_of(artefact):
            if may_be_left_out(field):
                continue
            path, row = tmp_path / f"{field.name}.parquet", {**ROWS[artefact][0], field.name: None}
            if field.nullable:
                write(path, artefact, [row])
                assert read_artefact(path, artefact)[0].column(field.name).to_pylist() == [None]
            else:
                with pytest.raises(InputError, match=f"column '{field.name}' has empty cells"):
                    write(path, artefact, [row])
                assert not path.exists()

    @pytest.mark.parametrize(
        ("artefact", "change", "message"),
        [
            ("scores", {"score": "high"}, "rows do not fit the artefact 'scores'"),
            ("predictions", {"label": 40_000}, "rows do not fit the artefact 'predictions'"),
            ("scores", {"macth_id": "1"}, "'macth_id' is not a column of the artefact 'scores'"),
        ],
    )
    def test_rows_of_another_form(self, artefact, change, message, tmp_path):
        with pytest.raises(InputError, match=f"x.parquet: {message}"):
            write(tmp_path / "x.parquet", artefact, [{**ROWS[artefact][0], **change}])
        assert list(tmp_path.iterdir()) == []


@pytest.mark.contract
@pytest.mark.parametrize("artefact", ["data", "scores", "verdicts"])
def test_every_flipped_bit_is_found(artefact, tmp_path):
    path = tmp_path / f"{artefact}.parquet"
    write(path, artefact)
    before = read_artefact(path, artefact)
    for flip in rotten(path, 60):
        with pytest.raises(InputError, match=r"not a readable.*; delete it and run again"):
            pytest.fail(f"{flip}: {read_artefact(path, artefact)}")
    assert read_artefact(path, artefact) == before


@pytest.mark.contract
class TestAtomicPath:
    def test_an_exception_leaves_no_file(self, tmp_path):
        def write_half():
            with atomic_path(tmp_path / "new" / "file") as temporary:
                temporary.write_text("half")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_half()
        assert list((tmp_path / "new").iterdir()) == []

    def test_success_replaces_and_leaves_no_temporary_file(self, tmp_path):
        path = tmp_path / "file"
        path.write_text("old")
        with atomic_path(path) as temporary:
            temporary.write_text("new")
            assert path.read_text() == "old"
            assert temporary.parent == path.parent  # a rename across disks is no rename
            assert temporary.name.startswith(".")  # hidden from globs
        assert path.read_text() == "new"
        assert list(tmp_path.iterdir()) == [path]

    def test_two_writers_leave_one_whole_file(self, tmp_path):
        path = tmp_path / "file"
        with atomic_path(path) as first, atomic_path(path) as second:
            assert first != second
            first.write_text("first")
            second.write_text("second")
        assert path.read_text() == "first"  # left last
        assert list(tmp_path.iterdir()) == [path]

    def test_what_a_killed_writer_left_is_removed_by_the_next(self, tmp_path):
        path = tmp_path / "file[1]"
        child = os.fork()
        if not child:
            with atomic_path(path):
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        assert len(list(tmp_path.iterdir())) == 1
        with atomic_path(path) as temporary:
            temporary.write_text("new")
        assert list(tmp_path.iterdir()) == [path]

    def test_a_full_disk_is_said_of_the_file_itself(self, tmp_path):
        def write_half():
            with atomic_path(tmp_path / "file") as temporary:
                raise OSError(errno.ENOSPC, "No space left on device", str(temporary))

        with pytest.raises(OSError, match="No space left") as refused:
            write_half()
        assert refused.value.filename == str(tmp_path / "file")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("artefact", ARTEFACTS)
    def test_a_full_disk_keeps_what_was_there_and_names_the_artefact(
        self, artefact, tmp_path, monkeypatch
    ):
        path = tmp_path / "results" / f"{artefact}.parquet"
        write(path, artefact)
        before = path.read_bytes()

        def write_half(table, temporary, lineage):
            temporary.write_bytes(before[: len(before) // 2])
            raise OSError(errno.ENOSPC, "No space left on device", str(temporary))

        monkeypatch.setattr("exparity.artefacts.files.write_sealed", write_half)
        with pytest.raises(OSError, match="No space left") as refused:
            write(path, artefact)
        reason = system_reason(refused.value)
        assert reason.startswith(f"{path}: No space left on device; make room and run again")
        assert "\n" not in reason
        assert path.read_bytes() == before
        assert [*path.parent.iterdir()] == [path]

    def test_mode_follows_the_umask(self, tmp_path):
        old = os.umask(0o027)
        try:
            with atomic_path(tmp_path / "file") as temporary:
                temporary.write_text("x")
            assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
            assert os.umask(0o027) == 0o027  # put back
        finally:
            os.umask(old)

    def test_files_of_a_folder_follow_the_umask_whatever_wrote_them(self, tmp_path):
        old = os.umask(0o027)
        try:
            with new_folder(tmp_path / "folder") as temporary:
                (temporary / "inner").mkdir()
                for path in (temporary / "private", temporary / "inner" / "private"):
                    path.touch(mode=0o600)
            modes = {path.stat().st_mode & 0o777 for path in tmp_path.rglob("private")}
            assert modes == {0o640}
        finally:
            os.umask(old)


@pytest.mark.contract
class TestRefusedOnRead:
    def test_a_truncated_file_is_named_with_its_remedy(self, tmp_path):
        path = tmp_path / "s.parquet"
        write(path, "scores")
        whole = path.read_bytes()
        for share in (0.0, 0.3, 0.9, 0.999):
            path.write_bytes(whole[: int(share * len(whole))])
            with pytest.raises(InputError, match=r"s.parquet: not a readable .*delete it"):
                read_artefact(path, "scores")

    @pytest.mark.parametrize("artefact", ["data", "verdicts"])
    def test_a_file_without_a_column_is_refused(self, artefact, tmp_path):
        path = tmp_path / "x.parquet"
        write(path, artefact)
        whole = pq.ParquetFile(path).read()
        for name in whole.column_names:
            if may_be_left_out(schema_of(artefact).field(name)):
                continue
            pq.write_table(whole.drop_columns([name]), path)
            with pytest.raises(InputError, match=rf"x.parquet: not a '{artefact}' .*'{name}'"):
                read_artefact(path, artefact)

    @pytest.mark.parametrize(
        ("artefact", "column", "values", "found"),
        [
            ("scores", "score", pa.array(["a", "b"]), "double, found string"),
            ("scores", "metric", pa.array([1, 2]), "text id, found int64"),
            ("explanations", "scores", pa.array([[1.0], [2.0]]), "list<.*float>, found list<.*do"),
        ],
    )
    def test_a_column_of_another_type_is_refused(self, artefact, column, values, found, tmp_path):
        path = tmp_path / "x.parquet"
        write(path, artefact)
        table = pq.ParquetFile(path).read()
        index = table.column_names.index(column)
        pq.write_table(table.set_column(index, column, values), path)
        with pytest.raises(InputError, match=f"column '{column}': expected {found}"):
            read_artefact(path, artefact)

    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
    def test_ids_may_be_plain_text(self, kind, tmp_path):
        path = tmp_path / "x.parquet"
        write(path, "scores")
        table = pq.ParquetFile(path).read()
        index = table.column_names.index("metric")
        values = table.column("metric").cast(pa.string()).cast(kind)
        pq.write_table(table.set_column(index, "metric", values), path)
        assert read_artefact(path, "scores")[0].column("metric").to_pylist() == ["gini", "gini"]

    def test_further_columns_are_dropped_and_the_order_is_settled(self, tmp_path):
        path = tmp_path / "x.parquet"
        write(path, "scores")
        table = pq.ParquetFile(path).read().append_column("more", pa.array([1, 2]))
        pq.write_table(table.select(list(reversed(table.column_names))), path)
        assert read_artefact(path, "scores")[0].column_names == schema_of("scores").names


@pytest.fixture
def study(tmp_path) -> Path:
    """Scores of 2 models × 2 seeds, beside work in progress that nobody may read."""
    for model in ("bert", "gpt"):
        for seed in (0, 1):
            ids = {**CELL, "model": model, "seed": seed}
            path = tmp_path / "scores" / "pairs" / model / str(seed) / "lime" / "gini.parquet"
            rows = [{**_KEY, "example_id": str(i), "score": seed + i / 4} for i in range(3)]
            write(path, "scores", rows, ids)
    whole = path.read_bytes()
    (path.parent / ".gini.parquet.abc.tmp").write_bytes(whole[:50])
    (path.parent / ".gini.parquet").write_bytes(whole)
    hidden = path.parent / ".gini.parts"
    hidden.mkdir()
    (hidden / "0.parquet").write_bytes(whole)
    return tmp_path


@pytest.mark.contract
class TestReadResults:
    def test_all_cells_are_one_table_in_the_order_of_files(self, study):
        found = read_results(str(study), "scores")
        whole = [field.name for field in schema_of("scores") if not may_be_left_out(field)]
        assert list(found.columns) == whole
        cells = [(m, s) for m in ("bert", "gpt") for s in (0, 1) for _ in range(3)]
        assert list(zip(found["model"], found["seed"], strict=True)) == cells
        assert list(found["score"]) == [
            s + i / 4 for _ in range(2) for s in (0, 1) for i in range(3)
        ]

    def test_what_is_not_there_is_named(self, tmp_path):
        for artefact, message in (
            ("tests", "tests: no 'tests' files there; has that stage run"),
            ("score", "unknown artefact 'score'; did you mean 'scores'"),
        ):
            with pytest.raises(InputError, match=message):
                read_results(tmp_path, artefact)
        with pytest.raises(InputError, match=r"gone.parquet: no such file; run the stage"):
            read_artefact(tmp_path / "gone.parquet", "scores")

    def test_one_bad_file_is_named(self, study):
        bad = study / "scores" / "pairs" / "bert" / "0" / "lime" / "gini.parquet"
        write(bad, "predictions", ids={**CELL})
        with pytest.raises(InputError, match=r"bert/0/lime/gini.parquet: not a 'scores' artefact"):
            read_results(study, "scores")


class TestJobsThatMeet:
    """A job of a killed run lives on and ends after its successor in the next run."""

    def write(self, path, score):
        rows = [{**_KEY, "score": score}]
        write_artefact(path, "scores", rows, CELL, parameters={})

    def score(self, path):
        return read_artefact(path, "scores")[0].column("score").to_pylist()

    def test_the_job_that_started_later_wins(self, tmp_path, caplog):
        path = tmp_path / "scores.parquet"
        with job() as earlier:  # of the killed run
            with job() as later:  # of the next one
                self.write(path, 2.0)
            written = path.stat()
            self.write(path, 1.0)
        assert (earlier.left, later.left) == ({path}, set())
        assert self.score(path) == [2.0]
        assert path.stat().st_mtime_ns == written.st_mtime_ns
        assert "a job that started later" in caplog.text

    def test_a_start_in_the_future_protects_nothing(self, tmp_path, caplog):
        """Files of a job whose clock was ahead are replaced."""
        path = tmp_path / "scores.parquet"
        with job() as ahead:
            ahead.started += 86_400
            self.write(path, 1.0)
        with job() as running:
            self.write(path, 2.0)
        assert self.score(path) == [2.0]
        assert not running.left
        assert "started later" not in caplog.text

    def test_a_job_replaces_what_earlier_ones_wrote(self, tmp_path):
        path = tmp_path / "scores.parquet"
        for score in (1.0, 2.0):
            with job():
                self.write(path, score)
        self.write(path, 3.0)
        assert self.score(path) == [3.0]


def test_a_folder_that_cannot_be_written_is_named_and_no_temporary_file(tmp_path, monkeypatch):
    def refuse(**options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), f"{tmp_path}/.file.x1y2.tmp")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(OSError, match="Read-only") as error, atomic_path(tmp_path / "file"):
        pass
    assert error.value.filename == str(tmp_path)
