"""Gathering shards: all of one job, each once, or one line that names the file."""

import re

import pytest

from exparity.artefacts.files import read_artefact, write_artefact
from exparity.artefacts.lineage import made_from
from exparity.core.errors import InputError
from exparity.stages.shards import gather_shards

IDS = {"dataset": "d", "model": "m", "seed": 0, "method": "lime", "metric": "drop"}


def shard(path, index, of=3, examples=None, ids=IDS, parameters=None, **extra):
    names = examples or [f"e{i}" for i in range(12) if i % of == index - 1]
    rows = [{"example_id": n, "group": "g", "match_id": None, "score": float(n[1:])} for n in names]
    facts = {
        "fingerprint": "f",
        "groups": ["g", "h"],
        "attribute": "a",
        "flags": [],
        "shard": {"index": index, "of": of},
        **extra,
    }
    write_artefact(
        path, "scores", rows, ids, stage="evaluate", parameters=parameters or {"use": "drop"},
        seconds=index, extra={k: v for k, v in facts.items() if v is not None},
    )  # fmt: skip
    return path


@pytest.fixture
def shards(tmp_path):
    return [shard(tmp_path / f"{k}.parquet", k) for k in (1, 2, 3)]


def refused(shards, output, *parts):
    with pytest.raises(InputError) as error:
        gather_shards(shards, output)
    assert "\n" not in str(error.value)
    for part in parts:
        assert part in str(error.value)
    assert not output.exists()


def test_metadata_are_merged(shards, tmp_path):
    shard(shards[1], 2, flags=["noise"], notes={"censored": 2})
    shard(shards[2], 3, flags=["noise", "a"], notes={"censored": 3, "b": 1})
    gather_shards(shards, tmp_path / "out.parquet")
    table, facts = read_artefact(tmp_path / "out.parquet", "scores")
    assert table.column("example_id").to_pylist() == sorted(f"e{i}" for i in range(12))
    assert table.column("score").to_pylist() == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    assert facts["wall_seconds"] == 6
    assert facts["flags"] == ["a", "noise"]
    assert facts["notes"] == {"censored": 5, "b": 1}
    assert (facts["groups"], facts["attribute"]) == (["g", "h"], "a")
    assert (facts["wildcards"], facts["stage"]) == (IDS, "evaluate")
    assert "shard" not in facts


def test_a_missing_shard(shards, tmp_path):
    refused(shards[:2], tmp_path / "out", "1.parquet: is shard 1/3", "missing: 3/3")
    refused(shards[1:2], tmp_path / "out", "2.parquet", "missing: 1/3, 3/3")


def test_the_same_shard_twice(shards, tmp_path):
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(shards[1].read_bytes())
    refused([*shards, copy], tmp_path / "out", "copy.parquet: is shard 2/3, as ", "2.parquet is")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"ids": {**IDS, "seed": 1}}, "is of another cell than"),
        ({"parameters": {"use": "drop", "params": {"n": 2}}}, "has other parameters than"),
        ({"fingerprint": "g"}, "was made from other inputs or source than"),
        ({"groups": ["h", "g"]}, "has other groups than"),
        ({"of": 4}, "is shard 2/4, but"),
        ({"shard": None}, "is no shard; it was made without --shard"),
        ({"examples": ["e1", "e2"]}, "example 'e2' is in"),
    ],
)
def test_a_shard_of_another_job(shards, tmp_path, changes, part):
    clash = 3 if "examples" in changes else 2  # found where the example comes again
    shard(shards[1], 2, **changes)
    refused(shards, tmp_path / "out", f"{clash}.parquet: ", part)


def test_d21_a_shard_of_another_config(tmp_path):
    """It lies there where no attempt to make it anew could start."""
    output = tmp_path / "out.parquet"
    with made_from({"steps": 1}, []):
        shards = [shard(tmp_path / f"{k}.parquet", k) for k in (1, 2, 3)]
    with made_from({"steps": 2}, []):
        refused(shards, output, "1.parquet: was made from other options or inputs; remove it")
    with made_from({"steps": 1}, []):
        gather_shards(shards, output)
    assert output.exists()


def test_other_files(shards, tmp_path):
    refused([tmp_path / "none"], tmp_path / "out", "none: no such file")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(shards[0].read_bytes()[:-9])
    for given in ([broken, *shards[1:]], [*shards[1:], broken]):
        refused(given, tmp_path / "out", "broken.parquet: not a readable Parquet file")
    other = tmp_path / "other.parquet"
    write_artefact(other, "predictions", [], IDS, stage="finetune", parameters={})
    refused([other], tmp_path / "out", "other.parquet: is no shard of explanations or scores")
    with pytest.raises(InputError, match=re.escape(f"{other}: not a 'scores' artefact")):
        gather_shards([shards[0], other], tmp_path / "out")


def test_empty_shards_are_shards(tmp_path):
    """More shards than parts leave some without examples."""
    one = shard(tmp_path / "1.parquet", 1, of=2)
    two = tmp_path / "2.parquet"
    facts = read_artefact(one, "scores")[1]
    extra = {k: facts[k] for k in ("fingerprint", "groups", "attribute", "flags")}
    extra["shard"] = {"index": 2, "of": 2}
    write_artefact(
        two, "scores", [], IDS, stage="evaluate", parameters={"use": "drop"}, extra=extra
    )
    gather_shards([two, one], tmp_path / "out.parquet")
    assert read_artefact(tmp_path / "out.parquet", "scores")[0].num_rows == 6
