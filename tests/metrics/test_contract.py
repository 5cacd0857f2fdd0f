"""A metric is held to what it declares, and cannot change what it is given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import exparity
from exparity import ExparityError, Explanation
from exparity.core.registry import load_plugin
from exparity.metrics import METRICS

INF = float("inf")


@pytest.fixture
def explanation():
    return Explanation(
        text="a b",
        target=1,
        token_ids=[1, 2],
        tokens=["a", "b"],
        scores=[1, 3],
        special_mask=[False, False],
        rationale=[1, 0],
    )


@pytest.fixture
def replaced(monkeypatch):
    """Return a function that puts another function, and other bounds, in a metric's place."""

    def replace(metric, function, bounds=(0.0, 1.0)):
        entry = METRICS.get(metric)
        facts = dataclasses.replace(entry.facts, bounds=bounds)
        broken = dataclasses.replace(entry, function=function, facts=facts)
        monkeypatch.setitem(METRICS._entries, metric, broken)

    return replace


@pytest.mark.parametrize(
    ("returned", "bounds", "message"),
    [
        (0.5, (0, 1), "one value per explanation"),
        ([[0.5]], (0, 1), "one value per explanation"),
        (["0.5"], (0, 1), "one value per explanation, a number"),
        ([0.5j], (0, 1), "one value per explanation, a number"),
        ([None], (0, 1), "one value per explanation, a number"),
        ([INF], (0, INF), r"gives inf, and says bounds=\(0, inf\); undefined values are NaN"),
        ([-INF], (-INF, INF), r"gives -inf"),
        ([1.5], (0, 1), r"metric gini: gives 1.5, and says bounds=\(0, 1\)"),
        ([-1e-6], (0, 1), r"gives -1e-06"),
    ],
)
def test_what_is_not_declared_is_refused(replaced, explanation, returned, bounds, message):
    replaced("gini", lambda scores, mask: returned, bounds)
    with pytest.raises(ExparityError, match=message):
        exparity.evaluate(None, [explanation], "gini")


@pytest.mark.parametrize("value", [np.nan, 1.0, 1 + 1e-12, -1e-12, True, 0])
def test_undefined_values_and_rounding_are_not(replaced, explanation, value):
    replaced("gini", lambda scores, mask: [value])
    np.testing.assert_array_equal(exparity.evaluate(None, [explanation], "gini"), [value])


def adding(*arrays):
    arrays[0][:] += 1


def reach(read):
    def write(batch):
        read(batch)[...] = 0

    return write


@pytest.mark.parametrize(
    ("metric", "function"),
    [
        ("gini", adding),
        ("gini", lambda scores, mask: np.negative(mask, out=scores)),
        ("gini", lambda scores, mask: mask.sort()),
        ("mass_accuracy", adding),
        ("mass_accuracy", lambda scores, rationale, words: rationale.fill(True)),
        *(
            ("sufficiency", reach(read))
            for read in (
                lambda batch: batch.token_ids[0],
                lambda batch: batch.scores[0],
                lambda batch: batch.content_masks[0],
                lambda batch: batch.targets,
                lambda batch: batch.explanations[0].scores,
                lambda batch: batch.explanations[0].word_ids,
                lambda batch: batch.explanations[0].rationale,
            )
        ),
    ],
)
def test_inputs_cannot_be_written_to(replaced, classifiers, explanation, metric, function):
    replaced(metric, function)
    with pytest.raises(ExparityError, match=f"^'{metric}' in .*: writes to a read-only array"):
        exparity.evaluate(classifiers["bert"], [explanation], metric)


def test_arrays_of_the_caller_stay_as_they_are():
    scores, ids = np.array([1.0, 3.0]), np.array([1, 2])
    Explanation(text="a b", target=1, token_ids=ids, tokens=["a", "b"], scores=scores)
    scores[0], ids[0] = 2.0, 3


def test_an_exception_of_a_plug_in_is_one_line_that_leads_to_it(tmp_path, explanation, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text(
        "from exparity.metrics import metric\n"
        "@metric('broken', direction='higher', bounds=(0, 1), unit='u', kind='complexity',\n"
        "        needs='attributions', stochastic=False, reference='mine')\n"
        "def broken(scores, mask):\n"
        "    'Nothing.'\n"
        "    return {}['nothing\\nof that name']\n"
    )
    METRICS.ids()
    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))
    load_plugin(str(file))
    with pytest.raises(ExparityError) as error:
        exparity.evaluate(None, [explanation], "broken")
    assert str(error.value) == (f"'broken' in {file}, line 6: KeyError: 'nothing\\nof that name'")
