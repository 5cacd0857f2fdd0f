"""Wrong verdicts in families, half of whose cells have an excess that certainty makes differ."""

from importlib import import_module

import numpy as np
import pytest

pytestmark = pytest.mark.property

RUNS = 2000
SEEDS = 5


@pytest.fixture(scope="module")
def calibration(repository):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(repository / "benchmarks"))
        yield import_module("calibration")


def wrong_shares(calibration, name, cells, runs):
    """Share of the decided cells of each family that is wrong, (runs,)."""
    truth, rng = calibration.TRUTHS[name], np.random.default_rng(0)
    shares = []
    for rows, differs in calibration.judged_families(truth, cells, SEEDS, runs, rng):
        assert len(rows) == cells  # an excess beside a skill does not stand
        verdicts = [row["verdict"] for row in rows]
        wrong = [
            calibration.is_wrong(v, truth, own) for v, own in zip(verdicts, differs, strict=True)
        ]
        shares.append(sum(wrong) / max(1, sum(v != "undecided" for v in verdicts)))
    return np.array(shares)


def held_to(shares, most):
    most_spread = np.sqrt(most * (1 - most))  # of shares in [0, 1] with such a mean
    assert shares.mean() <= most + 3 * most_spread / np.sqrt(len(shares))


@pytest.mark.parametrize(
    ("truth", "cells", "runs"),
    [("at the threshold", 1, 200), ("no gap", 12, 40), ("a third differs", 12, 40)],
)
def test_at_most_one_decided_cell_in_twenty_is_wrong(calibration, truth, cells, runs):
    held_to(wrong_shares(calibration, truth, cells, runs), 0.05)


@pytest.mark.exhaustive
@pytest.mark.parametrize("cells", [6, 12, 42])
@pytest.mark.parametrize("truth", ["no gap", "a third differs", "at the threshold"])
def test_in_families_of_any_size(calibration, truth, cells):
    held_to(wrong_shares(calibration, truth, cells, RUNS), 0.05)


def test_certainty_does_not_lower_the_bar_for_others(calibration):
    """One of twelve cells without a gap differs as rarely as in a family of its own."""
    truth, rng = calibration.TRUTHS["no gap"], np.random.default_rng(1)
    found = [
        any(row["verdict"] == "different" for row in rows)
        for rows, _ in calibration.judged_families(truth, 12, SEEDS, 40, rng)
    ]
    held_to(np.array(found), 0.025)
