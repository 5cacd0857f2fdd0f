"""Stage bias, run as a command on prediction files: what it writes, and what it refuses."""

import json
import math

import numpy as np
import pytest
from made_up import Results, keys_of

from exparity.artefacts.files import read_artefact
from exparity.cli import main
from exparity.stages.bias import bias_model
from exparity.stats.bootstrap import Draws
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.predictions import predictions_of
from exparity.stats.rms import rms_of_groups

SETTINGS = {"confidence": 0.9, "resamples": 50}
GROUPS, LABELS = ("x", "y", "z"), ("no", "yes", "maybe")


def make_data(folder, labels=LABELS):
    return Results(folder, GROUPS).write("data", [], "d", labels=labels, attribute="age")


def make_predictions(folder, rows, seed=3):
    return Results(folder).write("predictions", rows, "d", "m", seed)


def prediction_rows(n=40, classes=3, matched=True):
    rng = np.random.default_rng(1)
    rows = []
    for key in keys_of(n, GROUPS, matched=matched):
        shares = rng.dirichlet(np.ones(classes)).astype(np.float32)
        label = int(rng.integers(classes))
        chosen = {"probabilities": shares.tolist(), "predicted": int(shares.argmax())}
        rows.append({**key, "label": label, **chosen})
    return rows


@pytest.fixture
def files(tmp_path):
    """Data, predictions, and where the bias is written."""
    data, predictions = make_data(tmp_path), make_predictions(tmp_path, prediction_rows())
    return data, predictions, Results(tmp_path).path("bias", "d", "m")


@pytest.fixture
def command(files, capsys):
    """Run it in this process: exit code, and what it says."""

    def call(*more):
        data, predictions, output = map(str, files)
        paths = ["--data", data, "--predictions", predictions, "--output", output]
        return main(["bias", *paths, *more]), capsys.readouterr().err

    return call


class TestCommand:
    def test_writes_what_the_statistics_say_with_provenance(self, files, command):
        code, said = command("--options", json.dumps({**SETTINGS, "digest": "abc"}))
        assert code == 0, said
        table, facts = read_artefact(files[2], "bias")
        assert facts["wildcards"] == {"dataset": "d", "model": "m"}
        assert facts["parameters"] == SETTINGS
        assert facts["groups"] == [*GROUPS]
        assert facts["labels"] == [*LABELS]
        assert facts["attribute"] == "age"
        assert facts["notes"] == {"undefined": 0}
        rows = table.to_pylist()
        assert {(r["dataset"], r["model"], r["seed"]) for r in rows} == {("d", "m", 3)}
        given = prediction_rows()
        names = ("label", "predicted", "probabilities", "group", "match_id")
        *columns, sets = ([row[name] for row in given] for name in names)
        data, draws = predictions_of(*columns, GROUPS, LABELS, sets), Draws(**SETTINGS)
        expected = model_bias(data, draws)
        expected += [*fpr_gaps(expected), *rms_of_groups(data, draws)]
        assert len(rows) == len(expected)
        found = {(r["quantity"], r["group"], r["group_b"], r["class_name"]): r for r in rows}
        for row in expected:
            other = found[row.quantity, row.group, row.group_b, row.class_name]
            assert other["n"] == row.n
            if not row.quantity.endswith("_by_chance"):  # its draws follow from the cell
                assert other["value"] == pytest.approx(row.value, nan_ok=True)
            assert other["flags"] == list(row.flags)
        assert f"{len(rows)} quantities, 0 of them undefined" in said

    def test_bad_options_are_one_line(self, files, command):
        code, said = command("--options", '{"confidence": 2.0}')
        assert code == 2
        assert "statistics.confidence: Input should be less than 1, found 2.0" in said
        assert "Traceback" not in said
        assert not files[2].exists()

    def test_a_collapsed_classifier_is_said_aloud(self, files, command, tmp_path):
        make_predictions(tmp_path, [{**row, "predicted": 1} for row in prediction_rows()])
        code, said = command("--resamples", "0")
        assert code == 0, said
        assert "predicts one class for every test example" in said
        flags = read_artefact(files[2], "bias")[0].column("flags").to_pylist()
        assert all("collapsed" in row for row in flags)


def cell(files, **statistics):
    data, predictions, output = files
    bias_model(data, [predictions], output, **(SETTINGS | statistics))
    return read_artefact(files[2], "bias")[0].to_pylist()


class TestCell:
    def test_draws_follow_from_the_cell(self, files, tmp_path):
        first = cell(files)
        assert repr(cell(files)) == repr(first)
        other = cell((files[0], make_predictions(tmp_path, prediction_rows(), seed=4), files[2]))
        for one, two in zip(first, other, strict=True):
            assert one["quantity"] == two["quantity"]
            if one["quantity"] == "apd":
                assert one["value"] == two["value"]
                assert one["ci_low"] != two["ci_low"]

    def test_trainings_are_measured_each_for_itself(self, files, tmp_path):
        others = [
            make_predictions(tmp_path, prediction_rows(n), seed) for seed, n in ((5, 30), (4, 20))
        ]
        alone = [cell((files[0], path, files[2])) for path in (files[1], *others[::-1])]
        bias_model(files[0], [others[0], files[1], others[1]], files[2], **SETTINGS)
        together = read_artefact(files[2], "bias")[0].to_pylist()
        assert repr(together) == repr([row for rows in alone for row in rows])

    def test_gaps_of_two_classes_are_not_summed_up(self, files, tmp_path):
        make_data(tmp_path, labels=LABELS[:2])
        make_predictions(tmp_path, prediction_rows(classes=2))
        assert not any("rms" in r["quantity"] or r["quantity"] == "fpr_gap" for r in cell(files))

    def test_undefined_quantities_are_counted(self, files, tmp_path):
        make_predictions(tmp_path, prediction_rows(matched=False))
        rows = cell(files)
        undefined = [row for row in rows if math.isnan(row["value"])]
        assert {row["quantity"] for row in undefined} == {"apd"}
        assert read_artefact(files[2], "bias")[1]["notes"] == {"undefined": len(undefined)}
        assert len(undefined) == 3 * 4  # pairs of groups × (true class and three classes)
