"""The command until-decided: which datasets get more trainings, and what it tells Snakemake."""

import math

import pytest
import yaml
from support import TINY

from exparity.cli import main
from exparity.tools import until_decided as tool
from exparity.tools.until_decided import compared, in_words, next_trainings

LOOKS = (3, 5, 8)


def row(verdict, quantity="excess", **more):
    ids = {"dataset": "d", "model": "m", "method": "lime", "metric": "gini"}
    groups = {"group_a": "a", "group_b": "b", "n_seeds": 3, "text_share": 0.1}
    return {**ids, **groups, "quantity": quantity, "verdict": verdict, **more}


def test_the_excess_is_decided_where_there_is_one():
    rows = [
        row("equivalent", "score"),
        row("undecided"),
        row("different", "score", metric="sparsity"),
        row("undecided", "random_score", method="uniform_random"),
        row("undecided", "change", metric="loss"),
        row("unstable", dataset="other"),
    ]
    assert compared(rows) == {"d": [rows[1], rows[2]], "other": [rows[5]]}


@pytest.mark.parametrize(
    ("verdict", "more", "needed"),
    [
        ("equivalent", {}, False),
        ("different", {}, False),
        ("unstable", {}, False),
        ("considerable", {}, True),
        ("undecided", {}, True),
        (None, {}, False),  # its scores never differ
        (None, {"n_seeds": 0}, True),  # no classifier works yet
    ],
)
def test_what_needs_more_trainings(verdict, more, needed):
    rows = {"d": [row("equivalent"), row(verdict, **more)]}
    assert next_trainings(rows, {"d": 3}, LOOKS) == ({"d": 5} if needed else {})
    assert next_trainings(rows, {"d": 8}, LOOKS) == {}  # the budget is spent


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ([], ["--cores", "all"]),
        (["--cores", "2"], ["--cores", "2"]),
        (["--profile", "profiles/slurm"], ["--profile", "profiles/slurm"]),
        (["--profile", "p", "--cores", "3"], ["--profile", "p", "--cores", "3"]),
    ],
)
def test_how_snakemake_is_told(tmp_path, monkeypatch, flags, told):
    """A look at a time: the verdicts until none is open, then everything."""
    monkeypatch.chdir(tmp_path)
    seeds = {"until": "decided", "looks": [2, 3]}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({**TINY, "seeds": seeds}))
    ran, verdicts = [], iter(("undecided", "unstable"))

    class Table:
        def to_pylist(self):
            return [row(next(verdicts), dataset="pairs_all")]

    monkeypatch.setattr(tool, "run_snakemake", lambda results, *flags: ran.append(flags))
    monkeypatch.setattr(tool, "read_artefact", lambda path, name: (Table(), {}))
    assert main(["until-decided", "my.yaml", "--config", "title=t", *flags]) == 0
    told = ("--configfile", "my.yaml", "--config", "title=t", *told)
    look = (*told, "--", "results/verdicts.parquet")
    assert ran == [look, look, told]
    assert yaml.safe_load((tmp_path / "results" / "trainings.json").read_text()) == {"pairs_all": 3}


def test_in_words():
    rows = [row("equivalent"), row("undecided", text_share=0.7), row(None, text_share=math.nan)]
    assert in_words(rows) == (
        "1 of 3 cells are decided (1 equivalent, 1 undecided, 1 that cannot be tested); "
        "1 need texts, not trainings"
    )
