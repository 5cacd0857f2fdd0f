"""Input that hypothesis draws for statistics: ties, absent groups, single rows, missing values."""

import math

import numpy as np
from hypothesis import strategies as st

from exparity.stats.causal_bias import CounterfactualPrediction

GROUPS = ("b", "a", "d", "c")  # not sorted: the declared order counts
CLASSES = ("no", "yes", "maybe", "never")
# Eighths: sums are exact, so that equal values stay equal whatever is added to them.
EIGHTHS = st.integers(-80, 80).map(lambda i: i / 8)
VALUES = st.one_of(EIGHTHS, EIGHTHS, EIGHTHS, st.just(math.nan))
SETS = st.one_of(st.none(), st.integers(0, 5).map(str))


@st.composite
def scores(draw, n_groups=2, seeds=0, least=0):
    """Columns of scores of texts, of several trainings if there are ``seeds``."""
    n = draw(st.integers(least, 25))
    of_text = st.lists(VALUES, min_size=n, max_size=n)
    if seeds:
        count = draw(st.integers(1, seeds))
        values = np.array([draw(of_text) for _ in range(count)]).reshape(count, n)
    else:
        values = np.array(draw(of_text), dtype=float)
    order = GROUPS[:n_groups]
    return {
        "values": values,
        "groups": draw(st.lists(st.sampled_from(order), min_size=n, max_size=n)),
        "pairs": draw(st.one_of(st.none(), st.lists(SETS, min_size=n, max_size=n))),
        "order": order,
    }


@st.composite
def predictions(draw, least_groups=2):
    """Columns of predictions: arguments of ``model_bias``."""
    order = GROUPS[: draw(st.integers(least_groups, 4))]
    classes = CLASSES[: draw(st.integers(2, 4))]
    n = draw(st.integers(1, 20))
    index = st.integers(0, len(classes) - 1)
    weights = st.lists(st.integers(0, 5), min_size=len(classes), max_size=len(classes))
    rows = draw(st.lists(weights.filter(any), min_size=n, max_size=n))
    return {
        "labels": draw(st.lists(index, min_size=n, max_size=n)),
        "predicted": draw(st.lists(index, min_size=n, max_size=n)),
        "probabilities": [[w / sum(row) for w in row] for row in rows],
        "groups": draw(st.lists(st.sampled_from(order), min_size=n, max_size=n)),
        "order": order,
        "classes": classes,
        "pairs": draw(st.lists(SETS, min_size=n, max_size=n)) if draw(st.booleans()) else None,
    }


@st.composite
def counterfactuals(draw, complete=False):
    """Predictions, and those of other groups, of which some are missing unless ``complete``."""
    given = draw(predictions())
    classes = len(given["classes"])
    shares = st.lists(st.integers(0, 5), min_size=classes, max_size=classes).filter(any)
    given["counterfactuals"] = [
        CounterfactualPrediction(
            i,
            to,
            draw(st.integers(0, classes - 1)),
            draw(shares.map(lambda row: [w / sum(row) for w in row])),
            draw(st.integers(0, 2)),
        )
        for i, own in enumerate(given["groups"])
        for to in given["order"]
        if to != own and (complete or draw(st.integers(0, 5)))
    ]
    return given


def keyed(rows):
    """Rows of bias by what they are of, each of which there is once."""
    found = {(r.quantity, r.group, r.group_b, r.class_name): r for r in rows}
    assert len(found) == len(rows)
    return found
