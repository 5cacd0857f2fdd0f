"""Debiasing where the truth is known.

Half of these biographies leave open which of two occupations it is. The best guess is then the
gender and, where that is no help, the town, which goes along with it. An ideal classifier changes
its mind in as many texts as are ambiguous when their gender is changed; after counterfactual data
in none, with a gap of `ambiguity` times `proxy` between the groups.
"""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from debiasing.examples import interventions
from scipy.stats import ttest_1samp
from support import CPU

from exparity.analyses.term_weight_probe import BagOfWords
from exparity.artefacts.files import read_artefact
from exparity.counterfactuals import counterfactuals_of
from exparity.data.table import read_prepared
from exparity.data.training_set import TrainingSet
from exparity.debiasing import apply
from exparity.stages.bias import bias_model
from exparity.stages.counterfactuals import counterfactual_predictions_cell, make_counterfactuals
from exparity.stages.finetune import finetune_cell
from exparity.stages.prepare import prepare
from exparity.stats.bootstrap import Draws
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.predictions import BiasRow, predictions_of

AMBIGUITY = 0.5
# How often texts are drawn and a classifier trained where a gap has to be absent: the interval of
# one draw misses one truth in twenty, and trainings on one draw of texts miss it together.
DRAWS = 6
POPULATION = {"paired": False, "test_share": 0.3, "imbalance": 0.9}
GENERATOR = {"use": "gender_words", "params": {}}
SIZE = {
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 128,
}
MODEL = {"init": "scratch", "architecture": "bert", "size": SIZE}
TRAINING = {"epochs": 8, "learning_rate": 2e-3, "batch_size": 16}


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    """Make biographies once for each `proxy` and draw; returns their file."""

    @cache
    def of(proxy, draw=0, n=4000):
        data = tmp_path_factory.mktemp("bios") / "data.parquet"
        params = {**POPULATION, "proxy": proxy, "ambiguity": AMBIGUITY, "generator_seed": draw}
        params["n_biographies"] = n
        prepare(data, use="bios", params=params, data_dir=data.parent, dataset_id="bios")
        return data

    return of


def of_bag_of_words(data, recipe):
    """Return the rows of bias of a logistic regression on counts of words."""
    prepared = read_prepared(data)
    swapped = counterfactuals_of(prepared, **GENERATOR)
    training_set = replace(TrainingSet.of(prepared, 0.0, 0), counterfactuals=swapped)
    bag = BagOfWords(apply(training_set, interventions(recipe)))
    test = prepared.split("test")
    versions = [(example, *swapped(example)) for example in test]
    predicted, changed = (
        bag.predict(bag.counts([texts[i].words for texts in versions]), (), 1.0) for i in (0, 1)
    )
    sure = np.eye(len(prepared.labels))
    measured = predictions_of(
        [example.label for example in test],
        predicted,
        sure[predicted],
        [example.group for example in test],
        prepared.groups,
        prepared.labels,
    )
    counterfactuals = [
        CounterfactualPrediction(i, other.group, int(changed[i]), sure[changed[i]], 1)
        for i, (_, other) in enumerate(versions)
    ]
    return causal_bias(measured, counterfactuals, Draws(resamples=200))


def of_transformer(data, recipe):
    """Do as :func:`of_bag_of_words` for a small transformer, by the stages of the workflow."""
    folder = data.parent
    names = ("counterfactuals", "predictions", "counterfactual_predictions", "bias")
    made, predictions, changed, bias = (folder / f"{name}-{recipe}.parquet" for name in names)
    make_counterfactuals(data, made, **GENERATOR)
    checkpoint = folder / recipe / "0"
    finetune_cell(
        data,
        checkpoint,
        predictions,
        model=MODEL,
        training=TRAINING,
        debias=interventions(recipe),
        counterfactuals=GENERATOR,
        machine=CPU,
    )
    inputs = {"data": data, "counterfactuals": made, "checkpoint": checkpoint}
    counterfactual_predictions_cell(**inputs, predictions=predictions, output=changed, machine=CPU)
    bias_model(data, [predictions], bias, [changed], resamples=200)
    names = [field.name for field in fields(BiasRow)]
    rows = read_artefact(bias, "bias")[0].select(names).to_pylist()
    return [BiasRow(**row) for row in rows]


CLASSIFIERS = [
    pytest.param(of_bag_of_words, id="bag_of_words"),
    pytest.param(of_transformer, id="transformer", marks=pytest.mark.exhaustive),
]


def quantity(rows, name):
    (row,) = (row for row in rows if (row.quantity, row.class_name) == (name, ""))
    return row


def statistical_gap(rows):
    """Return the statistical gap of true positive rates, and the row of what it is by chance."""
    return quantity(rows, "tpr_gap_rms").value, quantity(rows, "tpr_gap_rms_by_chance")


@pytest.mark.parametrize("measured", CLASSIFIERS)
class TestKnownTruth:
    @pytest.mark.parametrize("proxy", [0.0, 0.8])
    def test_without_debiasing_the_gender_decides_what_is_ambiguous(
        self, population, measured, proxy
    ):
        rows = measured(population(proxy), "none")
        # One that has not learned every occupation yet follows the gender in further texts.
        most = AMBIGUITY + 0.1 if measured is of_bag_of_words else 1
        for name in ("flip_rate", "causal_tpr_gap_rms"):
            assert AMBIGUITY - 0.1 < quantity(rows, name).value < most
        value, by_chance = statistical_gap(rows)
        assert value > by_chance.ci_high

    def test_counterfactual_data_leave_no_gap_where_nothing_else_tells_the_gender(
        self, population, measured
    ):
        beyond_chance = []
        n = 1200 if measured is of_bag_of_words else 4000
        for draw in range(DRAWS):
            rows = measured(population(0.0, draw, n), "cda")
            assert quantity(rows, "flip_rate").value < 0.01
            value, by_chance = statistical_gap(rows)
            beyond_chance.append(value - by_chance.value)
        low, high = ttest_1samp(beyond_chance, 0.0).confidence_interval(0.95)
        assert low <= 0 <= high

    def test_counterfactual_data_leave_the_gap_of_a_proxy(self, population, measured):
        rows = measured(population(0.8), "cda")
        value, by_chance = statistical_gap(rows)
        assert value > by_chance.ci_high
        assert abs(value - AMBIGUITY * 0.8) < 0.1
        assert quantity(rows, "flip_rate").value < 0.01
