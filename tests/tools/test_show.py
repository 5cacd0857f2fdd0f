"""``exparity show``: the numbers of the artefacts, at any width, with and without colour."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.synthetic import config, make_study, options_of
from rich.console import Console

from exparity.artefacts.files import read_artefact, read_results, write_artefact
from exparity.core.errors import InputError
from exparity.report.gather import gather
from exparity.report.terminal import ShownTests, Terminal, folded, render
from exparity.stats.significance import exact_interval
from exparity.stats.verdicts import VERDICTS
from exparity.tools.show import show

SETTINGS = config(datasets=2, models=2, seeds=3, methods=2, metrics=3)
HEAD = re.compile(r"^(\S+)  seeds with a significant difference, mean d of (.+) − (.+)$")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A study with its disparity artefact, and without a page."""
    folder = tmp_path_factory.mktemp("show") / "results"
    make_study(folder, SETTINGS, pairs=12)
    options = options_of(SETTINGS)
    rows = [
        {
            **row,
            "significant_holm": row["significant"] and i % 3 == 0,
            "significant_bh": row["significant"] and i % 3 < 2,
            "p_holm": row["p"] if i % 3 == 0 else 1.0,
            "p_bh": row["p"] if i % 3 < 2 else 1.0,
        }
        for i, row in enumerate(gather(folder, options).rows)
    ]
    write_artefact(
        folder / "report" / "disparity.parquet",
        "disparity",
        rows,
        {},
        stage="report",
        parameters=options,
    )
    return folder


@pytest.fixture(scope="module")
def tests(results):
    return read_results(results, "disparity").query("quantity == 'score'")


@pytest.fixture
def shown(capsys):
    """Run it: the lines that it prints."""

    def call(*arguments, **options):
        show(*arguments, **{"correction": "none", **options})
        return capsys.readouterr().out.splitlines()

    return call


def tables(lines):
    """(dataset, model, method, metric) to cell, read from plain text."""
    cells, dataset, heads, model = {}, None, [], None
    for line in lines:
        if match := HEAD.match(line):
            dataset, heads = match[1], []
        elif dataset and not line:
            dataset = None
        elif dataset and not heads:
            heads = re.findall(r"(\S+) [↑↓]|(\S+)", line)
            heads = [a or b for a, b in heads]
        elif dataset and not line.startswith(" "):
            model = line
        elif dataset:
            method, *values = re.split(r"\s{2,}", line.strip())
            for metric, value in zip(heads, values, strict=True):
                cells[dataset, model, method, metric] = value
    return cells


