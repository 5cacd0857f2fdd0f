"""The jobs of an experiment, how many examples each has, and which are finished."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support import N_METHODS, N_METRICS, TINY

from exparity.artefacts.layout import ANALYSES
from exparity.costs.examples import ExampleCounts
from exparity.costs.kinds import dataset_text
from exparity.costs.planned import passes_of, planned_jobs
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.stages.prepare import prepare

CELLS = N_METHODS * N_METRICS
PAIRS = {"n_pairs": 40}


def jobs_of(experiment, stage=None):
    jobs = planned_jobs(experiment, ExampleCounts(experiment))
    return [job for job in jobs if stage in (None, job.kind.stage)]


def counts_of(experiment):
    return Counter(job.kind.stage for job in jobs_of(experiment))


def test_examples():
    """What the counts below rest on: 40 pairs, of which 8 are for testing."""
    found = load_dataset("pairs_all", DataSource(Path("unused")), PAIRS)
    assert Counter(e.split for e in found) == {"train": 64, "test": 16}


class TestJobs:
    def test_of_every_stage(self, experiment):
        assert counts_of(experiment(seeds=[0, 1])) == {
            "prepare": 1, "finetune": 2, "bias": 2, "explain": 2 * N_METHODS,
            "evaluate": 2 * CELLS, "test": 2 * CELLS, "control": 2, "report": 1,
        }  # fmt: skip

    def test_controls_can_be_left_out(self, experiment):
        found = counts_of(experiment(controls={"permutation": {"repeats": 0}}))
        assert "control" not in found

    def test_shards_and_what_gathers_them(self, experiment):
        changed = experiment(
            methods={"gradient": {"shards": 3}, "lime": {}},
            metrics={"comprehensiveness": {"shards": 2}, "gini": {}},
        )
        found = counts_of(changed)
        assert found["explain"] == 3 + 1
        assert found["evaluate"] == 2 * 2 + 2
        assert found["gather"] == 1 + 2

    def test_numbers_of_examples(self, experiment):
        found = {job.kind.stage: job.examples for job in jobs_of(experiment())}
        assert found == {
            "prepare": 80, "finetune": 3 * 64, "bias": 16, "explain": 16, "evaluate": 16,
            "test": 16, "control": 16 * CELLS, "report": CELLS,
        }  # fmt: skip

    def test_samples_of_samples(self, experiment):
        made = experiment(
            methods={"gradient": {"max_examples": 10}},
            metrics={"gini": {"max_examples": 7}, "sparsity": {"max_examples": 12}},
        )
        assert [job.examples for job in jobs_of(made, "explain")] == [10]
        assert [job.examples for job in jobs_of(made, "evaluate")] == [6, 10]  # whole pairs
        assert [job.examples for job in jobs_of(made, "test")] == [6, 10]
        assert [job.examples for job in jobs_of(made, "control")] == [16]

    def test_overrides_count(self, experiment):
        short = {"match": {"seed": 1}, "training": {"epochs": 1}}
        made = experiment(seeds=[0, 1], overrides=[short])
        assert [job.examples for job in jobs_of(made, "finetune")] == [3 * 64, 64]

    def test_examples_of_shards_add_up(self, experiment):
        made = experiment(methods={"lime": {"shards": 4}}, datasets={"pairs_all": {"n_pairs": 300}})
        jobs = jobs_of(made, "explain")
        assert len(jobs) == 4
        assert sum(job.examples for job in jobs) == 120
        assert len({job.kind for job in jobs}) == 1

    def test_seeds_are_of_one_kind_and_models_are_not(self, experiment):
        tiny = TINY["models"]["bert_tiny"]
        models = {"a": tiny, "b": tiny, "c": {**tiny, "size": {**tiny["size"], "hidden_size": 32}}}
        jobs = jobs_of(experiment(models=models, seeds=[0, 1, 2]), "finetune")
        assert len(jobs) == 9
        # What a model is called counts for nothing, what it is made of does.
        assert len({job.kind for job in jobs}) == 2

    def test_jobs_that_run_a_model(self, experiment):
        runs = {(j.kind.stage, j.kind.use): j.kind.runs_model for j in jobs_of(experiment())}
        assert {key for key, value in runs.items() if value} == {
            ("finetune", ""), ("explain", "gradient"),
            ("explain", "integrated_gradients_x_input"), ("evaluate", "comprehensiveness"),
        }  # fmt: skip

    def test_analyses(self, experiment):
        made = experiment(
            seeds=[0, 1],
            metrics={"mass_accuracy": {}},
            models={**TINY["models"], "hub": {"checkpoint": "somebody/bert", "revision": "a"}},
            analyses={
                "correctness": {}, "attribution_difference": None, "dataset_bias": {},
                "mlm_score": {"max_examples": 6},
            },
        )  # fmt: skip
        found = counts_of(made)
        assert {name: found[name] for name in ANALYSES} == {
            "correctness": 4, "attribution_difference": 4, "dataset_bias": 1, "mlm_score": 2
        }  # fmt: skip
        assert [job.examples for job in jobs_of(made, "mlm_score")] == [6, 6]
        assert all(job.kind.runs_model for job in jobs_of(made, "mlm_score"))
        for path in made.analyses.files():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).touch()
        assert all(job.finished for name in ANALYSES for job in jobs_of(made, name))

    def test_passes_of_a_metric_that_explains_again(self, experiment):
        made = experiment(methods={"lime": {}}, metrics={"sensitivity": {}, "gini": {}})
        facts = made.metrics["sensitivity"].entry.facts.passes
        assert passes_of(made, "lime", "sensitivity") == facts * 500
        assert passes_of(made, "lime", "gini") == 1


class TestFinished:
    OUTPUTS = (
        "data/pairs_all.parquet", "models/pairs_all/bert_tiny/0/history.parquet",
        "predictions/pairs_all/bert_tiny/0.parquet", "bias/pairs_all/bert_tiny/0.parquet",
        "explanations/pairs_all/bert_tiny/0/gradient.parquet",
        "scores/pairs_all/bert_tiny/0/gradient/gini.parquet",
        "tests/pairs_all/bert_tiny/0/gradient/gini.parquet",
        "controls/pairs_all/bert_tiny/0.parquet", "report/index.html",
    )  # fmt: skip

    def touch(self, *paths):
        for path in paths:
            Path("results", path).parent.mkdir(parents=True, exist_ok=True)
            Path("results", path).touch()

    def test_nothing_at_first(self, experiment):
        assert not any(job.finished for job in jobs_of(experiment()))

    def test_one_job_of_each_stage(self, experiment):
        made = experiment()
        self.touch(*self.OUTPUTS)
        found = Counter(job.kind.stage for job in jobs_of(made) if job.finished)
        stages = counts_of(made)
        assert found == dict.fromkeys(stages, 1)

    def test_a_training_has_two_outputs(self, experiment):
        made = experiment()
        self.touch(self.OUTPUTS[1])
        assert [job.finished for job in jobs_of(made, "finetune")] == [False]

    def test_shards(self, experiment):
        made = experiment(methods={"gradient": {"shards": 3}}, metrics={"gini": {}})
        self.touch("shards/explanations/pairs_all/bert_tiny/0/gradient/2-of-3.parquet")
        assert [job.finished for job in jobs_of(made, "explain")] == [False, True, False]
        assert [job.finished for job in jobs_of(made, "gather")] == [False]
        self.touch("explanations/pairs_all/bert_tiny/0/gradient.parquet")  # shards are gone then
        assert [job.finished for job in jobs_of(made, "explain")] == [True] * 3
        assert [job.finished for job in jobs_of(made, "gather")] == [True]


class TestExampleCounts:
    def make(self, use, output, **options):
        prepare(
            Path(output), use=use, params=options, data_dir=Path("unused"), dataset_id="pairs_all"
        )

    def test_prepared_data_is_read(self, experiment, monkeypatch):
        made = experiment()
        options = dict(made.datasets["pairs_all"].resolved("x", {})["params"])
        self.make("pairs_all", "results/data/pairs_all.parquet", **options)
        monkeypatch.setattr("exparity.costs.examples.load_dataset", None)  # not to be called
        counts = ExampleCounts(made)
        assert (counts.total("pairs_all"), counts.train("pairs_all")) == (80, 64)
        assert counts.test("pairs_all") == 16

    def test_data_of_other_options_are_not(self, experiment):
        self.make("pairs_all", "results/data/pairs_all.parquet", n_pairs=60)
        assert ExampleCounts(experiment()).total("pairs_all") == 80

    def test_damaged_data_are_not(self, experiment):
        path = Path("results", "data", "pairs_all.parquet")
        path.parent.mkdir(parents=True)
        path.write_text("torn")
        assert ExampleCounts(experiment()).total("pairs_all") == 80

    @pytest.mark.parametrize("size", [None, 2, 7, 16, 100])
    def test_samples_are_those_of_the_jobs(self, experiment, size):
        test = load_dataset("pairs_all", DataSource(Path("unused")), PAIRS)
        test = [e for e in test if e.split == "test"]
        counts = ExampleCounts(experiment())
        assert counts.explained("pairs_all", size) == len(sample(test, size))
        assert counts.scored("pairs_all", 10, size) == len(sample(sample(test, 10), size))

    def test_the_largest_matched_set(self, experiment):
        assert ExampleCounts(experiment()).largest_set() == 2

    def test_without_matched_sets(self, experiment, tmp_path):
        table = tmp_path / "mine.csv"
        rows = [f"word {i},{'ab'[i % 2]},{'xyz'[i % 3]}" for i in range(60)]
        table.write_text("\n".join(["text,label,group", *rows]))
        made = experiment(datasets={"mine": {"use": "table", "path": str(table)}})
        assert ExampleCounts(made).largest_set() == 1


def test_datasets_are_told_apart_by_their_options():
    assert dataset_text('{"use": "a", "n": 1}') == dataset_text('{"n":1,"use":"a"}')
    assert dataset_text('{"use": "a", "n": 1}') != dataset_text('{"use": "a", "n": 2}')
