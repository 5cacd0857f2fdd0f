"""Shares of significant and of considerable runs, against counts of the shipped tables."""

import csv
from dataclasses import replace
from types import SimpleNamespace

import pytest
from published.made_up import cell_match, compare, page_of, rows_like
from report.reading import Page

from exparity.artefacts.files import save_export
from exparity.published.output import comparison_tables
from exparity.published.shares import claims_of, run_shares
from exparity.published.study import SCRATCH, published_table

TOTAL = 5040
# What the text says and its own tables do not: section, question, metric of the runs.
NOT_HELD = {
    ("5", "significant", ""),
    ("5.2.1", "considerable", "soft_comprehensiveness soft_sufficiency"),
    ("5.2.3", "considerable", "sensitivity"),
}


@pytest.fixture(scope="module")
def shares(equal):
    return {(share.by, share.group): share for share in equal.shares}


@pytest.mark.reference
class TestShares:
    def test_counts_of_the_raw_tables(self, shares):
        rows = [row for row in published_table("dhaini2025", "disparity") if row["table"] in "345"]
        for by in ("method", "metric"):
            for group in {row[by] for row in rows}:
                runs = [row for row in rows if row[by] == group]
                hits = sum(int(row["significant_runs"]) for row in runs)
                share = shares[by, group]
                assert share.runs_in_tables == sum(int(row["total_runs"]) for row in runs)
                assert share.significant_in_tables == pytest.approx(hits / share.runs_in_tables)
        assert shares["all", ""].runs_in_tables == TOTAL
        assert shares["all", ""].significant_in_tables == pytest.approx(3515 / TOTAL)

    def test_considerable_runs_are_significant_ones_of_considerable_cells(self, study, shares):
        for method in study.names("method"):
            known = [
                cell
                for key, cell in study.cells.items()
                if key.method == method and not key.model.endswith(SCRATCH)
            ]
            hits = sum(cell.significant * (abs(cell.mean or 0) >= 0.2) for cell in known)
            expected = hits / sum(cell.runs for cell in known)
            assert shares["method", method].considerable_in_tables == pytest.approx(expected)

    def test_equal_results_have_equal_shares(self, equal, shares):
        assert shares["all", ""].cells == len(equal.matches)
        for share in shares.values():
            assert share.significant_ours == share.significant_published
            assert share.considerable_ours == share.considerable_published
            assert share.runs_ours == share.runs_in_tables

    def test_only_cells_of_ours_count_beside_ours(self, study):
        cells = [c for key, c in study.cells.items() if key.dataset == "compas"][:10]
        rows = [row for cell in cells for row in rows_like(cell)]
        comparison = compare(rows)
        share = comparison.shares[0]
        assert (share.cells, share.runs_ours, share.runs_in_tables) == (10, 50, TOTAL)
        expected = sum(cell.significant for cell in cells) / 50
        assert share.significant_published == pytest.approx(expected)
        nothing = [share for share in comparison.shares if not share.cells]
        assert {share.significant_ours for share in nothing} == {None}

    def test_considerable_is_counted_by_runs_not_cells(self, study):
        match = cell_match(
            significant_ours=3,
            total_ours=5,
            considerable_ours=True,
            significant_published=4,
            total_published=5,
            considerable_published=False,
        )
        unknown = replace(match, considerable_published=None, significant_ours=5)
        share = run_shares(study, [match, unknown])[0]
        assert share.significant_ours == pytest.approx(8 / 10)
        assert share.considerable_ours == pytest.approx(3 / 5)
        assert share.considerable_published == 0


class TestClaims:
    def test_what_the_tables_of_the_study_say_of_its_text(self, study):
        claims = claims_of(study, [])
        assert len(claims) == 33
        refuted = {(c.section, c.question, c.metric) for c in claims if c.holds is False}
        assert refuted == NOT_HELD
        unknown = {(c.section, c.question) for c in claims if c.holds is None}
        assert unknown == {("5", "considerable"), ("5.1", "considerable")}
        for claim in claims:
            assert (claim.lowest < claim.highest) == (claim.holds is None)
            assert claim.ours is None

    def test_shares_of_the_tables_are_those_counted_by_hand(self, study):
        claims = {(c.section, c.question, c.dataset, c.metric): c for c in claims_of(study, [])}
        gini = claims["5.2.2", "considerable", "geco_all geco_subj", "gini"]
        assert (gini.runs, gini.lowest) == (300, pytest.approx(0.53))
        soft = "soft_comprehensiveness soft_sufficiency"
        assert claims["5.2.1", "significant", "compas", soft].lowest == pytest.approx(119 / 300)
        total = claims["5", "considerable", "", ""]
        assert total.lowest * TOTAL == pytest.approx(2173)
        assert total.highest * TOTAL == pytest.approx(2173 + 696)

    def test_ours_is_beside_each(self, equal):
        for claim in equal.claims:
            assert claim.runs_ours == claim.runs
            if claim.question == "significant":
                assert claim.ours == pytest.approx(claim.lowest)

    def test_a_study_without_a_text_has_none(self, study):
        silent = SimpleNamespace(id="gecobench2024", cells=study.cells)
        assert claims_of(silent, []) == []


def test_exports_and_page_show_every_share(equal, tmp_path):
    exports = {export.name: export for export in comparison_tables(equal)}
    for name in ("shares", "claims"):
        save_export(exports[name], tmp_path, {})
        with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(exports[name].rows) > 0
    tables = Page(page_of("published", cells=equal)).tables
    runs, claims = tables[1:]
    texts = [" ".join(" ".join(cell) for cell, _ in row) for row in runs["rows"]]
    for share in equal.shares:
        if share.by in ("all", "method", "metric"):
            percents = f"{100 * share.significant_ours:.1f}\u00a0%"
            assert any(percents in text for text in texts), share.group
    assert len(texts) == 2 + 1 + 6 + 7
    assert len(claims["rows"]) == 1 + len(equal.claims)