class TestPlainText:
    def test_cells_are_those_of_the_tests(self, results, tests, shown):
        cells = tables(shown(results))
        grouped = tests.groupby(["dataset", "model", "method", "metric"], observed=True)
        assert len(cells) == len(grouped) == 24
        for key, rows in grouped:
            significant = rows[rows["significant"]]
            opposed = {-1, 1} <= set(rows["direction"])
            effect = f"{rows['cohens_d'].mean():+.2f}".replace("-", "−") + "±" * opposed
            expected = f"{len(significant)}/3 {effect}"
            assert cells[key] == expected

    def test_the_headline(self, results, tests, shown):
        lines = shown(results)
        assert lines[0] == "A made-up study"
        assert lines[1] == "72 tests: 2 datasets, 2 models, 3 seeds, 2 methods, 3 metrics"
        random = read_results(results, "random_tests")
        for name, column in (("Mann–Whitney U", "p"), ("signed rank", "wilcoxon_p")):
            (line,) = [x for x in lines if x.startswith(f"scores: {name}  ")]
            hits, *corrected = (
                (tests[f"{column}{end}"] <= 0.05).mean() for end in ("", "_holm", "_bh")
            )
            low, high = exact_interval(round(72 * hits), 72)
            chance = (random[column] <= 0.05).mean()
            assert re.split(r"\s{2,}", line.strip())[1:] == [
                f"{round(72 * hits)} of 72",
                f"{100 * hits:.1f} %",
                f"{100 * low:.1f} to {100 * high:.1f} %",
                *(f"{100 * share:.1f} %" for share in (*corrected, chance, 0.05)),
            ]

    @pytest.mark.parametrize("correction", ["holm", "bh"])
    def test_corrected_counts(self, results, tests, shown, correction):
        cells = tables(shown(results, correction=correction))
        hits = tests.groupby(["dataset", "model", "method", "metric"], observed=True)[
            f"significant_{correction}"
        ].sum()
        assert {key: int(cell.split("/")[0]) for key, cell in cells.items()} == hits.to_dict()
        assert 0 < hits.sum() < tests["significant"].sum()

    def test_filters(self, results, shown):
        wanted = {
            "dataset": ["data_1"],
            "metric": ["comprehensiveness", "sufficiency"],
            "seed": [2],
        }
        lines = shown(results, **wanted)
        assert lines[1] == "8 tests: 1 dataset, 2 models, 1 seed, 2 methods, 2 metrics"
        cells = tables(lines)
        assert {(d, k) for d, _, _, k in cells} == {
            ("data_1", "comprehensiveness"),
            ("data_1", "sufficiency"),
        }
        assert all(re.match(r"[01]/1 ", cell) for cell in cells.values())

    def test_columns_keep_the_order_of_the_config(self, results, shown):
        metrics = list(dict.fromkeys(key[3] for key in tables(shown(results))))
        assert metrics == list(SETTINGS["metrics"])
        assert metrics != sorted(metrics)

    def test_the_folder_of_the_report_will_do(self, results, shown):
        assert tables(shown(results / "report")) == tables(shown(results))

    def test_before_there_is_a_report(self, results, shown, tmp_path):
        (tmp_path / "tests").symlink_to(results / "tests")
        lines = shown(tmp_path)
        assert tables(lines) == tables(shown(results))
        assert "there is no report yet: these are the 72 tests made so far" in lines
        assert not any("Holm" in line for line in lines)

    def test_tests_that_the_report_does_not_know(self, results, shown, tmp_path):
        copy = shutil.copytree(results, tmp_path / "results")
        file = next((copy / "tests").rglob("*.parquet"))
        report = copy / "report" / "disparity.parquet"
        os.utime(file, (report.stat().st_mtime + 5,) * 2)  # D14: as copying leaves it
        assert not any("made after the report" in line for line in shown(copy))
        table, facts = read_artefact(file, "tests")
        write_artefact(file, "tests", table, facts["wildcards"], stage="test", parameters={})
        os.utime(file, (report.stat().st_mtime + 5,) * 2)
        assert "1 tests were made after the report, and are not in it" in shown(copy)


class TestVerdicts:
    def test_every_cell_has_its_verdict(self, results, shown):
        """M9: the terminal says what may be concluded, as the page does."""
        lines = shown(results, correction=None)
        verdicts = read_results(results, "verdicts")
        excess = verdicts[verdicts["quantity"] == "excess"]
        heads = [line for line in lines if "excess over random explanations: d of" in line]
        assert [head.split()[0] for head in heads] == ["data_0", "data_1"]
        text = "\n".join(lines)
        for row in excess.to_dict("records"):
            marks = "±" * bool(row["seeds_above"] and row["seeds_below"])
            assert f"{row['d']:+.2f} {row['verdict']}{marks}".replace("-", "−") in text
        n = excess["verdict"].value_counts()
        (line,) = [x for x in lines if x.startswith("excess over random explanations: decided")]
        decided = len(excess) - n["undecided"]
        assert f"decided {decided} of {len(excess)} cells" in line
        for one in VERDICTS:
            assert f"{n.get(one.id, 0)} {one.label.lower()}" in line
        assert any(line.startswith("a random explanation over others: decided") for line in lines)

    def test_what_trainings_and_texts_cannot_tell_is_said_last(self, results, shown):
        lines = shown(results, correction=None)
        assert lines[-1] == (
            "From 3 trainings no one can exclude bad ones that are rarer than 63 %."
        )
        assert "Undecided: Neither a gap of 0.2 nor its absence is shown." in lines

    def test_v_and_what_would_have_been_found_are_said_and_single_tests_are_not(
        self, results, shown
    ):
        """Shares of significant tests are of single trainings, and behind ``--correction``."""
        lines = shown(results, correction=None)
        cells = read_results(results, "verdicts").query("quantity == 'excess'")
        for dataset, rows in cells.groupby("dataset", observed=True):
            least = rows["minimal_detectable_effect_corrected"].median()
            found = f"a mean gap of |d| = {least:.2g} is found in half of the cells"
            assert f"{dataset}: Cramér’s V of label and group 1.00; {found}" in lines
        counted = re.compile("Mann–Whitney|Signed rank|seeds with a significant")
        assert not any(map(counted.search, lines))
        assert any(map(counted.search, shown(results, correction="none")))

    def test_a_single_training_has_the_verdicts_of_its_classifier_alone(self, shown, tmp_path):
        make_study(tmp_path, config(datasets=1, models=1, seeds=1, methods=1, metrics=1), pairs=8)
        lines = shown(tmp_path, correction=None)
        (line,) = [line for line in lines if line.startswith("scores: decided")]
        assert re.search(r": \d equivalent, \d different, \d undecided$", line)
        assert "unstable" not in "".join(lines)
        assert not any("trainings no one can exclude" in line for line in lines)

    def test_some_seeds_are_counted(self, results, shown):
        lines = shown(results, seed=[1], correction=None)
        assert tables(lines) == tables(shown(results, seed=[1]))


