"""Where a run reads and writes: folders that it may not write to."""

import pytest

pytestmark = pytest.mark.workflow


def test_a_home_that_cannot_be_written_does_not_matter(finished, monkeypatch):
    """Snakemake keeps a cache there, unless the profile says otherwise."""
    home = finished.root / "home"
    home.touch()  # no folder, for root as for everyone
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert finished.plan() == {}
