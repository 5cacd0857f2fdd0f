"""The command plan: what it prints and writes, and what it refuses."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support import N_METHODS, N_METRICS, TINY, refused_by

from exparity import cli
from exparity.costs.estimate import LEVELS, Estimator
from exparity.costs.finished import Finished, JobCost
from exparity.costs.forecast import forecast, gigabytes, plain, plan_text
from exparity.costs.kinds import Kind
from exparity.resources import workflow_file
from exparity.stats.power import planned_typical_gaps

REFUSED = refused_by(__file__)

LIME = Kind(("explain", "lime"), "of bert on pairs", True)
TEST = Kind(("test",), "on pairs")
SUMMED = {"match": {"method": "ig", "model": "hub"}, "method": {"pooling": "sum"}}
JOBS = 1 + 3 + N_METHODS + N_METHODS * N_METRICS + N_METRICS + 3


def finished(kind, seconds, examples=10, **facts):
    return JobCost(kind, examples, seconds=seconds, **facts)


def plan_of(planned, jobs, device="cpu"):
    made = forecast(planned, Estimator(jobs, device))
    return made, plan_text(made, "mine.yaml", [Finished("there", list(jobs), [])], device)


class TestPlan:
    def test_amounts(self):
        jobs = [
            finished(LIME, 3600.0, work_seconds=1800.0, cpu_seconds=1800.0, max_rss_mb=500.0,
                     bytes=3000, data_bytes=1000),
            finished(TEST, 36.0, work_seconds=0.0),
        ]  # fmt: skip
        planned = [JobCost(LIME, 10, True), JobCost(LIME, 20, False), JobCost(TEST, 10, False)]
        made, shown = plan_of(planned, jobs)
        (explain, test), total = made.stages, made.total
        assert [stage.stage for stage in made.stages] == ["explain", "test"]
        assert (explain.jobs, explain.finished, explain.unknown) == (2, 1, 0)
        assert explain.seconds == pytest.approx(3600 + 5400)
        assert explain.seconds_to_go == pytest.approx(5400)
        assert explain.model_seconds == explain.seconds
        assert explain.cpu_seconds == pytest.approx(1800 + 2700)
        assert explain.max_rss_mb == 500.0
        assert explain.bytes == pytest.approx(3000 + 4000)
        assert (test.seconds, test.model_seconds, test.cpu_seconds) == (36.0, 0.0, None)
        assert total.seconds == pytest.approx(9036.0)
        assert total.seconds_to_go == pytest.approx(5436.0)
        assert made.basis == {"the same kind": 3}
        lines = shown.splitlines()
        assert lines[0] == "mine.yaml: 3 jobs, of which 1 are finished"
        assert lines[1] == "from 2 finished jobs in there"
        assert "model hours" in lines[4]
        assert " ".join(lines[5].split()) == "explain 2 1 2.5 1.5 2.5 524 MB 7 kB"
        assert lines[7].split()[:6] == ["total", "3", "1", "2.51", "1.51", "2.5"]
        assert "seeds=[0]" not in shown

    def test_nothing_is_known(self):
        made, shown = plan_of([JobCost(LIME, 10, False), JobCost(TEST, 10, False)], [])
        assert made.total.unknown == 2
        for line in shown.splitlines()[3:6]:
            assert line.split()[3:] == ["unknown"] * 5
        assert "Nothing has been measured yet." in shown
        assert shown.endswith("run with\n--config 'seeds=[0]', and plan again")
        row = plain(made)["total"]
        assert [row[key] for key in ("seconds", "seconds_to_go", "bytes")] == [None] * 3

    def test_a_part_is_unknown_and_never_counted_as_nothing(self):
        planned = [JobCost(LIME, 10, False), *[JobCost(TEST, 10, False)] * 3]
        made, shown = plan_of(planned, [finished(TEST, 3600.0)])
        assert made.total.unknown == 1
        assert "explain" in shown
        assert "unknown  unknown" in shown
        (total,) = [line for line in shown.splitlines() if line.startswith("total")]
        assert total.split()[1:5] == ["4", "0", "3+", "3+"]
        assert "       1  nothing alike: unknown, and not in any sum (+)" in shown
        assert "    explain lime (1)" in shown
        assert plain(made)["missing"] == {"explain lime": 1}

    def test_the_basis_is_told(self):
        other = LIME._replace(made_of="of gpt2 on pairs")
        _, shown = plan_of([JobCost(LIME, 10, False)], [finished(other, 3600.0)])
        assert "       1  the same stage, method and metric, per example, not scaled" in shown
        assert "seeds=[0]" in shown
        assert "Of 1 jobs, nothing tells which part of the time grows" in shown

    def test_it_fits_a_terminal(self):
        made, _ = plan_of([JobCost(LIME, 10, False), JobCost(TEST, 10, False)], [])
        made.total = replace(made.total, jobs=99_999, finished=99_999, unknown=9_999)
        made.total = replace(made.total, seconds=3e7, seconds_to_go=3e7, model_seconds=3e7)
        made.total = replace(made.total, max_rss_mb=123_456.0, bytes=1.5e13)
        made.undivided = 99_999
        for level in LEVELS:
            made.basis[level] = 99_999
        shown = plan_text(made, Path("config/paper.yaml"), [], "cuda")
        assert max(map(len, shown.splitlines())) <= 80

    def test_on_a_gpu(self):
        jobs = [finished(LIME, 3600.0, device="cuda:0")]
        _, shown = plan_of([JobCost(LIME, 10, False)], jobs, "cuda")
        assert "jobs that run a model were measured on a GPU (cuda)" in shown
        assert "GPU-hours" in shown


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a config file; commands run in it."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("EXPARITY_")]:
        monkeypatch.delenv(name)
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return tmp_path


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command: (exit code, stdout, stderr)."""
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    monkeypatch.setattr("logging.captureWarnings", lambda _: None)

    def call(*arguments):
        code = cli.main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return call