class TestProblems:
    def test_no_folder(self, tmp_path):
        with pytest.raises(InputError, match=r"nowhere: no such folder; name the results folder"):
            show(tmp_path / "nowhere")

    def test_no_results(self, tmp_path):
        with pytest.raises(InputError, match="there are no tests yet; run the experiment first"):
            show(tmp_path)

    def test_unknown_ids(self, results):
        with pytest.raises(InputError, match=r"no metric 'gin' in .*; known: comprehensiveness"):
            show(results, metric=["gin"])
        with pytest.raises(InputError, match=r"no method 'gradint' .* did you mean 'gradient' or"):
            show(results, method=["gradint"])
        with pytest.raises(InputError, match=r"no seed '7'"):
            show(results, seed=[7])

    def test_a_correction_needs_the_report(self, results, tmp_path):
        (tmp_path / "tests").symlink_to(results / "tests")
        with pytest.raises(InputError, match="corrected in the report, which has not been made"):
            show(tmp_path, correction="bh")

    def test_damaged_files(self, tmp_path):
        path = tmp_path / "tests/d/m/0/x/y.parquet"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"PAR1")
        with pytest.raises(InputError, match=r"y\.parquet: not a readable Parquet file"):
            show(tmp_path)


def row(model="m", method="x", metric="k", seed=0, d=0.5, significant=True, **others):
    return {
        "dataset": "d", "model": model, "seed": seed, "method": method, "metric": metric,
        "group_a": "a", "group_b": "b", "p": 0.01, "wilcoxon_p": 0.01, "significant": significant,
        "considerable": abs(d) >= 0.2, "cohens_d": d, "flags": [], "direction": (d > 0) - (d < 0),
        **others,
    }  # fmt: skip


def printed(rows, width, colours=256):
    """What a terminal of some width shows, with its control codes."""
    shown = ShownTests("", rows, [], [], "significant", "none", 0.05, 0.2, {}, [])
    system = {0: None, 16: "standard", 256: "truecolor"}[colours]
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system=system, highlight=False
    )
    for part in render(shown, Terminal(width, colours)):
        console.print(part)
    return console.file.getvalue()


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


