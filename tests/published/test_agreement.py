"""Rates of agreement against hand counts, naive loops and independent implementations."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from exparity.published.cells import QUESTIONS, MatchedCell, agreements
from exparity.published.study import Key, Value
from exparity.stats.seeds import SeedCounts

THEIRS = Value(
    Key("geco_all", "bert", "lime", "gini"), 0.5, 0.1, 5, "3", 5, True, "8", "sufficiency"
)
OURS = SeedCounts(5, 5, 0.5, 1, True, ())


def match(ours=OURS, theirs=THEIRS):
    return MatchedCell(theirs.key[:4], ours, 20, theirs)


def overall(found, question):
    (answer,) = [a for a in found if a.question == question and a.by == "all"]
    return answer


class TestDecisions:
    def test_direction_needs_a_majority_and_a_sign_on_both_sides(self):
        ask = QUESTIONS["direction"]
        assert ask(match()) == (True, True)
        assert ask(match(replace(OURS, mean_d=-0.5, direction=-1))) == (False, True)
        assert ask(match(theirs=replace(THEIRS, mean=-0.01))) == (True, False)
        for without in (
            match(replace(OURS, significant=2)),
            match(theirs=replace(THEIRS, significant=2)),
            match(theirs=replace(THEIRS, mean=0.0)),
            match(theirs=replace(THEIRS, mean=-0.0)),
            match(theirs=replace(THEIRS, mean=None)),
            match(replace(OURS, mean_d=None, direction=0)),
        ):
            assert ask(without) is None

    def test_considerable_needs_what_was_published(self):
        ask = QUESTIONS["considerable"]
        assert ask(match()) == (True, True)
        assert ask(match(replace(OURS, considerable=False))) == (False, True)
        assert ask(match(theirs=replace(THEIRS, considerable=None))) is None


def matches_of(decisions):
    return [
        match(
            replace(OURS, significant=5 * ours),
            replace(THEIRS, significant=5 * theirs, key=THEIRS.key._replace(method=f"m{i % 3}")),
        )
        for i, (ours, theirs) in enumerate(decisions)
    ]


class TestRates:
    def test_by_hand(self):
        # 4 both, 1 ours only, 2 theirs only, 3 neither: (4 + 3) / 10 agree;
        # by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5, so κ = (0.7 − 0.5) / 0.5.
        decisions = [(1, 1)] * 4 + [(1, 0)] + [(0, 1)] * 2 + [(0, 0)] * 3
        answer = overall(agreements(matches_of(decisions)), "significant")
        assert (answer.n, answer.agree) == (10, 7)
        assert answer.expected == pytest.approx(0.5)
        assert answer.kappa == pytest.approx(0.4)

    @given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
    def test_properties(self, decisions):
        found = agreements(matches_of(decisions))
        answer = overall(found, "significant")
        assert answer.agree == sum(a == b for a, b in decisions)
        ours, theirs = zip(*decisions, strict=True)
        if answer.kappa is None:
            assert len(set(ours)) == len(set(theirs)) == 1
            assert ours[0] == theirs[0]
        else:
            assert answer.kappa == pytest.approx(cohen_kappa_score(ours, theirs), abs=1e-12)
        # parts make up the whole
        parts = [a for a in found if (a.question, a.by) == ("significant", "method")]
        assert sum(a.n for a in parts) == answer.n
        assert sum(a.agree for a in parts) == answer.agree
        # who is asked first does not matter
        turned = overall(agreements(matches_of([(b, a) for a, b in decisions])), "significant")
        assert turned.kappa == pytest.approx(answer.kappa) or answer.kappa is None
