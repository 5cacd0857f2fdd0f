"""Finished jobs, read from a made-up results folder."""

import pytest
from made_up import IDS

from exparity.costs.finished import read_finished


def jobs_of(made, stage=None):
    return [job for job in read_finished(made.root) if stage in (None, job.stage)]


def only(made, stage):
    (job,) = jobs_of(made, stage)
    return job


def analysed(made, name, seconds, **facts):
    made.data(train=20, test=8)
    made.training(n=8)
    made.write(name, [], parameters={"resamples": 20}, wall_seconds=seconds, **facts)


CELL = {name: IDS[name] for name in ("dataset", "model", "seed")}


def random_explanations(made, metric, n=8, draws=3):
    made.training(n=n)
    rows = [
        {"example_id": f"{i}", "group": "f", "match_id": None, "draw": draw, "score": 0.5}
        for i in range(n)
        for draw in range(draws)
    ]
    facts = {"parameters": {"use": "gini", "params": {}, "draws": draws}, "work_seconds": 2.0}
    made.write("random_scores", rows, *CELL.values(), metric, **facts, examples=n)


JOBS = [
    (lambda m: m.data(train=20, test=8), "prepare",
     {"output": "data/pairs.parquet", "ids": {"dataset": "pairs"}, "examples": None, "seconds": 2.0,
      "work_seconds": None, "device": "cpu"}),
    # A training counts its examples once an epoch, where its data tell how many there are.
    (lambda m: (m.data(train=20, test=8), m.training(epochs=3)), "finetune",
     {"output": "models/pairs/bert/3", "ids": CELL, "examples": 60, "seconds": 10.0,
      "work_seconds": 6.0, "device": "cuda:0"}),
    (lambda m: m.explanations(n=6, wall_seconds=8.0, work_seconds=3.0), "explain",
     {"examples": 6, "seconds": 8.0, "work_seconds": 3.0, "cpu_seconds": 0.25, "max_rss_mb": 50.0,
      "ids": IDS}),
    # What an interrupted job left counts.
    (lambda m: (m.data(), m.training(earlier_seconds=4.0)), "finetune",
     {"seconds": 14.0, "work_seconds": 6.0}),
    (lambda m: m.explanations(wall_seconds=6.0, work_seconds=9.0, earlier_seconds=5.0), "explain",
     {"seconds": 11.0, "work_seconds": 9.0}),
    (lambda m: analysed(m, "bias", 1.0), "bias",
     {"examples": None, "seconds": 1.0, "work_seconds": None}),
    (lambda m: analysed(m, "dataset_bias", 3.0), "dataset_bias",
     {"examples": None, "seconds": 3.0}),
    (lambda m: analysed(m, "mlm_scores", 9.0, device="cuda:0", work_seconds=2.0),
     "mlm_score", {"seconds": 9.0, "work_seconds": 2.0, "device": "cuda:0"}),
    (lambda m: (m.explanations(), m.scores("gini", n=4, work_seconds=1.0)), "evaluate",
     {"examples": 4, "ids": {**IDS, "metric": "gini"}, "runs_model": False}),
    (lambda m: (m.explanations(), m.scores("comprehensiveness")), "evaluate",
     {"runs_model": True}),
    # Each draw counts, as in a plan; the job has a metric, and no method.
    (lambda m: random_explanations(m, "mine"), "negative_control",
     {"examples": 24, "ids": {**CELL, "metric": "mine"}, "runs_model": True}),
]  # fmt: skip


class TestJobs:
    @pytest.mark.parametrize(("make", "stage", "expected"), JOBS)
    def test_what_one_has_cost(self, made, make, stage, expected):
        make(made)
        job = only(made, stage)
        expected = {"runs_model": stage in ("finetune", "explain", "mlm_score")} | expected
        assert {name: getattr(job, name) for name in expected} == expected

    @pytest.mark.parametrize("missing", ["predictions/pairs/bert/3", "models/pairs/bert/3/history"])
    def test_half_a_training_is_not_finished(self, made, missing):
        made.training()
        (made.root / f"{missing}.parquet").unlink()
        assert read_finished(made.root) == []

    def test_files_that_are_no_artefacts(self, made, caplog):
        made.explanations()
        folder = made.root / "explanations" / "pairs" / "bert" / "3"
        (folder / "torn.parquet").write_bytes(b"PAR1 torn")
        (folder / ".hidden.parquet").write_bytes(b"in work")
        (folder / "lime.parquet.parts").mkdir()
        (folder / "lime.parquet.parts" / "00000.part").write_bytes(b"in work")
        assert len(read_finished(made.root)) == 1
        assert f"left out 1 unreadable files, such as {folder / 'torn.parquet'}: " in caplog.text
