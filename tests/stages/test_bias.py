"""Stage bias, run as a command on prediction files: what it writes, and what it refuses."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from exparity import read_results
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.core.errors import InputError
from exparity.stages.bias import bias_model
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.predictions import predictions_of
from exparity.stats.rms import Draws, rms_of_groups

SETTINGS = {"confidence": 0.9, "resamples": 50}


def make_data(path, groups=("x", "y", "z"), labels=("no", "yes", "maybe"), dataset="d", **extra):
    facts = {"groups": groups, "labels": labels, "attribute": "age", **extra}
    write_artefact(
        path, "data", [], {"dataset": dataset}, stage="prepare", parameters={},
        extra={key: value for key, value in facts.items() if value is not None},
    )  # fmt: skip
    return path


def prediction_rows(n=40, groups=("x", "y", "z"), classes=3, matched=True):
    rng = np.random.default_rng(1)
    rows = []
    for i in range(n):
        for group in groups:
            shares = rng.dirichlet(np.ones(classes)).astype(np.float32)
            rows.append(
                {
                    "example_id": f"{i:03d}-{group}",
                    "group": group,
                    "match_id": f"{i:03d}" if matched else None,
                    "label": int(rng.integers(classes)),
                    "probabilities": shares.tolist(),
                    "predicted": int(shares.argmax()),
                }
            )
    return rows


def make_predictions(path, rows, dataset="d", model="m", seed=3):
    write_artefact(
        path,
        "predictions",
        rows,
        {"dataset": dataset, "model": model, "seed": seed},
        stage="finetune",
        parameters={},
    )
    return path


@pytest.fixture
def files(tmp_path):
    return (
        make_data(tmp_path / "data.parquet"),
        make_predictions(tmp_path / "predictions.parquet", prediction_rows()),
        tmp_path / "results" / "bias" / "d" / "m.parquet",
    )


def command(files, *more):
    data, predictions, output = map(str, files)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EXPARITY_")}
    return subprocess.run(
        [sys.executable, "-m", "exparity", "bias", "--data", data, "--predictions", predictions,
         "--output", output, *more],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip


class TestCommand:
    def test_writes_what_the_statistics_say_with_provenance(self, files):
        options = {**SETTINGS, "digest": "abc"}
        run = command(files, "--options", json.dumps(options))
        assert run.returncode == 0, run.stderr
        table, facts = read_artefact(files[2], "bias")
        assert facts["wildcards"] == {"dataset": "d", "model": "m"}
        assert facts["parameters"] == SETTINGS
        assert facts["groups"] == ["x", "y", "z"]
        assert facts["labels"] == ["no", "yes", "maybe"]
        assert facts["attribute"] == "age"
        assert facts["notes"] == {"undefined": 0}
        rows = table.to_pylist()
        assert {(r["dataset"], r["model"], r["seed"]) for r in rows} == {("d", "m", 3)}
        given = prediction_rows()
        measured = (
            *(
                [row[name] for row in given]
                for name in ("label", "predicted", "probabilities", "group")
            ),
            ("x", "y", "z"),
            ("no", "yes", "maybe"),
            [row["match_id"] for row in given],
        )
        expected = model_bias(*measured, **SETTINGS)
        draws = Draws(**SETTINGS, seed=0)
        expected += [*fpr_gaps(expected), *rms_of_groups(predictions_of(*measured), draws)]
        assert len(rows) == len(expected)
        found = {(r["quantity"], r["group"], r["group_b"], r["class_name"]): r for r in rows}
        for row in expected:
            other = found[row.quantity, row.group, row.group_b, row.class_name]
            assert other["n"] == row.n
            if not row.quantity.endswith("_by_chance"):  # its draws follow from the cell
                assert other["value"] == pytest.approx(row.value, nan_ok=True)
            assert other["flags"] == list(row.flags)
        assert f"{len(rows)} quantities, of which 0 are undefined" in run.stderr

    def test_single_settings_win_over_the_options(self, files):
        options = json.dumps(SETTINGS)
        run = command(files, "--options", options, "--resamples", "0")
        assert run.returncode == 0, run.stderr
        table, facts = read_artefact(files[2], "bias")
        assert facts["parameters"] == {**SETTINGS, "resamples": 0}
        assert ["not_drawn"] in table.column("flags").to_pylist()

    def test_the_folder_of_results_is_one_table(self, files):
        assert command(files, "--resamples", "0").returncode == 0
        found = read_results(files[2].parents[2], "bias")
        gap = found[(found["quantity"] == "accuracy_gap") & (found["group_b"] == "y")]
        assert gap["group"].tolist() == ["x"]

    def test_stage_and_report_load_nothing_heavy(self, files):
        modules = "import sys; import exparity.stages.bias, exparity.report.bias"
        heavy = "{'torch', 'transformers', 'pandas', 'scipy.stats'} & set(sys.modules)"
        run = subprocess.run(
            [sys.executable, "-c", f"{modules}; sys.exit(str({heavy}) if {heavy} else 0)"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha": 0.05}, "--options: unknown option 'alpha'"),
            ({"resamples": "many"}, "--options.resamples: a whole number, found 'many'"),
            ({"confidence": 2.0}, "statistics.confidence: 2.0 is out of range"),
        ],
    )
    def test_bad_options_are_one_line(self, files, options, message):
        run = command(files, "--options", json.dumps(options))
        assert run.returncode == 2
        assert message in run.stderr
        assert "Traceback" not in run.stderr
        assert not files[2].exists()

    def test_a_collapsed_classifier_is_said_aloud(self, files):
        rows = [{**row, "predicted": 1} for row in prediction_rows()]
        make_predictions(files[1], rows)
        run = command(files, "--resamples", "0")
        assert run.returncode == 0, run.stderr
        assert "predicts one class for every test example" in run.stderr
        flags = read_artefact(files[2], "bias")[0].column("flags").to_pylist()
        assert all("collapsed" in row for row in flags)


def cell(files, **statistics):
    data, predictions, output = files
    bias_model(data, [predictions], output, **(SETTINGS | statistics))
    return read_artefact(files[2], "bias")[0].to_pylist()


class TestCell:
    def test_draws_follow_from_the_cell(self, files):
        first = cell(files)
        assert repr(cell(files)) == repr(first)
        make_predictions(files[1], prediction_rows(), seed=4)
        other = cell(files)
        for one, two in zip(first, other, strict=True):
            assert one["quantity"] == two["quantity"]
            if one["quantity"] == "apd":
                assert one["value"] == two["value"]
                assert one["ci_low"] != two["ci_low"]

    def test_trainings_are_measured_each_for_itself(self, files, tmp_path):
        others = [
            make_predictions(tmp_path / f"{seed}.parquet", prediction_rows(n), seed=seed)
            for seed, n in ((5, 30), (4, 20))
        ]
        alone = [cell((files[0], path, files[2])) for path in (files[1], *others[::-1])]
        bias_model(files[0], [others[0], files[1], others[1]], files[2], **SETTINGS)
        together = read_artefact(files[2], "bias")[0].to_pylist()
        assert repr(together) == repr([row for rows in alone for row in rows])

    def test_a_training_twice_is_refused(self, files, tmp_path):
        again = make_predictions(tmp_path / "again.parquet", prediction_rows())
        with pytest.raises(InputError, match=r"again.parquet: is of seed 3, as .*predictions"):
            bias_model(files[0], [files[1], again], files[2], **SETTINGS)

    def test_gaps_of_more_than_two_classes_are_summed_up(self, files):
        rows = cell(files)
        for rate in ("tpr", "fpr", "selection_rate"):
            pair = {"group": "x", "group_b": "z"}
            gaps = [
                r["value"] for r in rows if {"quantity": f"{rate}_gap", **pair}.items() <= r.items()
            ]
            (over,) = (
                r for r in rows if {"quantity": f"{rate}_gap_rms", **pair}.items() <= r.items()
            )
            assert over["n"] == len(gaps) == 3
            assert over["value"] == pytest.approx(math.sqrt(sum(gap**2 for gap in gaps) / 3))
        make_data(files[0], labels=("no", "yes"))
        make_predictions(files[1], prediction_rows(classes=2))
        assert not any("rms" in r["quantity"] or r["quantity"] == "fpr_gap" for r in cell(files))

    def test_undefined_quantities_are_counted(self, files):
        make_predictions(files[1], prediction_rows(matched=False))
        rows = cell(files)
        undefined = [row for row in rows if math.isnan(row["value"])]
        assert {row["quantity"] for row in undefined} == {"apd"}
        assert read_artefact(files[2], "bias")[1]["notes"] == {"undefined": len(undefined)}
        assert len(undefined) == 3 * 4  # pairs of groups × (true class and three classes)

    def test_the_declared_order_fixes_the_sign(self, files):
        def gaps():
            return {
                (r["quantity"], r["group"], r["group_b"], r["class_name"]): r["value"]
                for r in cell(files, resamples=0)
                if r["quantity"] in ("accuracy_gap", "tpr_gap", "probability_gap")
            }

        there = gaps()
        make_data(files[0], groups=("z", "y", "x"))
        back = gaps()
        assert len(there) == len(back) == 3 * (1 + 3 + 4)
        for (quantity, first, second, name), value in there.items():
            assert back[quantity, second, first, name] == pytest.approx(-value)

    def refused(self, files, *parts):
        with pytest.raises(InputError) as error:
            bias_model(files[0], [files[1]], files[2], **SETTINGS)
        assert "\n" not in str(error.value)
        for part in parts:
            assert part in str(error.value)
        assert not files[2].exists()

    def test_files_of_two_datasets(self, files):
        make_data(files[0], dataset="other")
        self.refused(files, str(files[1]), "is of dataset 'd'", "is of 'other'")

    @pytest.mark.parametrize("missing", ["groups", "labels", "attribute"])
    def test_data_that_declare_nothing(self, files, missing):
        make_data(files[0], **{missing: None})
        self.refused(files, str(files[0]), "declares no groups", "exparity prepare")

    def test_predictions_of_unknown_origin(self, files):
        table = pq.ParquetFile(files[1]).read()
        pq.write_table(table.replace_schema_metadata(None), files[1])
        self.refused(files, str(files[1]), "names no cell", "exparity finetune")

    def test_a_row_that_does_not_fit_is_named_with_its_file(self, files):
        make_data(files[0], groups=("x", "y"))
        self.refused(files, str(files[1]), "row 2: group 'z' is not one of x, y")

    def test_no_rows(self, files):
        make_predictions(files[1], [])
        self.refused(files, str(files[1]), "there are no predictions")
