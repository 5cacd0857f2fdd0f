"""Our model bias beside Table 7."""

import pytest
from published.made_up import OPTIONS, filled, row

from exparity.artefacts.files import write_artefact
from exparity.published.comparison import compare_results

NAN = float("nan")


def write_bias(results, dataset, model, seed, values, labels=("female", "male"), flags=()):
    """Write rows that count, and others that must not be taken for them."""
    quantities = {"tpr": labels[1], "tnr": labels[1], "apd_by_label": ""}
    rows = [
        {"quantity": quantity, "group": "", "class_name": name, "value": values[quantity]}
        for quantity, name in quantities.items()
    ]
    rows += [
        {"quantity": "tpr", "group": "", "class_name": labels[0], "value": 0.123},
        {"quantity": "tpr", "group": "male", "class_name": labels[1], "value": 0.123},
        {"quantity": "accuracy", "group": "", "class_name": "", "value": 0.123},
        {"quantity": "apd", "group": "male", "class_name": "", "value": 0.123},
    ]
    rows = [filled("bias", **r, flags=list(flags)) for r in rows]
    write_artefact(
        results / "bias" / dataset / model / f"{seed}.parquet",
        "bias",
        rows,
        {"dataset": dataset, "model": model, "seed": seed},
        stage="bias",
        parameters={},
        extra={"labels": list(labels), "groups": ["male", "female"]},
    )


def tests_of(dataset, model, seeds):
    return [row((dataset, model, "lime", "gini"), seed, 0.01, 0.5) for seed in range(seeds)]


tests_of.__test__ = False


def test_means_and_deviations_beside_the_published_ones(tmp_path):
    for seed, rate in enumerate((1.0, 1.0, 1.0, 1.0, 0.0)):
        values = {"tpr": 1.0, "tnr": rate, "apd_by_label": 0.25 * seed}
        write_bias(tmp_path, "geco_all", "bert", seed, values)
    found = compare_results(tmp_path, tests_of("geco_all", "bert", 5), OPTIONS).bias
    assert [(m.dataset, m.model, m.published, m.quantity) for m in found] == [
        ("geco_all", "bert", "bert", quantity) for quantity in ("tpr", "tnr", "apd")
    ]
    tpr, tnr, apd = found
    assert (tpr.ours, tpr.ours_sd, tpr.seeds, tpr.collapsed) == (1, 0, 5, 0)
    assert (tpr.theirs, tpr.theirs_sd) == (0.996, 0.001)
    # dividing by n: as the published 0.800 ± 0.400, which five values of 0 or 1 give only so
    assert (tnr.ours, tnr.ours_sd) == (pytest.approx(0.8), pytest.approx(0.4))
    assert (apd.ours, apd.theirs) == (0.5, 0.006)


def test_the_second_class_is_the_positive_one(tmp_path):
    labels = ("no_recidivism", "recidivism")
    values = {"tpr": 0.0, "tnr": 1.0, "apd_by_label": 0.1}
    write_bias(tmp_path, "compas", "small", 0, values, labels, flags=["collapsed"])
    found = compare_results(
        tmp_path, tests_of("compas", "small", 1), OPTIONS, models={"small": "roberta_large"}
    ).bias
    assert [(m.model, m.ours, m.theirs, m.collapsed) for m in found] == [
        ("small", 0, 0, 1),
        ("small", 1, 1, 1),
        ("small", 0.1, 0.115, 1),
    ]


def test_undefined_and_missing_seeds_are_left_out(tmp_path):
    for seed, value in enumerate((0.5, NAN)):
        values = {"tpr": value, "tnr": NAN, "apd_by_label": value}
        write_bias(tmp_path, "geco_subj", "gpt2", seed, values)
    found = compare_results(tmp_path, tests_of("geco_subj", "gpt2", 3), OPTIONS).bias
    assert [(m.quantity, m.ours, m.seeds) for m in found] == [("tpr", 0.5, 1), ("apd", 0.5, 1)]
