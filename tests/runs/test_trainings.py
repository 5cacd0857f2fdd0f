"""Lines of a run about a classifier whose explanations count in no verdict."""

import logging

import pytest
from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from exparity.artefacts.files import write_artefact
from exparity.runs.trainings import _Watch, caution_of, watch_trainings

IDS = {"dataset": "reviews", "model": "bert", "seed": 3}


@pytest.fixture
def predictions(tmp_path):
    """Write predictions of these classes, and return their path."""

    def write(predicted, **extra):
        rows = [
            {
                "example_id": f"e{place}", "match_id": None, "group": "g", "label": place % 2,
                "probabilities": [0.4, 0.6], "predicted": label, "label_mass": None,
            }
            for place, label in enumerate(predicted)
        ]  # fmt: skip
        path = tmp_path / "predictions.parquet"
        write_artefact(path, "predictions", rows, ids=IDS, parameters={}, extra=extra)
        return path

    return write


@pytest.mark.parametrize(
    ("predicted", "extra", "reason"),
    [
        ([0, 1, 1], {}, None),
        ([1, 1, 1], {}, "predicts one class for every text"),
        ([0, 1, 1], {"flags": ["label_mass_low"]}, "hardly answers the prompt with a class"),
    ],
)
def test_what_is_said_of_predictions(predictions, predicted, extra, reason):
    line = caution_of(predictions(predicted, **extra))
    if reason is None:
        assert line is None
    else:
        assert line.startswith("bert on reviews, seed 3: ")
        assert f"{reason}, so that its explanations count in no verdict" in line


def test_unreadable_predictions_end_no_run(tmp_path, capsys):
    watch = _Watch(workflow=None)
    watch._predictions = {7: tmp_path / "none.parquet"}
    record = logging.makeLogRecord({"event": LogEvent.JOB_FINISHED, "job_id": 7})
    watch.handle(record)
    assert "none.parquet" in capsys.readouterr().err


def test_a_run_is_watched_once():
    """A module of the workflow begins as the main file does."""
    before = list(logger.handlers)
    try:
        watch_trainings(None)
        watch_trainings(None)
        assert len(logger.handlers) == len(before) + 1
    finally:
        logger.handlers[:] = before
