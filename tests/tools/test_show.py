"""``exparity show``: the verdicts of the artefact, at any width, with and without colour."""

import io
import math
import re

import pytest
from made_up import config, make_study, verdict_row
from rich.console import Console

from exparity.artefacts.files import read_results
from exparity.config.experiment import Experiment
from exparity.core.errors import InputError
from exparity.report.picture import tile_of
from exparity.report.terminal import verdicts_of
from exparity.report.verdicts import certainty
from exparity.stats.verdicts import VERDICTS
from exparity.tools.show import show

SETTINGS = config(datasets=2, models=2, seeds=3, methods=2, metrics=3)


IDS = ("dataset", "model", "method", "metric")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A study with verdicts, and without a report."""
    folder = tmp_path_factory.mktemp("show") / "results"
    make_study(folder, SETTINGS, pairs=12)
    settings = {**SETTINGS, "statistics": {"confidence": 0.9}, "results": str(folder)}
    Experiment.from_mapping(settings).write_grid()
    return folder


@pytest.fixture
def shown(capsys):
    """Run it: the lines that it prints."""

    def call(*arguments, **options):
        show(*arguments, **options)
        return capsys.readouterr().out.splitlines()

    return call


class TestPlainText:
    def test_every_cell_has_its_verdict(self, results, shown):
        """The terminal says what may be concluded, as the page does."""
        lines = shown(results, cells=True)
        assert lines[0] == "A made-up study"
        verdicts = read_results(results, "verdicts")
        excess = verdicts[verdicts["quantity"] == "excess"]
        scores = verdicts[verdicts["quantity"] == "score"].set_index([*IDS])["d"]
        heads = [line for line in lines if "  gap (Cohen's d) of male − female" in line]
        assert [head.split()[0] for head in heads] == ["data_0", "data_1"]
        cells = [line.split() for line in lines]
        for row in excess.to_dict("records"):
            marks = "±" * bool(row["seeds_above"] and row["seeds_below"])
            carried = "driven_by_one_training" in row["flags"]
            marks += "*" * (carried and row["verdict"] == "undecided")
            gaps = scores[tuple(row[id] for id in IDS)], row["d"]
            both = [f"{d:+.2f}".replace("-", "−") for d in gaps]
            size = f"{row['rms_low']:.2f} to {row['rms_high']:.2f}".split()
            ids = [row[id] for id in ("model", "method", "metric")]
            favours = row["verdict"] in ("different", "considerable")
            favoured = f": {row['better_group']}" if favours else ""
            verdict = f"{row['verdict']}{favoured}{marks}".split()
            assert [*ids, *both, "–", *size, *verdict] in cells
        n = excess["verdict"].value_counts()
        (line,) = [x for x in lines if x.startswith("explanations: decided")]
        decided = len(excess) - n["undecided"]
        assert f"decided {decided} of {len(excess)} comparisons" in line
        for one in VERDICTS:
            assert f"{n.get(one.id, 0)} {one.label.lower()}" in line
        assert any(line.startswith("random explanations: decided") for line in lines)
        assert lines[-1].startswith("With 3 trainings, a kind of bad training that occurs in fewer")
        assert "Undecided: Neither a gap of 0.2 nor its absence is shown." in lines
        assert sum("  R, 90 %  " in line for line in lines) == len(heads)

    def test_five_answers_come_first_and_cells_on_request(self, results, shown):
        lines = shown(results)
        assert [line[:2] for line in lines[1:6]] == ["1.", "2.", "3.", "4.", "5."]
        assert lines[1].startswith("1. Does the classifier work for everybody? On ")
        assert "With --cells, the verdict of each comparison is printed." in lines
        assert not any("  gap (Cohen's d) of male − female" in line for line in lines)
        assert lines[1:6] == shown(results, cells=True)[1:6]

    def test_ids_choose_what_is_shown(self, results, shown):
        metrics = ["comprehensiveness", "sufficiency"]
        lines = shown(results, dataset=["data_1"], method=["gradient"], metric=metrics)
        assert re.match(r"explanations: decided \d of 4 comparisons", lines[1])
        assert "data_0" not in "".join(lines)

    def test_a_single_training_has_the_verdicts_of_its_classifier_alone(self, shown, tmp_path):
        make_study(tmp_path, config(datasets=1, models=1, seeds=1, methods=1, metrics=1), pairs=8)
        lines = shown(tmp_path)
        (line,) = [line for line in lines if line.startswith("scores: decided")]
        assert re.search(r": \d equivalent, \d different, \d undecided$", line)
        assert "unstable" not in "".join(lines)

    def test_unknown_ids_are_refused_with_near_ones(self, results):
        with pytest.raises(InputError, match=r"no method 'gradint' .* did you mean 'gradient' or"):
            show(results, method=["gradint"])


def printed(rows, width):
    """What a terminal of some width shows."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    for part in verdicts_of(rows, 0.2, 0.95):
        console.print(part)
    return console.file.getvalue()


