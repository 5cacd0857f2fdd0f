"""The report of a small made-up study: every number in it is one of the artefacts'."""

import base64
import csv
import hashlib
import json
import math
import re
import shutil
from collections import defaultdict
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from made_up import GROUPS, config, grid_of, make_study, options_of
from report.pages import page_of
from report.reading import Page, data_of, inflated

from exparity import compare_groups, read_results
from exparity.artefacts.grid import Grid, grid_text
from exparity.core.errors import InputError
from exparity.core.formats import signed
from exparity.methods._gradients import ROUNDING_NOISE
from exparity.report import figures, gather
from exparity.report.figures import style
from exparity.report.sections.disparity import cell_data
from exparity.report.tables import disparity_tables
from exparity.report.verdicts import meaning_of
from exparity.stats.flags import FLAGS
from exparity.stats.informative import UNINFORMATIVE
from exparity.stats.verdicts import VERDICTS
from exparity.tools.show import show

COLLAPSED = ("data_1", "model_1", 2)
METRICS = ("comprehensiveness", "sufficiency", "soft_comprehensiveness")
METHODS = {
    "gradient": {},
    "ig_few": {"use": "integrated_gradients", "n_steps": 5},
    "ig_many": {"use": "integrated_gradients"},
}
SETTINGS = {
    **config(datasets=2, models=2, seeds=3, metrics=3),
    "title": "A <script>alert('x')</script> & b_1",
    "methods": METHODS,
    "report": {"figures": False},
    "statistics": {"confidence": 0.975},
}
CELL = ["dataset", "model", "method", "metric"]
KEY = ["dataset", "model", "seed", "method", "metric"]


