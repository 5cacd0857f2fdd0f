"""Parts of unfinished jobs: taken over by the next run if they fit, and never seen in results."""

import io
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from held import held
from stages import cells
from support import wait_until

from exparity.artefacts.files import job, read_artefact, read_parquet
from exparity.artefacts.lineage import MANIFEST
from exparity.core.errors import InputError
from exparity.jobs.parts import Parts
from exparity.methods import METHODS
from exparity.models.manifest import write_manifest
from exparity.stages.explain import checked_encoder
from exparity.types import Example

PLUGIN = Path(__file__).with_name("slow_plugin.py")
N, SIZE = 24, 4  # examples of the cell, examples of a part


explain = partial(cells.explain, use="slow")
evaluate = partial(cells.evaluate, use="slow_drop")


def content(path) -> bytes:
    """The bytes of a table without its metadata (times, commit)."""
    sink = io.BytesIO()
    with pq.ParquetFile(path) as file:
        pq.write_table(file.read().replace_schema_metadata(None), sink)
    return sink.getvalue()


def parts_of(output):
    return sorted(output.with_name(f"{output.name}.parts").glob("*.part"))


@pytest.fixture
def whole(cell, slow, tmp_path):
    """An undisturbed explanations artefact."""
    output = tmp_path / "whole.parquet"
    explain(cell, output)
    slow.write_text("")
    return output


@pytest.fixture
def interrupted(monkeypatch):
    """Let a job save so many parts, and end like a killed one."""

    def call(count, run, *arguments, **changes):
        add = Parts.add

        def saved(parts, *given, **facts):
            add(parts, *given, **facts)
            if len(parts.done) == count:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Parts, "add", saved)
            with pytest.raises(KeyboardInterrupt):
                run(*arguments, **changes)

    return call


def test_explain_continues_from_its_finished_parts(
    cell, whole, slow, interrupted, tmp_path, caplog, monkeypatch
):
    output = tmp_path / "a" / "x.parquet"
    interrupted(3, explain, cell, output)
    assert not output.exists()
    assert len(parts_of(output)) == 3
    assert not [p for p in output.parent.rglob("*") if p.name.endswith((".parquet", ".tmp"))]
    before = slow.read_text().splitlines()
    # What is taken over has passed: scores that are constant in a later part do not end the job.
    monkeypatch.setattr("exparity.engine.preflight.check_attributions", None)
    with caplog.at_level(logging.INFO):
        explain(cell, output)
    assert f"{3 * SIZE} of {N} examples are taken over from an earlier run" in caplog.messages
    again = slow.read_text().splitlines()[len(before) :]
    assert len(again) == N // SIZE - 3
    assert not set(again) & set(before)
    assert content(output) == content(whole)
    assert [p.name for p in output.parent.iterdir()] == ["x.parquet"]
    facts = [read_artefact(path, "explanations")[1] for path in (whole, output)]
    for key in ("flags", "n_truncated", "parameters", "fingerprint"):
        assert facts[0][key] == facts[1][key], key
    assert facts[0]["flags"] == ["slow"]


def test_time_of_earlier_runs_counts(cell, whole, slow, interrupted, tmp_path, monkeypatch):
    monkeypatch.setenv("SLOW_SECONDS", "0.05")
    output = tmp_path / "a" / "s.parquet"
    interrupted(4, evaluate, cell, whole, output)
    facts = [read_parquet(path)[1] for path in parts_of(output)]
    assert all(fact["seconds"] >= 0.05 for fact in facts)
    earlier = sum(fact["seconds"] for fact in facts)
    with job():
        evaluate(cell, whole, output)
    found = read_artefact(output, "scores")[1]
    assert found["earlier_seconds"] == pytest.approx(earlier)
    rounding = 0.002
    assert found["work_seconds"] >= earlier + (N // SIZE - 4) * 0.05 - rounding
    assert found["work_seconds"] - earlier <= found["wall_seconds"] + rounding


def change_data(cell, monkeypatch):
    path = cell / "data.parquet"
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"x": b"y"}), path)


def change_checkpoint(cell, monkeypatch):
    path = cell / "mine" / "3" / "config.json"
    path.write_text(path.read_text() + " ")
    write_manifest(path.with_name(MANIFEST), {"fingerprint": "another training's"})


def change_source(cell, monkeypatch):
    monkeypatch.setattr("exparity.jobs.parts.source_digest", lambda *paths: "other")


@pytest.mark.parametrize("change", [change_data, change_checkpoint, change_source, None])
def test_parts_of_something_else_are_discarded(
    change, cell, whole, slow, interrupted, tmp_path, caplog, monkeypatch
):
    mine = tmp_path / "cell"
    shutil.copytree(cell, mine)
    output = tmp_path / "a" / "x.parquet"
    interrupted(3, explain, mine, output)
    slow.write_text("")
    changes = {}
    if change is None:
        changes = {"params": {"factor": 2.0}}
    else:
        change(mine, monkeypatch)
    with caplog.at_level(logging.INFO):
        explain(mine, output, **changes)
    (line,) = (message for message in caplog.messages if "discarded" in message)
    assert line.startswith("discarded 3 parts of an earlier run")
    assert not [m for m in caplog.messages if "taken over" in m]
    assert len(slow.read_text().splitlines()) == N // SIZE
    assert (content(output) == content(whole)) == (not changes)


def test_a_damaged_or_renamed_part_is_made_again(cell, whole, slow, interrupted, tmp_path, caplog):
    output = tmp_path / "x.parquet"
    interrupted(4, explain, cell, output)
    first, cut, empty, renamed = parts_of(output)
    cut.write_bytes(cut.read_bytes()[:-20])
    empty.write_bytes(b"")
    shutil.copy(first, renamed)
    with caplog.at_level(logging.INFO):
        explain(cell, output)
    assert "discarded 3 parts of an earlier run" in caplog.text
    assert f"{SIZE} of {N} examples are taken over from an earlier run" in caplog.messages
    assert content(output) == content(whole)


