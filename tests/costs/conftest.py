"""A made-up results folder and small experiments."""

import pytest
import yaml
from made_up import MadeUp
from support import TINY

from exparity.config.experiment import Experiment
from exparity.costs.planned import ExampleCounts, dag_jobs, planned_jobs


@pytest.fixture
def made(tmp_path) -> MadeUp:
    return MadeUp(tmp_path / "results")


@pytest.fixture
def experiment(repository, tmp_path, monkeypatch):
    """Return a function that makes an experiment in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def make(**changes) -> Experiment:
        return Experiment.from_mapping({**TINY, **changes})

    return make


@pytest.fixture
def jobs_of(repository, tmp_path):
    """Return a function that plans an experiment with Snakemake, or one of its stages."""

    def plan(experiment, stage=None):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(experiment.resolved()))
        jobs = planned_jobs(dag_jobs(repository / "Snakefile", path), ExampleCounts(experiment))
        return [job for job in jobs if stage in (None, job.kind.stage)]

    return plan
