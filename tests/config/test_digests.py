"""What the results of a stage are outdated by."""

import pytest

from exparity.artefacts.analyses import ANALYSES
from exparity.config import digests
from exparity.core import digest

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    ("analysis", "module"),
    [
        ("compare", "quantities/skill.py"),
        ("compare", "quantities/scores.py"),
        ("compare", "stats/crossed.py"),
        ("compare", "stages/compare/_tests.py"),
        ("ranking", "quantities/scores.py"),
        ("worst_group", "quantities/random_scores.py"),
    ],
)
def test_a_change_of_what_is_compared_outdates_an_analysis(analysis, module, monkeypatch):
    source = ANALYSES.get(analysis).source
    counted = []
    monkeypatch.setattr(digests, "source_digest", lambda *files: counted.extend(files))
    digests.analysis.__wrapped__(source)
    assert (digest._ROOT / module).resolve() in counted
