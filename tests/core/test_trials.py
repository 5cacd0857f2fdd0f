"""A trial is made once for what it reads, in a process and in those that learn from it."""

import pytest

from exparity.core import trials


@pytest.fixture(autouse=True)
def _nothing_tried(monkeypatch):
    monkeypatch.setattr(trials, "_known", {})


def test_a_trial_is_made_once_for_each_key():
    made = []

    def trial():
        made.append(True)
        return len(made) == 1, False

    assert trials.outcome_of(trial, "size", 64, True) == [True, False]
    assert trials.outcome_of(trial, "size", 64, True) == [True, False]
    assert trials.outcome_of(trial, "size", 32, True) == [False, False]
    assert len(made) == 2


def test_a_trial_that_fails_is_made_again():
    def failing():
        raise ValueError("wrong")

    for _ in range(2):
        with pytest.raises(ValueError, match="wrong"):
            trials.outcome_of(failing, "model")
    assert trials.outcome_of(lambda: [True], "model") == [True]


def test_another_process_learns_what_is_new():
    trials.outcome_of(lambda: [True], "old")
    earlier = trials.outcomes()
    trials.outcome_of(lambda: [False], "new")
    news = trials.since(earlier)
    assert [*news.values()] == [[False]]
    trials._known.clear()
    trials.take_in(news)
    assert trials.outcome_of(lambda: [True], "new") == [False]
    assert trials.outcome_of(lambda: [True], "old") == [True]