class TestTerminal:
    @pytest.mark.parametrize("width", [30, 44, 60, 80, 120, 200])
    def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(self, width):
        names = ("integrated_gradients_x_input", "lime")
        metrics = ("soft_comprehensiveness", "gini", "sensitivity", "sparsity")
        rows = [
            row("bert_scratch", x, y, seed, d)
            for x in names
            for y, d in zip(metrics, (-1.25, 0.75, 11.5, 0.25), strict=True)
            for seed in range(12)
        ]
        text = plain(printed(rows, width))
        assert max(map(len, text.splitlines())) <= width
        for effect in ("−1.25", "+0.75", "+11.50", "+0.25"):
            assert text.count(effect) == 2
        assert text.count("12/12") == 8
        assert all(part in text for part in ("integrated_", "gradients_x_", "input", "lime"))

    def test_colours_tell_direction_and_share(self):
        rows = [row(metric="up", d=0.5, seed=s) for s in range(3)]
        rows += [row(metric="down", d=-0.5, seed=s, significant=s == 0) for s in range(3)]
        rows += [row(metric="none", d=0.1, seed=s, significant=False) for s in range(3)]
        codes = dict.fromkeys(("3/3 +0.50", "1/3 −0.50", "0/3 +0.10"), "")
        for code, text in re.findall(r"\x1b\[([\d;]*)m([^\x1b]*)", printed(rows, 100)):
            if text.strip() in codes:
                codes[text.strip()] = code
        assert codes["3/3 +0.50"] == "1;30;48;2;125;184;226"
        assert codes["1/3 −0.50"] == "1;30;48;2;245;189;147"
        assert codes["0/3 +0.10"] == "2"

    def test_effects_are_means_over_all_seeds_and_opposite_signs_are_marked(self):
        effects = {"agree": (0.9, 0.1, 0.2), "oppose": (0.9, -0.1, -0.2)}
        rows = [
            row(metric=metric, d=d, seed=seed, significant=d == 0.9)
            for metric, of_seeds in effects.items()
            for seed, d in enumerate(of_seeds)
        ]
        text = plain(printed(rows, 100))
        assert "1/3 +0.40 " in text
        assert "1/3 +0.20±" in text

    def test_sixteen_colours_are_enough(self):
        text = printed([row(d=0.5), row(metric="l", d=-0.5)], 80, colours=16)
        assert "\x1b[1;30;46m1/1 +0.50" in text
        assert "\x1b[1;30;43m1/1 −0.50" in text

    def test_the_legend_names_the_groups(self):
        assert "a higher   b higher" in plain(printed([row()], 200))
        assert "higher" not in printed([row()], 200, colours=0)
        several = [row(), row(group_a="c")]
        assert "first group higher" in plain(printed(several, 200))

    def test_gaps_flags_and_odd_effects(self):
        rows = [
            row("m", "x", "k", d=float("inf"), flags=["no_variance"]),
            row("m", "y", "l", d=float("nan"), significant=False, p=float("nan")),
        ]
        lines = plain(printed(rows, 80)).splitlines()
        assert "  x  1/1 +∞*  –" in [line.rstrip() for line in lines]
        assert "  y  –        0/1" in [line.rstrip() for line in lines]
        assert "flagged no_variance (1): each group's scores are constant and differ" in " ".join(
            line.strip() for line in lines
        )

    def test_ids_are_no_markup(self):
        assert "[red]m" in plain(printed([row("[red]m", "[/]", "[bold]")], 80))

    @given(st.text("ab_ ", min_size=1, max_size=40), st.integers(4, 20))
    def test_folded_ids_keep_their_letters_and_fit(self, text, width):
        text = text.rstrip()[-40:]
        if not text.strip() or len(text) - len(text.lstrip()) > width - 3:
            return
        lines = folded(text, width).split("\n")
        assert max(map(len, lines)) <= width
        assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)


class TestCommand:
    def run(self, *arguments, **environment):
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        return subprocess.run(
            [sys.executable, "-m", "exparity", "show", *map(str, arguments)],
            capture_output=True,
            check=False,
            env={**kept, **environment},
        )

    def test_piped_text_is_plain(self, results):
        found = self.run(results, "--metric", "sufficiency", "--method", "gradient", "--seed", "0")
        assert found.returncode == 0, found.stderr.decode()
        text = found.stdout.decode()
        assert "\x1b" not in text
        assert "4 tests: 2 datasets, 2 models, 1 seed, 1 method, 1 metric" in text

    def test_colour_when_forced_and_not_with_no_color(self, results):
        counts = results, "--correction", "none"
        coloured = self.run(*counts, FORCE_COLOR="1", COLUMNS="80").stdout.decode()
        assert "\x1b[1;30;4" in coloured
        without = self.run(*counts, FORCE_COLOR="1", COLUMNS="80", NO_COLOR="1").stdout.decode()
        assert not re.search(r"\x1b\[[\d;]*[34]\d[;m]", without)

    def test_an_output_without_such_letters(self, results):
        found = self.run(results, PYTHONIOENCODING="ascii")
        assert found.returncode == 0, found.stderr.decode()
        assert b"Cram?r?s V of label and group 1.00" in found.stdout

    def test_bad_input_is_one_line(self, tmp_path):
        found = self.run(tmp_path)
        assert found.returncode == 2
        lines = found.stderr.decode().splitlines()
        assert lines == [f"exparity: {tmp_path}: there are no tests yet; run the experiment first"]

    def test_it_loads_nothing_slow(self, results):
        code = (
            "import sys, pathlib\nfrom exparity.cli import main\n"
            f"main(['show', {str(results)!r}])\n"
            "slow = {'torch', 'matplotlib', 'scipy.stats', 'transformers'} & set(sys.modules)\n"
            "sys.exit(f'imported: {slow}' if slow else 0)"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert run.returncode == 0, run.stderr.decode()


def test_the_folder_is_that_of_the_config(repository, results, shown, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^results: no such folder"):
        show()
    config = {"configfile": [repository / "config" / "config.yaml"], "config": ["results=gone"]}
    with pytest.raises(InputError, match=r"^gone: no such folder"):
        show(**config)
    assert shown(results, **config) == shown(results)
