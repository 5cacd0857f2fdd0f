"""A run to send: what is in the zip, that no text is, and that the Hub can read the folder."""

import importlib.util
import json
from zipfile import ZipFile

import pandas as pd
import pytest
import yaml
from made_up import config, make_study, options_of
from report.pages import page_with_analyses
from report.reading import data_of

from exparity.artefacts.grid import GRID, Grid, grid_text
from exparity.core.errors import InputError
from exparity.tools.share import share

SETTINGS = {
    **config(datasets=1, models=2, seeds=2, methods=2, metrics=2), "report": {"figures": False}
}  # fmt: skip
ONE = {**config(datasets=1, models=1, seeds=1, methods=2, metrics=2), "report": {"figures": False}}
IN_EVERY_TEXT = "sails"
OF_ANALYSES = ("<00>", "<b>,")
"""Words that the made-up analyses found in texts."""


def written(folder, options):
    """The results with the file that says what their grid is."""
    grid = Grid.from_json(options, "made up")
    (folder / GRID).write_text(grid_text(grid), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A study of several trainings with analyses that name words, and one of one training."""
    several = tmp_path_factory.mktemp("several") / "results"
    make_study(several, SETTINGS, pairs=12)
    page_with_analyses(several, SETTINGS)
    options = options_of(SETTINGS)
    cells = [["data_0", "model_0"], ["data_0", "model_1"]]
    options["analyses"] |= {
        "correctness": cells,
        "attribution_difference": cells[:1],
        "dataset_bias": [["data_0"]],
        "mlm_score": cells[:1],
    }
    written(several, options)
    one = tmp_path_factory.mktemp("one") / "results"
    make_study(one, ONE, pairs=12)
    written(one, options_of(ONE))
    return {"several": several, "one": one}


def contents(path):
    """Every file of a zip as text, with the data that a page holds packed; tables as CSV."""
    with ZipFile(path) as file:
        files = {name: file.read(name) for name in file.namelist()}
    texts = {}
    for name, content in files.items():
        if name.endswith(".parquet"):
            continue  # the same as its CSV
        text = content.decode()
        if name == "index.html":
            text += json.dumps(data_of(text), ensure_ascii=False)
        texts[name] = text
    return texts


@pytest.mark.parametrize("study", ["several", "one"])
def test_no_text_and_no_word_of_one_is_in_the_zip_unless_wanted(results, study, tmp_path):
    share(results[study], output=tmp_path / "plain.zip")
    share(results[study], output=tmp_path / "full.zip", with_texts=True)
    plain, full = contents(tmp_path / "plain.zip"), contents(tmp_path / "full.zip")
    assert IN_EVERY_TEXT in full["index.html"]
    for name, text in plain.items():
        assert IN_EVERY_TEXT not in text, name
    if study == "several":
        for word in OF_ANALYSES:
            assert any(word in text for name, text in full.items() if name.endswith(".csv"))
            assert not any(word in text for name, text in plain.items() if name.endswith(".csv"))
        assert "tables/word_associations.csv" in set(full) - set(plain)


def test_the_zip_has_page_summary_paragraph_tables_and_provenance(results, tmp_path, capsys):
    share(results["several"], output=tmp_path / "out" / "a.zip")
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path}/out/a.zip: page, summary, tables and provenance, ")
    assert said.rstrip().endswith("without any text of the data")
    texts = contents(tmp_path / "out" / "a.zip")
    assert {"index.html", "summary.html", "paragraph.txt", "paragraph.tex", "provenance.json",
            "tables/verdicts.csv", "tables/verdicts.tex"} <= set(texts)  # fmt: skip
    provenance = json.loads(texts["provenance.json"])
    assert provenance["title"] == SETTINGS["title"]
    assert set(provenance["versions"]) >= {"exparity", "commit"}
    assert "We trained model_0 and model_1, 2 times," in texts["paragraph.txt"]
    for href in ("summary.html", "paragraph.txt", "tables/verdicts.csv"):
        assert f'href="{href}"' in texts["index.html"]


def test_equal_results_give_equal_bytes(results, tmp_path):
    for name in ("a.zip", "b.zip"):
        share(results["one"], output=tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_it_lies_beside_the_results_where_no_place_is_named(results):
    share(results["one"])
    assert (results["one"].parent / "results.zip").is_file()


def test_the_hub_reads_card_and_tables(results, tmp_path, capsys):
    folder = tmp_path / "dataset"
    share(results["several"], hugging_face=folder)
    assert "without texts; add a license" in capsys.readouterr().out
    text = (folder / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["pretty_name"] == SETTINGS["title"]
    assert "license" not in card
    assert [one["config_name"] for one in card["configs"] if one.get("default")] == ["verdicts"]
    assert {one["data_files"] for one in card["configs"]} == {
        path.relative_to(folder).as_posix() for path in (folder / "data").iterdir()
    }
    assert "1. Does the classifier work for everybody?" in body
    for one in card["configs"]:
        table = pd.read_parquet(folder / one["data_files"])
        assert len(table)
        assert IN_EVERY_TEXT not in table.to_csv()
    if importlib.util.find_spec("datasets"):
        from datasets import load_dataset

        for one in card["configs"]:
            assert len(load_dataset(str(folder), one["config_name"], split="train"))


def test_a_readme_of_someone_else_is_not_overwritten(results, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("# My repository\n")
    with pytest.raises(InputError, match=r"README\.md: was not written by `exparity share`"):
        share(results["several"], hugging_face=tmp_path)
    assert readme.read_text() == "# My repository\n"
    assert not (tmp_path / "data").exists()
    readme.unlink()
    for _ in range(2):  # its own card is written anew
        share(results["several"], hugging_face=tmp_path)


def test_what_cannot_be_shared_is_refused(results, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no report yet; run the experiment first"):
        share(tmp_path / "empty")
    with pytest.raises(InputError, match="leave out --output and --with-texts"):
        share(results["one"], hugging_face=tmp_path / "d", with_texts=True)
