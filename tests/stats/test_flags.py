"""Flags: each that is raised has a meaning, and few keep a test from counting."""

import re
from pathlib import Path

import pytest

import exparity
from exparity.report.verdicts import meaning_of
from exparity.stats.flags import FLAGS
from exparity.stats.informative import UNINFORMATIVE, is_informative

RAISED = re.compile(r'flags\.append\("(\w+)"\)')
SOURCE = Path(exparity.__file__).parent


def raised():
    """Return the flags that the code of statistics and stages appends by name."""
    files = [*SOURCE.glob("stats/*.py"), *SOURCE.glob("quantities/*.py")]
    return sorted({flag for file in files for flag in RAISED.findall(file.read_text())})


@pytest.mark.contract
def test_each_flag_that_is_raised_has_a_meaning():
    assert "driven_by_one_training" in raised()
    assert not {*raised()} - {*FLAGS}


def test_the_training_that_drives_a_verdict_is_explained():
    assert meaning_of("driven_by_one_training").startswith("without the training of the largest")
    assert meaning_of("one_training").startswith("there is a single training")


def test_a_test_counts_unless_a_flag_says_otherwise():
    assert UNINFORMATIVE == ("collapsed", "constant", "label_mass_low", "rounding_noise")
    assert is_informative(["cut_texts"])
    assert not is_informative(["cut_texts", "collapsed"])