class TestTerminal:
    @pytest.mark.parametrize("width", [60, 200])
    def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(self, width):
        ids = {"model": "[red]m", "method": "integrated_gradients_x_input"}
        text = printed([verdict_row(**ids, quantity="score", d=-11.5)], width)
        assert max(map(len, text.splitlines())) <= width
        assert text.count("−11.50") == text.count("[red]m") == 1  # no markup

    def test_untested_cells_flags_and_opposite_signs(self):
        rows = [
            verdict_row(metric="k", quantity="score", d=math.inf, flags=["missing"], seeds_below=1),
            verdict_row(None, metric="l", quantity="score", d=math.nan, flags=["no_variance"]),
        ]
        lines = [" ".join(line.split()) for line in printed(rows, 200).splitlines()]
        assert "m lime k +∞ – – 0.10 to 0.90 different: a±" in lines
        assert (
            "m lime l – – – 0.10 to 0.90 not tested: scores differ between the groups alone"
            in lines
        )

    def test_a_gap_that_rests_on_one_training_has_the_star_of_the_page(self):
        facts = {"quantity": "score", "rms_low": 0.1, "rms_high": 0.9}
        carried = verdict_row("undecided", flags=["driven_by_one_training"], **facts)
        text = printed([carried, verdict_row("undecided", metric="k", **facts)], 200)
        assert text.count("undecided*") == tile_of(carried, 0.2).size.count("*") == 1
        assert "*: would be decided, but the gap rests on a single Zü." in text
        assert "*:" not in printed([verdict_row("undecided", **facts)], 200)

    @pytest.mark.parametrize("n_seeds", [1, 3])
    def test_no_statistic_is_a_bare_letter_beside_names_of_groups(self, n_seeds):
        sizes = {"rms_low": 0.1, "rms_high": 0.9, "certainty_d": 0.9, "length_d": 0.1}
        sizes |= {"dataset": "x", "surer_of": "a"}
        for verdict in VERDICTS:
            row = verdict_row(verdict.id, n_seeds=n_seeds, seeds_above=n_seeds, **sizes)
            tile = tile_of(row, 0.2)
            said = [tile.size, tile.sentence, certainty([row])]
            said += [line for line in printed([row], 200).splitlines() if " − " in line]
            for words in filter(None, said):
                assert not re.search(r"\b[dR]\b", words.replace("Cohen's d", ""))

    def test_methods_whose_gap_is_one_of_certainty_alone_are_named(self):
        verdicts = {"x": "different", "y": "undecided", "z": "equivalent"}
        rows = [
            verdict_row(verdict, method=method, quantity=quantity, stands=stands, surer_of="a")
            for method, of_skill in verdicts.items()
            for quantity, verdict, stands in (
                ("score", "different", False), ("skill", of_skill, True),
            )
        ]  # fmt: skip
        (line,) = [one for one in printed(rows, 200).splitlines() if "is less sure of" in one]
        assert line.startswith("m, gini of y, z: The classifier is less sure of b; ")


def test_the_folder_comes_from_the_config(repository, results, shown, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^results: no such folder"):
        show()
    config = {"configfile": [repository / "config" / "config.yaml"], "config": ["results=gone"]}
    with pytest.raises(InputError, match=r"^gone: no such folder"):
        show(**config)
    assert shown(results, **config) == shown(results)
