"""Statistical beside causal bias in the report: tables, downloads, picture, and none without."""

from itertools import product
from statistics import fmean

import pytest
from made_up import GROUPS, LABELS, Results, config, grid_of, make_study

from exparity.artefacts.files import read_artefact
from exparity.report.bias import CAUSAL_QUANTITIES, QUANTITIES, RATES, bias_tables
from exparity.report.context import Context
from exparity.report.gather import gather
from exparity.report.render import render_page
from exparity.stats.bootstrap import Draws
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.flags import FLAGS
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.predictions import predictions_of

SETTINGS = config(datasets=2, models=2, seeds=2, methods=1, metrics=1)


def add_counterfactuals(results, model, seed):
    """Write the bias of a seed again, with causal rows: some predictions change with the group."""
    path = results.path("predictions", "data_0", model, seed)
    rows = read_artefact(path, "predictions")[0].to_pylist()
    labels = [i // 2 % 2 for i in range(len(rows))]  # not the group
    predicted = [label if i % 5 else 1 - label for i, label in enumerate(labels)]
    probabilities, groups = ([row[name] for row in rows] for name in ("probabilities", "group"))
    data = predictions_of(labels, predicted, probabilities, groups, GROUPS, LABELS, None)
    changed = [
        CounterfactualPrediction(
            i,
            GROUPS[1 - GROUPS.index(row["group"])],
            1 - predicted[i] if i % (4 + seed) == 0 else predicted[i],
            row["probabilities"][:: -1 if i % 3 else 1],
            i % 2,
        )
        for i, row in enumerate(rows)
    ]
    measured = model_bias(data, Draws(resamples=0))
    measured += [*fpr_gaps(measured), *causal_bias(data, changed, Draws(resamples=40))]
    notes = {"counterfactuals": len(rows), "unchanged": 1234}
    measured = [{**vars(row), "seed": seed} for row in measured]
    results.add_seed("bias", measured, "data_0", model, notes=notes)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Of two datasets the first has counterfactuals."""
    folder = tmp_path_factory.mktemp("study") / "results"
    make_study(folder, SETTINGS, pairs=12)
    for model, seed in product(SETTINGS["models"], SETTINGS["seeds"]):
        add_counterfactuals(Results(folder), model, seed)
    return gather(folder, grid_of(SETTINGS))


@pytest.fixture(scope="module")
def table(study):
    (table,) = bias_tables(study, "causal_bias")
    return table


@pytest.fixture(scope="module")
def page(study, tmp_path_factory):
    return render_page(Context(study, tmp_path_factory.mktemp("page")))


def values(study, quantity, model, class_name=""):
    return [
        row.value
        for row in study.bias
        if (row.dataset, row.model, row.quantity, row.class_name)
        == ("data_0", model, quantity, class_name)
    ]


@pytest.mark.contract
class TestNames:
    def test_every_quantity_and_flag_has_words(self, study):
        rows = [row for row in study.bias if row.dataset == "data_0"]
        assert {row.quantity for row in rows} == {*QUANTITIES, *CAUSAL_QUANTITIES}
        assert not QUANTITIES.keys() & CAUSAL_QUANTITIES
        assert {flag for row in rows for flag in row.flags} <= set(FLAGS)

    def test_the_table_of_model_bias_stays(self, study):
        first, second = bias_tables(study)
        assert first.lines == second.lines
        assert {line.quantity for line in first.lines} == set(QUANTITIES)


@pytest.mark.reference
def test_a_total_is_the_mean_over_seeds(study, table):
    assert (table.models, table.pairs) == (["model_0", "model_1"], [GROUPS])
    names = (
        f"{c}{r}_gap_rms{end}" for c, r, end in product(("", "causal_"), RATES, ("", "_by_chance"))
    )
    for model, name in product(table.models, ("flip_rate", *names)):
        expected = values(study, name, model)
        assert len(expected) == 2
        assert table.total(model, name, GROUPS).mean == pytest.approx(fmean(expected))


def test_the_section_shows_rms_flips_and_unchanged_texts(page, table):
    section = page[page.index('id="causal_bias"') :]
    section = section[: section.index("</section>")]
    assert "1,234 of them no word changes" in " ".join(section.split())
    for model in table.models:
        name = "causal_tpr_gap_rms"
        wanted = {"": "flip_rate", '<td class="r">': name, "by chance ": f"{name}_by_chance"}
        for before, quantity in wanted.items():
            mean = table.total(model, quantity, GROUPS).mean
            assert f"{before}{100 * mean:.2f}" in section
