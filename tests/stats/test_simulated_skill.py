"""benchmarks/skill.py: its closed forms, and the rows of its table in small."""

import re
from functools import cache
from importlib import import_module

import numpy as np
import pytest

from exparity.metrics.foresight import Foresight
from exparity.metrics.forward_simulation import forward_simulation
from exparity.metrics.limits import best_orders
from exparity.stats.crossed import crossed_tests
from exparity.stats.skill import SCALES, Limits, units_that_count
from exparity.types import Falls

RUNS, FEWER = 12, 3
"""Of rows whose verdicts are counted, and of those whose flags count."""
NO_GAP_OF_R = (
    ("Nothing, by number of trainings and texts", "3 trainings"),
    ("One thing", "temperature 2"),
    ("One thing", "log odds without words −3"),
    ("Exact explanations of few words, or by thresholds", "thresholds, length 12 / 36"),
    ("Errors in proportion to the weights of a text", "words 2 / 5, without words −3"),
)
NO_GAP_OF_SKILL = (
    ("One thing", "temperature 2"),
    ("One thing", "1/4 + p/2"),
    ("One thing", "log odds without words +1"),
)
BLIND = "Noise 0.5 where a class is certain without words"
NOISE_OF_R = (
    (BLIND, "without words +4"),
    (BLIND, "without words +4, noise in the first"),
)


@pytest.fixture(scope="module")
def closed(repository):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(repository / "benchmarks"))
        yield import_module("closed_forms")


@pytest.fixture(scope="module")
def benchmark(repository, closed):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(repository / "benchmarks"))
        yield import_module("skill")


@pytest.fixture(scope="module")
def planted(benchmark):
    return import_module("planted")


@pytest.fixture(scope="module")
def row_of(benchmark, planted):
    """Return a function: a row of the table, which is made once."""

    @cache
    def row(heading, name):
        (setting,) = (row for row in planted.SETTINGS[heading] if row.name == name)
        is_counted = (heading, name) in (*NO_GAP_OF_R, *NO_GAP_OF_SKILL, *NOISE_OF_R)
        return benchmark.table_row(setting, RUNS if is_counted else FEWER, 0)

    return row


FORMS = ("sum", "either", "both", "pair", "saturating")


@pytest.mark.parametrize("form", FORMS)
def test_reference_equals_the_product(closed, form):
    group = closed.Group(n=9, form=form, temperature=2.0)
    texts = closed.drawn(group, 2, 3, np.random.default_rng(0))

    def answer(index, left):
        kept = np.zeros((2, 3, 9), dtype=bool)
        kept.reshape(6, 9)[index] = left
        return closed.answers(texts, closed.totals(texts, kept))[1].ravel()[index]

    def log_odds(sets):
        return [np.array([answer(i, left) for left in rows]) for i, rows in enumerate(sets)]

    expected = best_orders(log_odds, [9] * 6, closed.STAGES, keep=False)
    found = closed.reference_of(texts).reshape(6, 9)
    assert found.tolist() == [order.tolist() for order in expected]


@pytest.mark.parametrize("form", FORMS)
def test_steps_are_those_of_single_texts(closed, form):
    group = closed.Group(n=11, form=form, by_threshold=form == "sum")
    rng = np.random.default_rng(1)
    texts = closed.drawn(group, 2, 4, rng)
    own, reference = (
        closed.falls_of(texts, closed.orders_of(scores)[..., None, :])
        for scores in (texts.shown, texts.weights)
    )
    random = closed.falls_of(texts, closed.orders_of(rng.random((2, 4, 5, 11))))
    taken = closed.sizes_taken(texts)
    of_one = [
        Falls(f.sizes, f.probability[..., 0, :], f.log_odds[..., 0, :]) for f in (own, reference)
    ]
    steps = closed.steps_of(of_one[0], taken, random, of_one[1])
    for at in np.ndindex(2, 4):
        limits = Limits(
            Falls(random.sizes, random.probability[at], random.log_odds[at]),
            Falls(random.sizes, reference.probability[at][0], reference.log_odds[at][0]),
            higher_is_better=True,
        )
        some = taken[at]
        falls = Falls(own.sizes[some], own.probability[at][0][some], own.log_odds[at][0][some])
        for scale in SCALES:
            assert steps[scale][at] == pytest.approx(limits.steps(falls)[scale], abs=1e-12)