def test_short_jobs_save_nothing(cell, whole, slow, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("a part was saved, or inputs were digested")

    monkeypatch.setattr("exparity.jobs.parts.save_parquet", never)
    monkeypatch.setattr("exparity.jobs.parts.sha256_of", never)
    explain(cell, tmp_path / "x.parquet", use="gradient")
    monkeypatch.setattr("exparity.jobs.parts.chunk_size", lambda passes: 5)
    evaluate(cell, whole, tmp_path / "s.parquet", use="gini")
    assert read_artefact(tmp_path / "s.parquet", "scores")[0].num_rows == N


def test_a_failed_preflight_leaves_nothing(cell, slow, tmp_path, monkeypatch):
    from exparity.core.errors import ExparityError
    from exparity.models.checkpoints import load_model

    mine = tmp_path / "cell"
    shutil.copytree(cell, mine)
    model = load_model(str(mine / "mine" / "3"))
    model.classifier.weight.data.zero_()
    model.save_pretrained(mine / "mine" / "3")
    (mine / "mine" / "3" / MANIFEST).unlink()
    with pytest.raises(ExparityError, match="zero attributions"):
        explain(mine, tmp_path / "a" / "x.parquet", use="integrated_gradients", max_examples=10)
    endless = replace(
        METHODS.get("slow"),
        function=lambda batch: [np.full(n, np.inf) for n in batch.lengths],
    )
    monkeypatch.setitem(METHODS._entries, "slow", endless)
    with pytest.raises(ExparityError, match="not finite"):
        explain(cell, tmp_path / "a" / "x.parquet")
    assert list((tmp_path / "a").iterdir()) == []


def test_a_text_without_tokens_is_named_before_any_work(classifiers):
    texts = [
        Example(f"e{i}", ("\x00",) if i == 9 else ("she", "sings"), 0, "g", "test")
        for i in range(12)
    ]
    with pytest.raises(InputError, match=r"^example 'e9': .* has no token to explain$"):
        checked_encoder(classifiers["bert"], [texts[:4], texts[4:8], texts[8:]])


def test_texts_that_the_tokenizer_does_not_know_are_refused_as_a_whole(classifiers):
    known, strange = (
        [Example(f"{words[0]}{i}", words, 0, "g", "test") for i in range(4)]
        for words in (("she", "sings", "."), ("вона", "співає"))
    )
    checked_encoder(classifiers["bert"], [known, strange[:1]])
    checked_encoder(classifiers["roberta"], [strange])  # bytes know everything
    with pytest.raises(InputError, match=r"does not know 8 of \d+ tokens of the texts \(\[UNK\]\)"):
        checked_encoder(classifiers["bert"], [known[:2], strange])


def command(cell, output):
    return [
        sys.executable, "-m", "exparity", "explain", "--use", "slow", "--plugins", str(PLUGIN),
        "--data", str(cell / "data.parquet"), "--checkpoint", str(cell / "mine" / "3"),
        "--predictions", str(cell / "predictions.parquet"), "--output", str(output),
        "--device", "cpu", "--threads", "1",
    ]  # fmt: skip


def start(cell, output, calls, **more):
    environment = {**os.environ, "SLOW_CALLS": str(calls), **more}
    return subprocess.Popen(
        command(cell, output), env=environment, stderr=subprocess.PIPE, text=True
    )


def wait_for(condition, job):
    wait_until(lambda: condition() or job.poll() is not None)
    assert condition(), job.stderr.read()


def test_term_keeps_what_is_done(cell, whole, slow, tmp_path, caplog):
    output = tmp_path / "a" / "x.parquet"
    with held("00002.part") as waiting:
        job = start(cell, output, slow)
        waiting.wait(job)
        job.send_signal(signal.SIGTERM)
        job.send_signal(signal.SIGTERM)  # preemption says it more than once
        lines = job.communicate(timeout=60)[1].splitlines()
    assert job.returncode == 128 + signal.SIGTERM
    kept = len(parts_of(output)) * SIZE
    assert lines[-1] == (
        f"exparity: stopped by SIGTERM; {kept} of {N} examples are kept, the same command continues"
    )
    assert kept == 2 * SIZE
    assert "Traceback" not in "".join(lines)
    names = [p.name for p in (tmp_path / "a").rglob("*") if p.is_file()]
    assert all(re.fullmatch(r"\d{5}\.part", name) for name in names), names
    with caplog.at_level(logging.INFO):
        explain(cell, output)
    assert f"{kept} of {N} examples are taken over from an earlier run" in caplog.messages
    assert len(slow.read_text().splitlines()) <= N // SIZE + 1  # parts, one repeated
    assert content(output) == content(whole)


def test_two_jobs_of_one_cell_share_the_work(cell, whole, slow, tmp_path):
    output, end = tmp_path / "a" / "x.parquet", tmp_path / "end"
    first = start(cell, output, slow, SLOW_UNTIL=str(end))
    wait_for(lambda: slow.read_text(), first)
    second = start(cell, output, slow)
    with first, second:
        said = next(line for line in second.stderr if "waiting for it" in line)
        end.touch()
        said += second.stderr.read()
        first.communicate(timeout=120)
    assert [job.returncode for job in (first, second)] == [0, 0], said
    assert f"{output}: finished by another job meanwhile" in said
    assert len(slow.read_text().splitlines()) == N // SIZE
    assert content(output) == content(whole)
    assert [p.name for p in output.parent.iterdir()] == ["x.parquet"]
