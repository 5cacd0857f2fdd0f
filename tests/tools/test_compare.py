"""``exparity compare``: two runs side by side."""

import shutil
from dataclasses import replace

import pytest
from made_up import config, grid_of, make_study

from exparity.artefacts.files import read_tables, write_artefact
from exparity.artefacts.grid import grid_text, read_grid
from exparity.core.errors import InputError
from exparity.tools.compare import cells_of_both, differing, read_run

SETTINGS = config(datasets=1, models=2, seeds=3, methods=2, metrics=2)
CELL = ("data_0", "model_0", "gradient", "comprehensiveness", "male", "female")


def finish(folder, settings):
    (folder / "grid.json").write_text(grid_text(grid_of(settings)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return finish(make_study(tmp_path_factory.mktemp("first"), SETTINGS, pairs=12), SETTINGS)


@pytest.fixture(scope="module")
def second(first, tmp_path_factory):
    """The same run, but one model fewer, other statistics, and one gap moved far away."""
    folder = shutil.copytree(first, tmp_path_factory.mktemp("second") / "results")
    settings = {**SETTINGS, "models": {"model_0": SETTINGS["models"]["model_0"]}}
    settings["statistics"] = {**SETTINGS.get("statistics", {}), "threshold": 0.3}
    path = folder / "verdicts.parquet"
    rows = [r for r in read_tables([path], "verdicts").to_pylist() if r["model"] == "model_0"]
    for row in rows:
        if tuple(row[id] for id in ("method", "metric")) == CELL[2:4]:
            row["d"] += 50
    write_artefact(path, "verdicts", rows, {}, parameters={})
    return finish(folder, settings)


def test_a_run_beside_itself(first, run):
    code, out, _ = run("compare", first, first)
    lines = out.splitlines()
    assert code == 0
    assert "configuration: the same" in lines
    assert "versions: the same" in lines
    assert lines[-1] == (
        "8 cells of both, 8 with the same verdict, 0 with gaps further apart than by chance"
    )


def test_what_differs_is_named(first, second):
    one, other = read_run(first), read_run(second)
    settings = differing(one.settings, other.settings)
    assert ("statistics.threshold", "0.2", "0.3") in settings
    assert ("models", "model_0, model_1", "model_0") in settings
    assert differing({"a": "3"}, {"c": "y"}) == [("a", "3", "–"), ("c", "–", "y")]
    cells = cells_of_both(one, other)
    assert [cell.ids for cell in cells if cell.difference.apart] == [CELL]
    assert cells[0].difference.estimate == pytest.approx(50)
    assert len(cells) == 4


def test_gaps_of_single_trainings_are_not_said_to_agree(tmp_path, run):
    settings = config(datasets=1, models=1, seeds=1, methods=2, metrics=2)
    folder = finish(make_study(tmp_path, settings, pairs=12), settings)
    lines = run("compare", folder, folder)[1].splitlines()
    (extent,) = [line for line in lines if "cells of both" in line]
    assert extent.endswith("4 whose gaps cannot be tested, with one training in a run")
    assert "further apart" not in extent


def test_differences_are_printed_the_largest_with_more_on_request(first, second, run):
    out = run("compare", first, second)[1]
    assert "4 of A alone" in out
    (line,) = [line for line in out.splitlines() if "+50.00" in line]
    assert line.split()[:4] == list(CELL[:4])
    assert len(run("compare", first, second, "--all")[1].splitlines()) > len(out.splitlines())


@pytest.fixture(scope="module")
def with_plugins(first, tmp_path_factory):
    """The same run, where the last metric and the last method are those of a plug-in."""
    folder = shutil.copytree(first, tmp_path_factory.mktemp("plugins") / "results")
    grid = read_grid(folder)
    methods = {**grid.methods, [*grid.methods][-1]: "of_a_plugin"}
    metrics = {**grid.metrics, [*grid.metrics][-1]: "of_a_plugin"}
    with_plugins = replace(grid, methods=methods, metrics=metrics)
    (folder / "grid.json").write_text(grid_text(with_plugins), encoding="utf-8")
    return folder


def test_a_run_with_plugins_is_compared_without_them(first, with_plugins, run):
    code, out, _ = run("compare", with_plugins, first)
    assert code == 0
    assert "8 cells of both, 8 with the same verdict" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no results; name the results folder of a run"),
        ('{"datasets": 5}', r"grid\.json: is damaged.*run `snakemake`"),
    ],
)
def test_a_folder_without_a_run_is_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "grid.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_run(tmp_path)
