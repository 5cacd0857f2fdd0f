"""Verdicts on page and terminal: a new one is a row of data, and no drawing judges."""

import re

import pytest
from made_up import config, make_study, options_of
from report.pages import page_of
from report.reading import data_of
from report.test_findings import row

from exparity.artefacts.files import read_artefact
from exparity.report.verdicts import counts_of, missed_line
from exparity.stats import verdicts
from exparity.stats.verdicts import VERDICTS, Verdict
from exparity.tools.cost import cost
from exparity.tools.show import show

SETTINGS = {
    **config(datasets=1, models=1, seeds=2, methods=2, metrics=2),
    "report": {"figures": False},
}
ODD = Verdict(
    "odd",
    "Odd one out",
    "Odd in general, above {threshold:g}.",
    "The mean gap is {d:+.2f}, an odd one for {favoured}.",
    "This one is odd.",
    "bad",
    is_gap=True,
    favours=True,
    settles=True,
    claims=(),
)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A small study that was judged with one verdict more than there are."""
    monkeypatch.setattr(verdicts, "VERDICTS", (ODD, *VERDICTS))
    folder = tmp_path / "results"
    make_study(folder, SETTINGS, pairs=8)
    cost(folder)
    return folder


def test_a_verdict_is_added_by_its_data_alone(results, capsys, monkeypatch):
    """What it is called, says and looks like is nowhere else."""

    def judge(*_, **__):
        raise AssertionError("judged while the page is drawn")

    monkeypatch.setattr(verdicts, "judge", judge)
    text = page_of(results, options_of(SETTINGS)).read_text()
    judged = read_artefact(results / "verdicts.parquet", "verdicts")[0].to_pylist()
    assert {r["verdict"] for r in judged} == {"odd"}
    counted = "Decided: <strong>4</strong> of 4 comparisons: <strong>4</strong> odd one out"
    assert re.search(counted, text)
    assert '<th scope="col" class="r">Odd one out</th>' in text
    assert "<dt>Odd one out</dt> <dd>Odd in general, above 0.2.</dd>" in text
    tile = r'<td class="n s\d [ab][^>]*data-cell="\d"[^>]*><span[^>]*>[^<]*</span><small>odd'
    assert len(re.findall(tile, text)) == 4
    cells = data_of(text)["disparity"]["cells"]
    assert all("an odd one for" in sentence for sentence in cells["excess.sentence"])
    assert "whether male and female texts differ is open" not in text  # it is a gap

    capsys.readouterr()
    show(results)
    shown = capsys.readouterr().out
    assert "decided 4 of 4 comparisons (strict: 4): 4 odd one out, 0 equivalent" in shown
    assert len(re.findall(r"(?m) odd: \w+±?$", shown)) == 4
    assert "Odd one out: Odd in general, above 0.2." in shown


def test_cells_are_counted_by_quantity_and_verdict():
    rows = [
        row("different", verdict_strict="different"),
        row("undecided"),
        row("equivalent"),
        row(None),
        row("unstable", quantity="random_excess"),
        row("different", quantity="skill", stands=False),
    ]
    counted, of_random, of_skill, of_scores = counts_of(rows)
    assert (of_random.quantity, of_random.decided, of_random.total) == ("random_stands", 1, 1)
    assert (of_skill.quantity, of_skill.total) == ("skill", 1)
    assert (counted.decided, counted.strict, counted.total, counted.n_seeds) == (2, 1, 4, 3)
    assert counted.by_verdict == of_scores.by_verdict
    assert list(counted.by_verdict) == [one.id for one in VERDICTS]


def test_what_trainings_may_miss():
    said = {n: missed_line(n) for n in (1, 3, 5, 20)}
    assert said[1] == ""
    assert all(
        f"fewer than {share} % of cases" in said[n] for n, share in ((3, 63), (5, 45), (20, 14))
    )