def test_the_closed_form_foresees_as_the_metric_does(closed):
    rng = np.random.default_rng(2)
    texts = closed.drawn(closed.Group(n=10, form="either"), 1, 5, rng)
    masks, drops, found = closed.foresight_of(texts, rng)
    assert (masks.sum(axis=-1) == 5).all()
    foresights = [Foresight(*pair, np.nan) for pair in zip(masks, drops[0], strict=True)]
    expected = forward_simulation(list(texts.shown[0]), foresights)
    assert found[0] == pytest.approx(expected, abs=1e-12)
    # The falls are those of the words that are left out.
    left = closed.answers(texts, closed.totals(texts, ~masks[None, :, 0]))[1]
    whole = closed.answers(texts, closed.whole_texts(texts))[1]
    assert drops[0, :, 0] == pytest.approx((whole - left)[0])


def test_tests_are_the_crossed_ones(benchmark):
    rng = np.random.default_rng(3)
    pairs = [(rng.normal(0, 1, (4, 20)), rng.normal(0.3, 1, (4, 30))) for _ in range(3)]
    groups = np.repeat(benchmark.ORDER, [20, 30]).tolist()
    for found, pair in zip(benchmark.tests_of(pairs), pairs, strict=True):
        (expected,) = crossed_tests(list(np.concatenate(pair, axis=1)), groups, benchmark.ORDER)
        for name in ("d", "p_mean", "p_small", "p_large", "p_large_others", "p_cross"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name))


@pytest.mark.parametrize(("heading", "name"), NO_GAP_OF_R)
def test_certainty_and_words_are_no_gap_of_forward_simulation(row_of, heading, name):
    row = row_of(heading, name)
    assert row["worse by r"] == "none"
    assert float(row["wrong by r"].strip("*")) <= 100 * 2 / RUNS


CANNOT_TELL = {
    "Two things": (
        "words 2 / 5, without words −3",
        "words 3 / 5, without words −3",
        "length 3 / 16, one word",
        "three words against the class",
    ),
    "Errors in proportion to the weights of a text": ("words 2 / 5, without words −3",),
}
"""Rows in which skill calls a gap where there is none."""


@pytest.mark.parametrize(("heading", "name"), [(h, n) for h in CANNOT_TELL for n in CANNOT_TELL[h]])
def test_rows_in_which_skill_errs_are_named(row_of, heading, name):
    row = row_of(heading, name)
    assert "`counting_units_differ` 100" in row["flags of skill"]


@pytest.mark.parametrize(("heading", "name"), [
    ("Nothing, by number of trainings and texts", "5 trainings"),
    ("One thing", "temperature 2"),
    ("One thing", "1/4 + p/2"),
    ("One thing", "log odds without words −3"),
    ("Noise", "noise 0.5"),
    ("Noise", "opposite sign"),
])  # fmt: skip
def test_rows_in_which_as_many_words_count_are_not(row_of, heading, name):
    assert "counting" not in row_of(heading, name)["flags of skill"]


def test_noise_that_probability_misses_is_named(row_of):
    for name in ("without words +2, noise in the first", "without words +4, noise in the first"):
        row = row_of(BLIND, name)
        assert row["flags of skill"] == "`probability_cannot_tell` 100"


@pytest.mark.parametrize("form", FORMS)
def test_words_that_count_are_those_of_the_product(closed, form):
    texts = closed.drawn(closed.Group(n=8, form=form), 2, 3, np.random.default_rng(4))
    falls = closed.falls_of(texts, closed.reference_of(texts)[..., None, :])
    reference = Falls(falls.sizes, falls.probability[..., 0, :], falls.log_odds[..., 0, :])
    found = closed.words_that_count(reference)
    for at in np.ndindex(2, 3):
        single = Falls(falls.sizes, reference.probability[at], reference.log_odds[at])
        assert found[at] == pytest.approx(units_that_count(single))


