"""The jobs of an experiment, how many examples each has, and which are finished."""

from collections import Counter
from pathlib import Path

import pytest
from support import N_METHODS, N_METRICS, TINY

from exparity.core.errors import InputError
from exparity.costs.kinds import kind_of
from exparity.costs.planned import ExampleCounts, dag_jobs
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.stages.prepare import prepare

CELLS = N_METHODS * N_METRICS
PAIRS = {"n_pairs": 40}


@pytest.fixture
def counts_of(jobs_of):
    return lambda experiment: Counter(job.kind.stage for job in jobs_of(experiment))


class TestJobs:
    def test_of_every_stage(self, experiment, counts_of):
        assert counts_of(experiment(seeds=[0, 1])) == {
            "prepare": 1, "finetune": 2, "bias": 2, "explain": 2 * N_METHODS,
            "evaluate": 2 * CELLS, "compare": 1, "judge": 1, "report": 1,
            "negative_control": 2 * N_METRICS, "removal_limits": 2,
        }  # fmt: skip

    def test_numbers_of_examples(self, experiment, jobs_of):
        found = {job.kind.stage: job.examples for job in jobs_of(experiment())}
        assert found == {
            "prepare": 80, "finetune": 3 * 64, "bias": 16, "explain": 16, "evaluate": 16,
            "compare": 16, "judge": CELLS, "report": CELLS, "negative_control": 5 * 16,
            "removal_limits": 5 * 16,
        }  # fmt: skip

    def test_samples_of_samples(self, experiment, jobs_of):
        made = experiment(
            methods={"gradient": {"max_examples": 10}},
            metrics={"gini": {"max_examples": 7}, "sparsity": {"max_examples": 12}},
        )
        assert [job.examples for job in jobs_of(made, "explain")] == [10]
        assert [job.examples for job in jobs_of(made, "evaluate")] == [6, 10]  # whole pairs
        assert [job.examples for job in jobs_of(made, "negative_control")] == [5 * 6, 5 * 10]

    def test_overrides_count(self, experiment, jobs_of):
        short = {"match": {"seed": 1}, "training": {"epochs": 1}}
        made = experiment(seeds=[0, 1], overrides=[short])
        assert [job.examples for job in jobs_of(made, "finetune")] == [3 * 64, 64]

    def test_seeds_are_of_one_kind_and_models_are_not(self, experiment, jobs_of):
        tiny = TINY["models"]["bert_tiny"]
        models = {"a": tiny, "b": tiny, "c": {**tiny, "size": {**tiny["size"], "hidden_size": 32}}}
        jobs = jobs_of(experiment(models=models, seeds=[0, 1, 2]), "finetune")
        assert len(jobs) == 9
        # What a model is called counts for nothing, what it is made of does.
        assert len({job.kind for job in jobs}) == 2


def test_a_config_that_snakemake_refuses(repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text("rule all:\n    input: 'nowhere'\n")
    (tmp_path / "mine.yaml").write_text("{}")
    with pytest.raises(InputError, match=r"mine\.yaml: Missing input files .*nowhere"):
        dag_jobs(snakefile, Path("mine.yaml"))


class TestExampleCounts:
    def make(self, use, output, **options):
        prepare(
            Path(output), use=use, params=options, data_dir=Path("unused"), dataset_id="pairs_all"
        )

    def test_prepared_data_is_read(self, experiment, monkeypatch):
        made = experiment()
        options = dict(made.datasets["pairs_all"].resolved("x", {})["params"])
        self.make("pairs_all", "results/data/pairs_all.parquet", **options)
        monkeypatch.setattr("exparity.costs.planned.load_dataset", None)  # not to be called
        counts = ExampleCounts(made)
        assert (counts.total("pairs_all"), counts.train("pairs_all")) == (80, 64)
        assert counts.test("pairs_all") == 16

    def test_data_of_other_options_are_not(self, experiment):
        self.make("pairs_all", "results/data/pairs_all.parquet", n_pairs=60)
        assert ExampleCounts(experiment()).total("pairs_all") == 80

    @pytest.mark.parametrize("size", [None, 2, 7, 16, 100])
    def test_samples_are_those_of_the_jobs(self, experiment, size):
        test = load_dataset("pairs_all", DataSource(Path("unused")), PAIRS)
        test = [e for e in test if e.split == "test"]
        counts = ExampleCounts(experiment())
        assert counts.test("pairs_all", size) == len(sample(test, size))
        assert counts.test("pairs_all", 10, size) == len(sample(sample(test, 10), size))

    @pytest.mark.parametrize(
        ("use", "sizes", "largest"),
        [
            ("geco_subj", (2576, 644), 2),
            ("geco_nonbinary_all", (3864, 966), 3),
            ("compas", (4938, 1234), 1),
        ],
    )
    def test_published_sizes_where_the_files_are_not(self, experiment, use, sizes, largest):
        made = experiment(datasets={use: {}})
        counts = ExampleCounts(made)
        assert (counts.train(use), counts.test(use)) == sizes
        assert counts.test(use, 100) == 100 // largest * largest


def test_trainings_are_told_apart_by_what_they_train_on():
    training = {"model": {"architecture": "bert", "init": "scratch"}, "training": {"epochs": 1}}
    over = [{"use": "resampling", "params": {"mode": "over"}}]
    plain, planned, finished, other = (
        kind_of("finetune", ("mine", "tiny", "0"), {**training, **debias}, lambda *_: None)
        for debias in (
            {},
            {"debias": [{**over[0], "digest": "of its code"}]},  # which a finished one has not
            {"debias": over},
            {"debias": [{"use": "resampling", "params": {"mode": "under"}}]},
        )
    )
    assert planned == finished
    assert len({plain, planned, other}) == 3
    assert "debias" not in plain.made_of
