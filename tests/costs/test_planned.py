"""The jobs of an experiment, how many examples each has, and which are finished."""

from collections import Counter
from pathlib import Path

import pytest
from support import N_METHODS, N_METRICS

from exparity.costs.planned import PlannedExamples, planned_jobs
from exparity.stages.prepare import prepare

CELLS = N_METHODS * N_METRICS
PAIRS = {"n_pairs": 40}


def jobs_of(experiment, stage=None):
    jobs = planned_jobs(experiment, PlannedExamples(experiment))
    return [job for job in jobs if stage in (None, job.stage)]


class TestJobs:
    def test_jobs_of_every_stage_are_planned(self, experiment):
        assert Counter(job.stage for job in jobs_of(experiment(seeds=[0, 1]))) == {
            "prepare": 1, "finetune": 2, "bias": 1, "explain": 2 * N_METHODS,
            "evaluate": 2 * CELLS, "compare": 1, "judge": 1,
            "negative_control": 2 * N_METRICS, "ranking": 1, "removal_limits": 2,
            "positive_control": 1,
        }  # fmt: skip

    def test_each_stage_has_its_number_of_examples(self, experiment):
        assert {job.stage: job.examples for job in jobs_of(experiment())} == {
            "prepare": 80, "finetune": 3 * 64, "bias": 16, "explain": 16, "evaluate": 16,
            "compare": 16, "judge": None, "negative_control": 5 * 16, "ranking": 16,
            "removal_limits": 5 * 16, "positive_control": 16,
        }  # fmt: skip

    def test_those_with_an_output_are_finished(self, experiment):
        path = Path("results/data/pairs_all.parquet")
        path.parent.mkdir(parents=True)
        path.touch()
        assert [job.stage for job in jobs_of(experiment()) if job.finished] == ["prepare"]

    def test_a_metric_scores_a_sample_of_what_a_method_explains(self, experiment):
        made = experiment(
            methods={"gradient": {"max_examples": 10}},
            metrics={"gini": {"max_examples": 7}, "sparsity": {"max_examples": 12}},
        )
        assert [job.examples for job in jobs_of(made, "explain")] == [10]
        assert [job.examples for job in jobs_of(made, "evaluate")] == [6, 10]  # whole pairs
        assert [job.examples for job in jobs_of(made, "negative_control")] == [5 * 6, 5 * 10]


class TestExamples:
    def make(self, use, output, **options):
        prepare(
            Path(output), use=use, params=options, data_dir=Path("unused"), dataset_id="pairs_all"
        )

    def test_prepared_data_is_read(self, experiment, monkeypatch):
        made = experiment()
        options = dict(made.datasets["pairs_all"].call("x")["params"])
        self.make("pairs_all", "results/data/pairs_all.parquet", **options)
        monkeypatch.setattr("exparity.costs.planned.load_dataset", None)  # not to be called
        examples = PlannedExamples(made)
        assert (len(examples.all("pairs_all")), len(examples.test("pairs_all"))) == (80, 16)

    def test_data_of_other_options_are_not(self, experiment):
        self.make("pairs_all", "results/data/pairs_all.parquet", n_pairs=60)
        assert len(PlannedExamples(experiment()).all("pairs_all")) == 80

    @pytest.mark.parametrize(
        ("use", "sizes", "largest"),
        [("geco_nonbinary_all", (3864, 966), 3), ("compas", (4938, 1234), 1)],
    )
    def test_published_sizes_where_the_files_are_not(self, experiment, use, sizes, largest):
        examples = PlannedExamples(experiment(datasets={use: {}}))
        assert (len(examples.all(use)), len(examples.test(use))) == (sum(sizes), sizes[1])
        assert len(examples.test(use, 100)) == 100 // largest * largest