class TestCommand:
    def test_an_experiment_that_never_ran(self, here, run):
        code, out, _ = run("plan", "--configfile", "tiny.yaml")
        assert code == 0
        assert out.startswith(f"tiny.yaml: {JOBS} jobs, of which 0 are finished\n")
        assert "Nothing has been measured yet." in out
        assert f"{N_METHODS * N_METRICS} scores are tested, by 1 jobs of `compare` in all" in out
        assert not (here / "results").exists()
        # M10: so many jobs does Snakemake announce.
        command = [sys.executable, "-m", "snakemake", "--snakefile", workflow_file("Snakefile")]
        command += ["--configfile", "tiny.yaml", "--cores", "1", "--dry-run"]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        total = re.search(r"^total +(\d+)$", told.stdout + told.stderr, re.MULTILINE)
        assert f"Snakemake says {total[1]}: it counts its rules all and cost" in out

    def test_a_config_as_snakemake_takes_it(self, here, run):
        (here / "more.yaml").write_text("title: more\nseeds: [3]\n")
        seeds = ["--config", "seeds=[0, 1]", "results=elsewhere"]
        code, out, _ = run("plan", "--configfile", "tiny.yaml", "more.yaml", *seeds, "--json")
        found = json.loads(out)
        assert found["config"] == "tiny.yaml more.yaml --config 'seeds=[0, 1]' results=elsewhere"
        assert found["results"] == "elsewhere"
        finetune = next(row for row in found["stages"] if row["stage"] == "finetune")
        assert (code, finetune["jobs"]) == (0, 2)

    def test_samples_that_decide_nothing_are_named(self, here, run, caplog):
        few = {"use": "gini", "max_examples": 12}
        metrics = {"gini": {}, "few": few, "same": {**few, "max_examples": 16}}
        config = {**TINY, "metrics": metrics, "seeds": [0, 1, 2, 3, 4]}
        (here / "some.yaml").write_text(yaml.safe_dump(config))
        assert run("plan", "--configfile", "some.yaml", "--json")[0] == 0
        # 2^-7 and 2^-5 are above 0.05/30, and so few texts decide nothing anyway
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == 1 + 2
        assert "leaves 8 sets of pairs_all, on which 5 trainings decide next to nothing" in lines[2]
        assert lines[2].endswith("or more are found, and never that there is none; take more texts")
        few = "metrics.few.max_examples: too few texts, 6 sets of pairs_all: the smallest possible"
        assert lines[0] == (
            f"{few} p is 0.031, and Holm over 30 tests needs 0.0017: take 11 sets; 2 more samples "
            "are too small"
        )

    def test_what_each_number_of_trainings_shows_and_takes(self, here, run):
        numbers = [3, 4, 5, 8, 13, 20, 32]  # four are planned
        config = {**TINY, "seeds": [0, 1, 2, 3], "datasets": {"pairs_all": {"n_pairs": 1600}}}
        (here / "more.yaml").write_text(yaml.safe_dump(config))
        rows = json.loads(run("plan", "more.yaml", "--json")[1])["by_trainings"]
        assert [row["trainings"] for row in rows] == numbers
        once = 1 + 3  # prepare; compare, judge and report
        each = JOBS - once
        assert [row["jobs"] for row in rows] == [once + n * each for n in numbers]
        for i, together in enumerate((0.0, 0.8)):
            options = {"sizes": (320, 320, 320), "together": together}
            found = planned_typical_gaps(numbers, alpha=0.05 / 4, **options)[0]
            equivalent = planned_typical_gaps(numbers, alpha=0.05, **options)[1]
            of_sample = [row["samples"][i] for row in rows]
            assert [one["found"] for one in of_sample] == pytest.approx(found)
            for one, gap in zip(of_sample, equivalent, strict=True):
                assert one["equivalent"] == (pytest.approx(gap) if gap == gap else None)
        assert of_sample[-1]["equivalent"] is not None
        out = run("plan", "more.yaml")[1]
        (line,) = [line for line in out.splitlines() if line.startswith("jobs ")]
        assert line.split()[1:] == [f"{once + n * each:,}" for n in numbers]
        assert out.count("pairs_all, 320 sets, r = 0.8") == 2
        assert max(map(len, out[out.index("Typical") :].splitlines())) <= 80

    @pytest.mark.parametrize(
        ("changes", "key"), REFUSED["a_sample_on_which_nothing_can_be_significant_is_refused"]
    )
    def test_a_sample_on_which_nothing_can_be_significant_is_refused(self, here, run, changes, key):
        (here / "small.yaml").write_text(yaml.safe_dump({**TINY, **changes}))
        code, out, err = run("plan", "--configfile", "small.yaml")
        assert (code, out) == (2, "")
        assert f"{key}" in err
        assert (
            "too few texts, 4 sets of pairs_all: the smallest possible p is 0.12, and alpha" in err
        )
        assert len(err.splitlines()) == 1
        # A looser level leaves something to find.
        loose = ("--config", "statistics={alpha: 0.2, resamples: 200}")
        assert run("plan", "--configfile", "small.yaml", *loose)[0] == 0

    def test_without_raw_files_where_sizes_are_known(self, here, run):
        far = {**TINY, "datasets": {"geco_all": {}, "compas": {}}}
        (here / "far.yaml").write_text(yaml.safe_dump(far))
        code, out, err = run("plan", "--configfile", "far.yaml")
        assert (code, err) == (0, "")
        assert out.startswith(f"far.yaml: {2 * (JOBS - 2) + 2} jobs, of which 0 are finished\n")

    @pytest.mark.parametrize(("arguments", "words"), REFUSED["bad_input"])
    def test_bad_input(self, here, run, arguments, words):
        (here / "bad.yaml").write_text(yaml.safe_dump({**TINY, "seedz": 1}))
        own = {**TINY, "datasets": {"compas": {"test_share": 0.5}}}
        (here / "own.yaml").write_text(yaml.safe_dump(own))
        code, out, err = run("plan", *arguments)
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert words in err

    @pytest.mark.parametrize(
        ("changes", "warns"),
        [
            ({"study": "text"}, ["bert_tiny", "hub", "local"]),
            ({}, []),
            ({"overrides": [SUMMED]}, ["hub"]),
        ],
    )
    def test_methods_that_say_nothing_of_a_model_are_named(self, here, run, caplog, changes, warns):
        """As far as the model's type is known: of a config, a folder, a checkpoint of the list."""
        (here / "folder").mkdir()
        (here / "folder" / "config.json").write_text('{"model_type": "roberta"}')
        (here / "rms").mkdir()
        (here / "rms" / "config.json").write_text('{"model_type": "llama"}')
        models = {
            **TINY["models"],
            "hub": {"use": "gpt2"},
            "local": {"checkpoint": "folder"},
            "rms": {"checkpoint": "rms"},
            "unknown": {"checkpoint": "someone/some-model"},
        }
        methods = {"gradient": {}, "ig": {"use": "integrated_gradients"}}
        config = {**TINY, "models": models, "methods": methods, **changes}
        (here / "noise.yaml").write_text(yaml.safe_dump(config))
        assert run("plan", "--configfile", "noise.yaml")[0] == 0
        bounds = [line for line in caplog.messages if "RMSNorm" in line]
        assert [line.partition(": ")[0] for line in bounds] == ["methods.ig, models.rms"]
        found = [line for line in caplog.messages if "rounding noise" in line]
        assert [line.partition(": ")[0] for line in found] == [
            f"methods.ig, models.{model}" for model in warns
        ]
        assert all("take pooling: l2" in line for line in found)

    def test_odd_files_are_named(self, here, run, caplog):
        path = here / "results" / "data" / "pairs_all.parquet"
        path.parent.mkdir(parents=True)
        path.write_text("torn")
        assert run("plan", "--configfile", "tiny.yaml")[0] == 0
        assert any("results/data/pairs_all.parquet: " in line for line in caplog.messages)


class TestText:
    @pytest.mark.parametrize(
        ("bytes", "shown"),
        [(None, "unknown"), (0, "0 kB"), (7000, "7 kB"), (999_000, "999 kB"), (1.5e6, "1.5 MB"),
         (12e6, "12 MB"), (2.34e9, "2.3 GB"), (5e13, "50 TB")],
    )  # fmt: skip
    def test_sizes(self, bytes, shown):
        assert gigabytes(bytes) == shown
