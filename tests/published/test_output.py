"""Output of the command, and the section of the page."""

import re

import pytest
from published.made_up import compare, page_of, row, rows_like, write_report

from exparity import cli
from exparity.artefacts.grid import Grid
from exparity.published.output import comparison_summary


class TestCommand:
    def test_the_command_prints_and_writes_the_comparison(self, capsys, tmp_path, study):
        cells = [c for c in study.cells.values() if c.key.model.endswith("_scratch")]
        write_report(tmp_path, [r for c in cells for r in rows_like(c)])
        command = ["compare-published", str(tmp_path), "--output", str(tmp_path / "out")]
        assert cli.main(command) == 0
        out, err = capsys.readouterr()
        assert f"wrote {tmp_path / 'out'} in " in err
        assert "168 of our cells are compared with 168 of 1,008 published ones" in out
        assert "labels of Tables 8 and 9 are corrected" in out
        assert re.search(r"significant in most seeds +all +168 +168 +100\.0 %", out)
        assert str(tmp_path / "out") in out
        assert len((tmp_path / "out" / "cells.csv").read_text().splitlines()) == 169

    @pytest.mark.parametrize(
        ("arguments", "parts"),
        [
            ((), ("no result has a counterpart in dhaini2025", "model other", "--map")),
            (("--study", "dhaini"), ("no published study 'dhaini'", "'dhaini2025'")),
            (("--map", "x=bert"), ("--map x=bert", "known: other")),
            (("--map", "other=brt"), ("the study has no model 'brt'", "'bert'")),
        ],
    )
    def test_bad_input_gets_one_line(self, refused, tmp_path, arguments, parts):
        write_report(tmp_path, [row(("geco_all", "other", "lime", "gini"), 0, 0.01, 0.5)])
        line = refused("compare-published", tmp_path, *arguments)
        assert all(part in line for part in parts)


def test_sizes_of_tests_are_said():
    cells = [("geco_all", "bert", "lime", "gini"), ("geco_all", "bert", "shap", "gini")]
    rows = [row(c, 0, 0.01, 0.5, n_examples=n) for c, n in zip(cells, (80, 1234), strict=True)]
    found = compare(rows, Grid())
    for said in (comparison_summary(found), page_of("published", cells=found)):
        assert "test of ours: 80 to 1,234;" in said
    assert "test of ours: 80;" in comparison_summary(compare(rows[:1], Grid()))


def test_agreement_is_shown_of_all_cells_and_by_dataset(equal, study):
    text = page_of("published", cells=equal)
    first_table = text[: text.index("</table>")]
    heads = re.findall(r'<th scope="row">([^<]*)</th>', first_table)
    assert heads[0] == "All"
    assert len(heads) == 1 + len(study.names("dataset"))
    assert f"({len(study.cells)} of {len(study.cells)})" in text
