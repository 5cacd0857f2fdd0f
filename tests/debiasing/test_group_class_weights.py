"""Reweighting: independence of group and class; weights by hand are those of copies."""

from collections import defaultdict

import numpy as np
import pytest
from debiasing.examples import content_of, training_set_of
from hypothesis import given
from hypothesis import strategies as st

from exparity.debiasing import apply

WEIGH = [{"use": "group_class_weights"}]
full_tables = st.builds(
    lambda counts: {(i // 2, ("male", "female")[i % 2]): n for i, n in enumerate(counts)},
    st.lists(st.integers(1, 12), min_size=6, max_size=6),
)


def weighted(training_set, of):
    """Sum of weights by what ``of`` says of an example."""
    sums = defaultdict(float)
    for example, weight in zip(training_set.examples, training_set.weights, strict=True):
        sums[of(example)] += weight
    return sums


@pytest.mark.property
@given(sizes=full_tables, data=st.data())
def test_group_and_class_become_independent(sizes, data):
    plain = training_set_of(sizes, groups=("male", "female"))
    after = apply(plain, WEIGH)
    n = len(plain.examples)
    assert after.weights.sum() == pytest.approx(n, abs=1e-9)
    both = weighted(after, lambda example: (example.label, example.group))
    of_class = weighted(after, lambda example: example.label)
    of_group = weighted(after, lambda example: example.group)
    for (label, group), weight in both.items():
        assert abs(weight / n - of_class[label] / n * of_group[group] / n) < 1e-12
    order = data.draw(st.permutations(range(n)))
    assert content_of(apply(plain.take(order), WEIGH)) == content_of(after)


def test_weights_that_there_are_count(caplog):
    plain = training_set_of({(0, "male"): 3, (1, "male"): 2, (1, "female"): 2})
    twice, once = apply(plain, WEIGH * 2), apply(plain, WEIGH)
    np.testing.assert_allclose(twice.weights, once.weights**2, rtol=1e-15)
    # A cell without an example is named, once a run.
    assert "no training example of class0/female, " in caplog.records[0].getMessage()
    assert len(caplog.records) == 3
