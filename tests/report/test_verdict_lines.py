"""Lines beside a verdict: ceilings of groups, and the verdict among rightly predicted texts."""

import math

import pytest
from made_up import verdict_row

from exparity.report.terminal import verdicts_of
from exparity.report.verdicts import ceiling_line, certainty, notes_of, nothing_found, right_line


def foreseen(verdict="different", right="different", **changes):
    facts = {"share_right_a": 0.98, "share_right_b": 0.46, "length_d": -0.1}
    facts |= {"certainty_d": 0.9, "surer_of": "a"}
    facts |= {"ceiling_a": 0.52, "ceiling_b": 0.46, "right_mean_a": 0.3, "right_mean_b": 0.296}
    facts |= {"verdict_right": right, "right_d": 0.02, "metric": "forward_simulation"}
    return verdict_row(verdict, **{**facts, **changes})


def test_ceilings_are_named_and_the_group_that_is_harder_to_foresee():
    line = "The best additive explanation found would reach 0.52 for a and 0.46 for b."
    assert ceiling_line(foreseen()) == line
    harder = foreseen(flags=["ceilings_differ"])
    assert ceiling_line(harder) == (
        f"{line} The classifier itself is harder to foresee on b texts."
    )
    assert ceiling_line(foreseen(ceiling_a=math.nan)) == ""


@pytest.mark.parametrize(
    ("right", "words"),
    [("equivalent", "equivalent (a 0.3, b 0.296; d = 0.02)."), (None, "not tested.")],
)
def test_the_verdict_among_rightly_predicted_texts_has_their_shares(right, words):
    start = "Among the texts that are predicted rightly (98.0 % of a and 46.0 % of b): "
    assert right_line(foreseen(right=right)) == start + words
    assert right_line(foreseen(share_right_a=math.nan)) == ""


def test_gaps_that_are_not_found_are_those_of_the_metric_that_comes_first():
    facts = {"quantity": "score", "metric_kind": "simulatability"}
    facts |= {"minimal_detectable_effect_corrected": 0.61}
    text = nothing_found([foreseen("undecided", **facts)], one_training=False)
    assert "no gap between groups by forward simulation is shown. That" in text
    assert text.endswith("half of the comparisons would have shown a mean gap of 0.61.")
    other = foreseen("undecided", metric="gini", metric_kind="complexity")
    assert "by forward simulation" not in nothing_found([other], one_training=False)


def test_shares_and_length_are_beside_certainty():
    (words,) = [certainty([foreseen()])]
    assert words == "m is surer of a (gap +0.90; right for 98 and 46 %; number of words: gap −0.10)"


def test_units_that_count_are_beside_certainty():
    """Rows of skill alone know their number, and those of other metrics may come first."""
    words = certainty([foreseen(), foreseen(quantity="skill", counting_d=-1.2)])
    assert words.endswith("number of words: gap −0.10; units that count: gap −1.20)")
    flagged = foreseen(quantity="skill", flags=["counting_units_differ"])
    (note,) = notes_of(flagged)
    assert note.startswith("More words or tokens count in the texts of one group")


def test_the_terminal_names_verdicts_that_are_others_among_rightly_predicted_texts():
    rows = [foreseen(right="equivalent"), foreseen(method="shap")]
    lines = [str(part) for part in verdicts_of(rows, 0.2, 0.95)]
    (line,) = [line for line in lines if "Among the texts" in line]
    assert line.startswith("m, lime, forward_simulation. ")
    assert sum("would reach 0.52" in line for line in lines) == 1
