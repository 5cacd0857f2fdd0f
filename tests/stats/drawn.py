"""Input of statistics: what hypothesis draws, and predictions; bias by what it is of.

Drawn are ties, absent groups, single rows and missing values.
"""

import math

import numpy as np
from hypothesis import strategies as st

from exparity.stats.bootstrap import Draws
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.model_bias import model_bias
from exparity.stats.predictions import predictions_of

GROUPS = ("b", "a", "d", "c")  # not sorted: the declared order counts
BIAS = ("labels", "predicted", "probabilities", "groups", "order", "classes", "pairs")
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
def counterfactuals(draw):
    """Predictions, and those of other groups, of which some are missing."""
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
        if to != own and draw(st.integers(0, 5))
    ]
    return given


def keyed(rows):
    """Rows of bias by what they are of, each of which there is once."""
    found = {(r.quantity, r.group, r.group_b, r.class_name): r for r in rows}
    assert len(found) == len(rows)
    return found


def sample(n=60, n_classes=2, n_groups=2, matched=True, seed=0):
    """Columns of n matched sets with one member of each group, or of rows without a set."""
    rng = np.random.default_rng(seed)
    order, classes = GROUPS[:n_groups], CLASSES[:n_classes]
    shares = rng.dirichlet(np.ones(n_classes), n * n_groups)
    return {
        "labels": rng.integers(0, n_classes, n * n_groups).tolist(),
        "predicted": shares.argmax(1).tolist(),
        "probabilities": shares.tolist(),
        "groups": list(order) * n,
        "order": order,
        "classes": classes,
        "pairs": [f"set {i // n_groups}" for i in range(n * n_groups)] if matched else None,
    }


def statistical(columns, **options):
    """Return the bias of predictions; no row is drawn unless options say so."""
    data = predictions_of(*(columns[name] for name in BIAS))
    return keyed(model_bias(data, Draws(**{"resamples": 0, **options})))


def causal(columns, **options):
    """Return what counterfactual predictions add to :func:`statistical`."""
    data = predictions_of(*(columns[name] for name in BIAS))
    draws = Draws(**{"resamples": 0, **options})
    return keyed(causal_bias(data, columns["counterfactuals"], draws))
