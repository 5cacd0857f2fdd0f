"""Progress lines where standard error is no terminal."""

import io
import logging
import sys

import pytest

from exparity.core import progress
from exparity.core.progress import Progress


@pytest.mark.parametrize(
    ("elapsed", "left"), [(30, "about 30.0 s left"), (5175, "about 1.4 h left")]
)
def test_the_time_left_is_in_a_unit_that_readers_use(monkeypatch, caplog, elapsed, left):
    times = iter([0.0, elapsed])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with caplog.at_level(logging.INFO, logger=progress.__name__), Progress(2, "explaining") as bar:
        bar.advance()
    assert f"explaining: 1 of 2 examples, {left}" in caplog.text
    assert "a second" not in caplog.text


def test_a_notebook_shows_a_bar_of_what_takes_long(monkeypatch):
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    monkeypatch.setattr(sys, "stderr", stream())
    with Progress(2, "explaining") as bar:
        bar.advance()
    assert sys.stderr.getvalue() == ""  # it was quick
    monkeypatch.setattr(progress, "_QUIET", 0.0)
    with Progress(2, "explaining") as bar:
        bar.name("explaining by lime")
        bar.advance()
    assert "explaining by lime" in sys.stderr.getvalue()
