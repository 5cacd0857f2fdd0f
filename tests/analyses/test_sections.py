"""The sections of the analyses: what they average, what stands beside it, and that they render."""

import csv
import math

import pytest
from analyses.page import page_of
from made_up import GROUPS, Analyses, seed_test

from exparity.analyses.attribution_difference.section import difference_tables
from exparity.analyses.correctness.section import correctness_tables
from exparity.analyses.dataset_bias.section import associations_of, shares_of
from exparity.analyses.mlm_score.section import mlm_lines
from exparity.published.study import Key, load_study
from exparity.report.context import Context
from exparity.report.gather import Declared, Study
from exparity.report.reading import read_analysis
from exparity.report.rows import ClassifierBias


@pytest.fixture
def made(tmp_path):
    return Analyses(tmp_path).make()


def study(made):
    declared = Declared("gender", GROUPS, ("female", "male"))
    ids = {"dataset": "geco", "model": "ola"}
    bias = [
        ClassifierBias(quantity, group, "", name, value, 100, **ids, seed=seed)
        for seed in (0, 1)
        for quantity, group, name, value in (
            ("accuracy", "", "", 0.9 + 0.02 * seed), ("tpr", "", "male", 0.9),
            ("tpr", "", "female", 0.1), ("tpr", "male", "male", 0.2),
            ("tnr", "", "male", 0.8), ("apd", "male", "", 0.03), ("apd", "male", "male", 0.5),
        )
    ]  # fmt: skip
    return Study(
        results=made.root, grid=made.grid, tests=[], bias=bias, facts={"geco": declared},
    )  # fmt: skip


def report_of(made, of=None):
    """Return the findings of each analysis, by its id."""
    context = Context(of or study(made), made.root)
    findings = {entry.id: context.findings(entry) for entry in context.analyses}
    return {id: found for id, found in findings.items() if found is not None}


class TestCorrectness:
    def test_means_and_ranks_over_seeds(self, made):
        (table,) = correctness_tables(read_analysis(made.root, made.grid, "correctness"))
        assert (table.dataset, table.metric, table.groups) == ("geco", "mass", GROUPS)
        level = table.levels["c", "gradient_x_input", "correct", ""]
        assert level.mean == pytest.approx(0.41)
        assert level.sd == pytest.approx(0.02 / math.sqrt(2))
        assert (level.n, level.undefined) == (20, 2)
        assert table.best_first == ["pattern_variant", "gradient_x_input", "uniform_random"]

    def test_classifiers_stand_beside_the_published_ones(self, made):
        values = report_of(made)["correctness"].values
        (ola,) = [c for c in values["classifiers"] if c.scheme == "ola_cea"]
        lines = {name: (ours[0], theirs.mean) for name, ours, theirs in ola.lines}
        assert lines["Accuracy"] == (pytest.approx(0.91), pytest.approx(0.957))
        assert lines["True positive rate"] == (pytest.approx(0.9), pytest.approx(0.9752))
        assert lines["True negative rate"] == (pytest.approx(0.8), pytest.approx(0.9391))
        apd = lines["Average prediction difference"]
        assert apd == (pytest.approx(0.03), pytest.approx(0.0081))


def test_words_with_most_sets_are_shown(made):
    rows = read_analysis(made.root, made.grid, "attribution_difference")
    (table,) = difference_tables(rows, 0.05)
    assert len(table.words) == 10
    assert table.words[0] == ("he", "she")
    assert table.tested == 13  # the queen's is too rare
    together = table.cells["c", "gradient_x_input", ("", "")]
    assert together.mean_difference == pytest.approx(0.2)
    assert (together.significant, together.tested, together.n_sets) == (2, 2, 40)
    assert table.cells["c", "gradient_x_input", ("he", "she")].significant == 1
    assert table.cells["c", "gradient_x_input", ("king", "queen")].tested == 0


def test_shares_stand_beside_the_published_one(made):
    rows = read_analysis(made.root, made.grid, "dataset_bias")
    shares = shares_of(rows, "geco_subj")
    assert [(share.group, share.share, share.count, share.published) for share in shares] == [
        ("male", 0.6, 120, None),
        ("female", 0.4, 80, 0.476),
    ]
    words = associations_of(rows)
    assert list(words) == ["male"]
    assert [word.word for word in words["male"]] == ["he", "she", "<b>"]
    assert {share.published for share in shares_of(rows, "pairs_all")} == {None}


def test_mlm_scores_of_matched_sets(made):
    (line,) = mlm_lines(read_analysis(made.root, made.grid, "mlm_score"), 0.05)
    assert (line["model"], line["group_a"], line["group_b"], line["n"]) == (
        "c",
        "male",
        "female",
        16,
    )
    assert line["mean_a"] == pytest.approx(10 + 3.5 + 0.5)
    assert line["difference"] == pytest.approx(-1)
    assert (line["significant"], line["tested"]) == (2, 2)
    assert line["likelier"] == pytest.approx((6 + 2 * 0.5) / 8)


class TestPage:
    def test_rounding_noise_is_marked(self, made):
        noisy = seed_test(
            dataset="geco", model="ola", method="gradient_x_input", flags=["rounding_noise"]
        )
        of = study(made)
        of.tests.append(noisy)
        page = page_of("correctness", report_of(made, of)["correctness"], of)
        assert page.count("0.410*") == 1
        assert "* the attributions are zero in exact arithmetic" in page

    def test_every_section_renders_and_escapes_the_text_of_the_data(self, made):
        pages = {id: page_of(id, found, study(made)) for id, found in report_of(made).items()}
        assert set(pages) == set(made.analyses)
        assert "95.7 %" in pages["correctness"]
        assert "<b>" not in pages["dataset_bias"]
        assert "&lt;b&gt;" in pages["dataset_bias"]
        assert "<00>" not in pages["attribution_difference"]

    def test_tables_are_downloaded_whole(self, made):
        found = report_of(made).values()
        exports = {table.name: table for findings in found for table in findings.tables}
        assert set(exports) == {
            "correctness",
            "attribution_differences",
            "cooccurrence",
            "word_associations",
            "mlm_scores",
        }
        for export in exports.values():
            assert export.as_table().num_rows == len(export.rows)
            lines = list(csv.DictReader(export.as_csv().splitlines()))
            assert len(lines) == len(export.rows)
        assert len(exports["correctness"].rows) == 5 * 3 * 9


def test_every_printed_cell_is_found():
    printed = load_study("gecobench2024").values
    assert len(printed) == 10 + 30 + 19
    accuracy = printed[Key("geco_subj", "bert_cefaf", metric="accuracy")]
    assert accuracy.mean == pytest.approx(0.981)
    assert printed[Key("geco_all", metric="bias_c")].mean == 0.499