def test_what_was_wrong_before_is_shown(row_of):
    """Exact explanations had a gap at sizes between the tenths."""
    heading = "Exact explanations of few words, or by thresholds"
    row = row_of(heading, "one word, length 12 / 36")
    assert row["wrong before"] == "**100**"
    assert row["wrong by skill"] == "0"


@pytest.mark.parametrize(("heading", "name"), NO_GAP_OF_SKILL)
def test_certainty_alone_is_no_gap_of_skill(row_of, heading, name):
    row = row_of(heading, name)
    assert float(row["wrong by skill"].strip("*")) <= 100 * 2 / RUNS


@pytest.mark.parametrize(("heading", "name"), NOISE_OF_R)
def test_noise_is_foreseen_in_both_directions(row_of, heading, name):
    row = row_of(heading, name)
    _, gap, _ = row["d of r, gap, equivalent"].split(", ")
    assert float(gap) >= 80
    assert row["wrong by r"] == "0"


def test_exact_explanations_are_equivalent_at_their_own_sizes(planted, row_of):
    heading = "Exact explanations of few words, or by thresholds"
    for setting in planted.SETTINGS[heading][2:]:
        row = row_of(heading, setting.name)
        assert row["skill"] == "1.00 1.00"
        assert row["d of skill, gap, equivalent"] == "0.00, 0, 100"


def test_command_prints_named_rows(benchmark, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["skill.py", "--runs", "2", "--rows", "12 and 12 texts"])
    benchmark.main()
    printed = capsys.readouterr().out
    assert printed.count("12 and 12 texts") == 2  # with noise, and without
    assert "**Noise**" in printed


@pytest.fixture(scope="module")
def page(repository):
    """The prose before the table of the page, and its rows by heading and name."""
    text = (repository / "docs" / "calibration.md").read_text()
    prose, _, table = text.partition("## Forward simulation and skill")[2].partition("<!--")
    rows = {}
    for part in re.split(r"^\*\*(?=.+\*\*$)", table.partition("**Room**")[0], flags=re.M)[1:]:
        heading, *lines = part.splitlines()
        head, _, *body = (cells_of(line) for line in lines if line.startswith("|"))
        rows[heading.strip("*")] = {name: dict(zip(head[1:], cells, strict=True))
                                    for name, *cells in body}  # fmt: skip
    return prose, rows


def share_of_gaps(row, quantity):
    return float(row[f"d of {quantity}, gap, equivalent"].split(", ")[1])


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_the_page_has_all_rows(page, planted):
    expected = {h: [row.name for row in rows] for h, rows in planted.SETTINGS.items()}
    assert {heading: [*rows] for heading, rows in page[1].items()} == expected


def test_the_page_names_what_skill_cannot_tell_and_forward_simulation_never_errs(page):
    prose, rows = page
    err = set()
    for heading, by_name in rows.items():
        for name, row in by_name.items():
            assert "*" not in row["wrong by r"]
            if "*" in row["wrong by skill"]:
                assert "`counting_units_differ` 100" in row["flags of skill"]
                err.add((heading, name))
    assert {(heading, name) for heading in CANNOT_TELL for name in CANNOT_TELL[heading]} <= err
    assert len(err) == 6
    assert " in six rows" in prose
    for _, name in err:
        assert f"*{name.partition(', without words')[0]}*" in prose


def test_the_page_shows_that_noise_is_found_in_both_directions(page):
    noisy = [row for row in page[1][BLIND].values() if row["worse by r"] != "none"]
    assert {row["worse by r"] for row in noisy} == {"first", "second"}
    for row in noisy:
        assert share_of_gaps(row, "r") >= 80
        if share_of_gaps(row, "skill") < 80:
            assert "`probability_cannot_tell` 100" in row["flags of skill"]
