"""Metrics that need rationales, in a config with data that has none: one error, before any job."""

from __future__ import annotations

import copy
import csv

import pytest
from support import TINY

from exparity.config.experiment import Experiment
from exparity.config.schema import read_schema
from exparity.core.errors import InputError

pytestmark = pytest.mark.contract


@pytest.fixture
def experiment(repository):
    schema = read_schema(repository / "workflow" / "schemas" / "config.schema.yaml")

    def make(datasets, metrics):
        config = {**copy.deepcopy(TINY), "datasets": datasets, "metrics": metrics}
        return Experiment.from_mapping(config, schema)

    return make


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mine.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label", "group", "why"])
        rows.writerows([["a b", i % 2, "xy"[i % 2], ""] for i in range(20)])
    return str(path)


MASS = {"mine": {"use": "mass_accuracy"}, "gini": {}}


def test_a_dataset_without_rationales_is_named(experiment):
    datasets = {"pairs_all": {}, "people": {"use": "compas"}}
    with pytest.raises(InputError) as error:
        experiment(datasets, {**MASS, "rationale_iou": {}})
    assert str(error.value) == (
        "metrics.mine: compares explanations with rationales, and dataset 'people' has none; run "
        "it in a config without mine, rationale_iou"
    )


def test_a_table_may_bring_them(experiment, table):
    found = experiment({"own": {"use": "table", "path": table, "rationale": "why"}}, MASS)
    assert list(found.metrics) == ["mine", "gini"]
    with pytest.raises(
        InputError,
        match=r"dataset 'own' has none; name their column with "
        r"datasets\.own\.rationale, or run",
    ):
        experiment({"own": {"use": "table", "path": table}}, MASS)


def test_other_metrics_need_none(experiment):
    assert experiment({"people": {"use": "compas"}}, {"gini": {}}).metrics.keys() == {"gini"}


def test_they_run_without_the_model(experiment):
    found = experiment({"pairs_all": {}}, {**MASS, "sufficiency": {}})
    assert [found.runs_model(metric) for metric in found.metrics] == [False, False, True]


def test_a_column_without_any_is_an_error_of_the_first_job(table, tmp_path):
    from exparity.stages.prepare import prepare

    with pytest.raises(InputError, match="column 'why' is empty in every row; leave `rationale`"):
        prepare(
            tmp_path / "d.parquet",
            use="table",
            params={"path": table, "rationale": "why"},
            data_dir=tmp_path,
            dataset_id="own",
        )