def odd_scores(method, metric, scores):
    """Two cells whose scores do not vary: in the second, between groups alone."""
    if metric != "sufficiency" or method == "gradient":
        return scores
    return (
        np.full(len(scores), 0.5) if method == "ig_few" else np.tile([2.0, 1.0], len(scores) // 2)
    )


@pytest.fixture(scope="module")
def options():
    return options_of(SETTINGS)


@pytest.fixture(scope="module")
def study(tmp_path_factory, options):
    folder = tmp_path_factory.mktemp("study") / "results"
    # Of 13 pairs or fewer with ties, scipy permutes the differences: 2 s a cell.
    make_study(folder, SETTINGS, pairs=14, collapsed=COLLAPSED, scored=odd_scores)
    page_of(folder, options)
    return folder


@pytest.fixture(scope="module")
def source(study):
    return (study / "report" / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


@pytest.fixture(scope="module")
def disparity(study):
    return read_results(study, "disparity")


def has_collapsed(row):
    return tuple(row[name] for name in KEY[:3]) == COLLAPSED


def counts(row):
    """Whether a test says something of a working classifier."""
    return not set(UNINFORMATIVE) & set(row["flags"])


@pytest.fixture(scope="module")
def tests_of(disparity):
    """The tests of each cell by (quantity, dataset, model, method, metric), one a seed."""
    cells = defaultdict(list)
    for row in disparity.to_dict("records"):
        cells[row["quantity"], *(row[name] for name in CELL)].append(row)
    return cells


def has_both_signs(rows):
    effects = [row["cohens_d"] for row in rows if counts(row)]
    return any(d < 0 for d in effects) and any(d > 0 for d in effects)


def published(rows):
    """The count that studies publish, and the mean d of what it counts, or of all; by loops."""
    significant = [row for row in rows if row["p"] <= 0.05]
    effects = [row["cohens_d"] for row in significant or rows]
    effects = [d for d in effects if not math.isnan(d)]
    return len(significant), sum(effects) / len(effects) if effects else None


class TestPage:
    def test_every_cell_shows_the_verdict_and_who_is_better_off(self, study, page, tests_of):
        judged = read_results(study, "verdicts")
        known = {verdict.id: verdict for verdict in VERDICTS}
        verdicts = {tuple(row[name] for name in ["quantity", *CELL]): row
                    for row in judged.to_dict("records")}  # fmt: skip
        gaps, stars = 0, 0
        for dataset in SETTINGS["datasets"]:
            heads = page.tables[page.index(f"{dataset}, gender")]["rows"][0]
            assert [head[0][0].partition(" ")[0] for head in heads[:2]] == ["Model", "Method"]
            rows, ids = page.table(f"{dataset}, gender"), product(SETTINGS["models"], METHODS)
            for row, (model, method) in zip(rows, ids, strict=True):
                # ig_few and ig_many are one implementation: they go by their own ids
                name = {"gradient": "Gradient"}.get(method, method)
                assert [cell[0] for cell in row[:2]] == [model, name]
                for metric, (text, attrs) in zip(METRICS, row[2:], strict=True):
                    key = dataset, model, method, metric
                    of = verdicts["excess", *key]
                    flags = {f for r in tests_of["score", *key] for f in r["flags"]}
                    star = "* " * bool(flags - {"interval_none"})
                    both = " ±" * has_both_signs(tests_of["excess", *key])
                    verdict = known.get(of["verdict"])
                    d, word = (signed(of["d"]), verdict.id) if verdict else ("–", "not tested")
                    assert text == f"{d} {star}{word}{both}"
                    side = "ab"[(of["d"] > 0) == (metric == "sufficiency")]
                    sides = {side} if verdict and verdict.is_gap and verdict.favours else set()
                    assert {"a", "b"} & set(attrs["class"].split()) == sides
                    gaps, stars = gaps + bool(sides), stars + bool(star)
        assert 0 < gaps < 36
        assert 0 < stars < 36

    def test_as_published_it_shows_counts(self, study, options, tests_of):
        known = gather.gather(study, grid_of(SETTINGS))
        embedded = cell_data(disparity_tables(known), 0.2)
        data, view = embedded["cells"], embedded["views"]["published"]
        cells = zip(data["model"], data["method"], data["metric"], strict=True)
        seen = set()
        for i, key in enumerate(cells):
            rows = tests_of["score", list(SETTINGS["datasets"])[data["table"][i]], *key]
            look = view[i]
            count, mean = published(rows)
            assert look["text"] == str(count)
            if mean is not None and math.isfinite(mean):
                assert f"d = {signed(mean)}" in look["below"]
            assert data["both_signs"][i] == has_both_signs(rows)
            better = (mean or 0.0) * (-1 if key[2] == "sufficiency" else 1)
            sides = {"ab"[better < 0]} if count and better else set()
            assert {"a", "b"} & set(look["style"].split()) == {*look["side"]} == sides
            seen |= sides
        assert seen == {"a", "b"}

    def test_cells_say_what_their_skill_is_made_of(self, study, options):
        """And what flags of their verdicts mean, once they have a skill."""
        known = gather.gather(study, grid_of(SETTINGS))
        measured = {f"{k}_{g}": 0.5 for k in ("skill", "room", "little_room") for g in "ab"}
        gaps = {f"d_{scale}": -0.25 for scale in ("ranks", "log_odds", "probability")}
        more = {"quantity": "skill", "flags": ["no_room"], "stands": True, **measured, **gaps}
        cells = known.verdicts.values()
        judged = [replace(cell.score, stands=False) for cell in cells]
        judged += [replace(cell.excess, **more) for cell in cells]
        known = replace(known, judged=judged)
        cells = cell_data(disparity_tables(known), 0.2)["cells"]
        assert all("reach 50\u00a0%, and those of fem" in line for line in cells["skill"])
        assert all(re.search("by log odds −0.25 .*a gap has to", line) for line in cells["skill"])
        assert all(note.startswith("In one group there is hardly") for (note,) in cells["notes"])

    def test_flags_are_shown_on_the_cell_and_counted_above(self, page, disparity):
        titles = {cell[1].get("title") for d in SETTINGS["datasets"]
                  for row in page.table(f"{d}, gender") for cell in row[2:]}  # fmt: skip
        assert {None, "collapsed"} <= titles
        assert any("no_variance" in title for title in titles if title)
        scores = disparity[disparity["quantity"] == "score"]
        for flag in ("constant", "no_variance", "collapsed"):
            count = sum(flag in flags for flags in scores["flags"])
            line = f"{flag} , {count} tests (marked * in the table): {meaning_of(flag)}"
            assert line in page.text

    def test_shares_are_those_of_the_tests_that_count(self, study, page, disparity):
        random = disparity[disparity["quantity"] == "random_score"]
        random = random[[tuple(row) != COLLAPSED for row in random[KEY[:3]].to_numpy().tolist()]]
        of = disparity[(disparity["quantity"] == "score") & disparity.apply(counts, axis=1)]
        tested = of[of["p"].notna()]
        shares = [f"{100 * (rows['p'] <= 0.05).mean():.1f} %" for rows in (tested, random)]
        sentence = f"groups differ in {shares[0]} of {len(tested)} comparisons of scores"
        assert sentence in page.text
        assert f"in place of the real ones, in {shares[1]}" in page.text
        assert "The 97.5 % interval of the typical size of the gap of a training" in page.text

    def test_the_page_has_the_accuracy_of_each_group(self, page):
        rows = [[text for text, _ in row] for row in page.table("Accuracy on the test split")]
        expected = []
        for cell in product(SETTINGS["datasets"], SETTINGS["models"], SETTINGS["seeds"]):
            overall, of_women = ("0.500", "0.000") if cell == COLLAPSED else ("1.000", "1.000")
            groups = f"male 1.000, female {of_women}"
            expected.append([*map(str, cell), "28", overall, groups])
        assert rows == expected

    def test_scripts_and_styles_are_those_of_the_policy_and_inside(self, page, source):
        policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        for tag in ("script", "style"):
            found = re.findall(rf"<{tag}>(.*?)</{tag}>", source, re.DOTALL)
            assert found
            for text in found:
                digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                assert f"'sha256-{digest}'" in policy
        script = packed_script(source)
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" in policy
        assert not {t for t, _ in page.tags} & {"img", "link", "iframe", "object", "embed", "base"}
        for tag, attrs in page.tags:
            assert not {"src", "style"} & set(attrs)
            assert not any(name.startswith("on") for name in attrs)
            assert tag != "script" or set(attrs) <= {"type", "data-section", "data-script"}

    def test_scripts_and_styles_are_a_small_part_of_a_page(self, source):
        found = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", source, re.DOTALL)
        assert len(found) == 2
        assert sum(len(text.encode()) for text in found) < 25_000
        assert len(packed_script(source)) < 60_000

    def test_links_lead_to_files_and_anchors(self, page, study):
        assert len(page.ids) == len(set(page.ids))
        links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
        assert len(links) > 30
        for link in links:
            if link.startswith("#"):
                assert link[1:] in page.ids
            elif not link.startswith("https://"):
                assert (study / "report" / link).is_file()


def packed_script(source):
    """The script that a page unpacks."""
    (text,) = re.findall(r'<script type="text/plain" data-script>(.*?)</script>', source)
    return inflated(text)


def test_csv_and_latex_hold_the_same_cells(study, tests_of):
    dataset = "data_1"  # one of its classifiers has collapsed
    path = study / "report" / "tables" / f"disparity-{dataset}-male-female.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = path.with_suffix(".tex").read_text(encoding="utf-8").splitlines()
    assert r"\begin{tabular}{llccc}" in lines
    body = [line for line in lines if line.endswith(r"\\") and "Model & Method" not in line]
    texts = [text for line in body for text in line.removesuffix(r" \\").split(" & ")[2:]]
    cells = product([dataset], SETTINGS["models"], METHODS, METRICS)
    for row, text, cell in zip(rows, texts, cells, strict=True):
        assert tuple(row[name] for name in CELL) == cell
        count, mean = published(tests_of["score", *cell])
        bold = count > 0 and mean is not None and abs(mean) >= 0.2
        assert (row["group_a"], row["group_b"]) == GROUPS
        assert (int(row["significant_runs"]), int(row["total_runs"])) == (count, 3)
        assert row["considerable"] == str(bold).lower()
        flags = {flag for test in tests_of["score", *cell] for flag in test["flags"]}
        assert row["flags"].split() == sorted(flags)
        if mean is None:
            assert (row["mean_cohens_d"], row["higher_group"]) == ("", "")
        else:
            assert float(row["mean_cohens_d"]) == pytest.approx(mean, rel=1e-5, abs=1e-12)
            assert row["higher_group"] == GROUPS[mean < 0]
        star = "$^{*}$" * bool(flags - {"interval_none"})
        expected = rf"\textbf{{{count}}}{star}" if bold else f"{count}{star}"
        assert re.sub(r"\\cellcolor\{[^}]*\}", "", text) == expected
        shade = "blue" if mean and mean > 0 else "red"
        assert (rf"\cellcolor{{{shade}!" in text) == bool(count and mean)
        assert count != 3 or "!40}" in text


ONE = {
    **config(datasets=1, models=1, seeds=1, methods=1, metrics=1),
    "report": {"figures": False},
}


def called(settings, names):
    """Settings, or options, in which things have other names."""
    text = json.dumps(settings)
    for name, other in names.items():
        text = text.replace(json.dumps(name), json.dumps(other))
    return json.loads(text)


def test_ids_from_outside_are_escaped_everywhere(tmp_path, source, page):
    names = {"model_0": "<i>bert&_%"}
    make_study(tmp_path, called(ONE, names), pairs=8)
    text = page_of(tmp_path, called(options_of(ONE), names)).read_text()
    assert "<i>" not in text
    assert "<i>bert&_%" in Page(text).text
    latex = (tmp_path / "report" / "tables" / "disparity-data_0-male-female.tex").read_text()
    assert "\n<i>bert\\&\\_\\%" in latex
    assert SETTINGS["title"] in page.text
    assert "<script>alert" not in source


# Colour, a window's title, an overwritten line, a change of direction, a line of its own,
# markup of the page and of the terminal, a formula of a spreadsheet.
HOSTILE = "\x1b[31m\x1b]0;x\x07\r\u202eab\x9b\n</script>[bold]%"
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    make_study(folder, ONE, pairs=8, groups=(f"=cmd{HOSTILE}", "@x"))
    options = {**options_of(ONE), "title": f"Title {HOSTILE}", "report": {"figures": True}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "WIDTHS", {"1col": figures.WIDTHS["1col"]})
        page_of(folder, options)
    (folder / "grid.json").write_text(grid_text(Grid.from_json(options, "")), encoding="utf-8")
    return folder / "report"


def strings_of(value):
    """Yield every text in what was read from JSON, keys as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings_of(item)


class TestHostileNames:
    def test_text_files_have_no_control_characters(self, hostile):
        paths = [p for p in hostile.rglob("*") if p.suffix in (".html", ".tex", ".svg")]
        assert {path.suffix for path in paths} == {".html", ".tex", ".svg"}
        for path in paths:
            assert not ACTING.search(path.read_text(encoding="utf-8")), path.name
            if path.suffix == ".svg":
                ElementTree.parse(path)
            if path.suffix == ".tex":  # comments stay comments
                lines = path.read_text().splitlines()
                assert not any(line.startswith("</script>") for line in lines)
        page = Page((hostile / "index.html").read_text(encoding="utf-8"))
        attributes = [value for _, attrs in page.tags for value in attrs.values() if value]
        assert not any(map(ACTING.search, [*page.texts, *attributes]))
        assert r"\x1b[31m\x1b]0;x\x07\r\u202eab\x9b" in page.text

    def test_the_data_of_the_page_has_none(self, hostile):
        page = (hostile / "index.html").read_text(encoding="utf-8")
        data = "".join(strings_of([*data_of(page).values()]))
        assert "=cmd" in data
        assert not ACTING.search(data)

    def test_spreadsheets_compute_nothing(self, hostile):
        seen = []
        for path in hostile.rglob("*.csv"):
            with path.open(newline="", encoding="utf-8") as file:
                seen += [cell for row in csv.reader(file) for cell in row]
        assert any(cell.startswith("'=cmd") for cell in seen)
        assert "'@x" in seen
        for cell in seen:
            if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
                float(cell)

    def test_the_terminal_shows_them(self, hostile, capsys):
        show(hostile.parent)
        printed = capsys.readouterr().out
        assert not ACTING.search(printed)
        assert r"Title \x1b[31m" in printed
        assert r"=cmd" in printed


class TestFolder:
    @pytest.fixture
    def folder(self, study, tmp_path):
        shutil.copytree(study, tmp_path, dirs_exist_ok=True)
        shutil.rmtree(tmp_path / "report")
        return tmp_path

    def test_figures_are_drawn_or_left_out_as_the_config_says(self, folder, monkeypatch):
        """In one width and format; tests/report/test_figures.py has the others."""
        monkeypatch.setattr(figures, "WIDTHS", {"1col": figures.WIDTHS["1col"]})
        monkeypatch.delitem(style.FORMATS, "pdf")
        drawn = folder / "report" / "figures"
        small = options_of(config(datasets=1, models=1, seeds=3, methods=1, metrics=1))
        name = "effects-data_0-male-female_1col"
        for asked in (True, False):  # nothing is left that the new page does not show
            page = page_of(folder, {**small, "report": {"figures": asked}})
            assert (drawn / f"{name}.svg").is_file() == (name in page.read_text()) == asked
        assert not list(drawn.iterdir())

    def test_a_missing_artefact_is_named_and_nothing_is_written(self, folder, options):
        path = "bias/data_1/model_0.parquet"
        (folder / path).unlink()
        with pytest.raises(InputError, match=rf"{path}: no such file; run the stage"):
            page_of(folder, options)
        assert not (folder / "report").exists()

    def test_part_of_a_grid_without_what_is_deleted(self, folder, options):
        for name in ("scores", "explanations"):
            shutil.rmtree(folder / name)
        part = {**options, "seeds": [1], "metrics": options["metrics"][:1]}
        page = Page(page_of(folder, part).read_text(encoding="utf-8"))
        study = gather.gather(folder, Grid.from_json(part, ""))
        assert len(study.rows) == 2 * 2 * 3
        assert {test.seed for test in study.tests} == {1}
        assert not {"distributions", "means"} & set(page.ids)
        assert "12 scores files are missing" in page.text


def test_every_flag_of_a_test_has_a_meaning():
    odd = [1.0] * 4, [1.0, 1.0, 2.0, 2.0], [1.0, math.nan, 3.0, 4.0]
    compared = [compare_groups(scores, [*"aabb"], ("a", "b")) for scores in odd]
    flags = {flag for one in compared for flag in one.flags}
    assert flags >= {"constant", "no_variance", "cannot_pass", "too_few", "undefined_values"}
    assert flags | {"interval_none", "interval_percentile", ROUNDING_NOISE} <= set(FLAGS)
