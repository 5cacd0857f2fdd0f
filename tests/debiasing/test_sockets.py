"""The sockets for training: interventions and counterfactual generators from plug-in files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import NARROW, tiny

from exparity import ExparityError, InputError
from exparity.counterfactuals import counterfactuals_of
from exparity.data.table import PreparedData, read_prepared
from exparity.data.training_set import TrainingSet
from exparity.debiasing import INTERVENTIONS, apply, intervention
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.training import finetune
from exparity.stages.prepare import prepare

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
BERT = {"init": "scratch", "architecture": "bert", "size": {**NARROW, **NO_DROPOUT}}


@pytest.fixture(scope="module")
def data_path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.parquet"
    prepare(
        path, use="bios", params={"n_biographies": 60}, data_dir=path.parent, dataset_id="pairs"
    )
    return path


@pytest.fixture(scope="module")
def data(data_path) -> PreparedData:
    return read_prepared(data_path)


@pytest.fixture
def plain(data) -> TrainingSet:
    make = counterfactuals_of(data, "pronouns", {})
    return replace(TrainingSet.of(data, 0.25, 3), counterfactuals=make)


class TestTrainingSet:
    def test_interventions_run_in_order_and_leave_the_held_out_share(self, plain):
        calls = [{"use": "mirrored", "params": {"weight": 0.5}}, {"use": "sampled"}]
        one, other = apply(plain, calls), apply(plain, calls[::-1])
        assert one.held_out is plain.held_out
        assert one.rows() == apply(plain, calls).rows()
        assert one.rows() != other.rows()
        made = [row for row in one.rows() if row["made_by"]]
        known = {(e.example_id, e.group) for e in plain.examples}
        assert made
        for row in made:
            assert row["made_by"] == "mirrored"
            assert row["weight"] == 0.5
            assert (row["example_id"], row["group"]) not in known
            assert {"he", "she", "his", "her", "him"} & {word.lower() for word in row["words"]}
        assert all(row["words"] is None for row in one.rows() if not row["made_by"])
        # The same one again draws anew, and the same whatever ran before.
        twice = apply(plain, [calls[1], calls[1]])
        assert len(twice.examples) < len(apply(plain, calls[1:]).examples)
        # Which of equal size is drawn depends on the seed.
        assert apply(replace(plain, seed=4), calls).rows() != one.rows()

    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (lambda t: replace(t, held_out=()), "may not change held_out"),
            (lambda t: replace(t, examples=[], weights=[]), "that holds examples"),
            (lambda t: None, "must return a TrainingSet"),
            (lambda t: t.weights.fill(2), "writes to a read-only array"),
            (lambda t: replace(t, weights=[1]), "test_sockets.py, line .*weights of"),
            (lambda t: replace(t, weights=-t.weights), "not negative"),
            (lambda t: replace(t, weights=np.nan * t.weights), "finite"),
        ],
    )
    def test_an_intervention_that_breaks_its_contract_is_named(
        self, plain, spoil, message, monkeypatch
    ):
        monkeypatch.setattr(INTERVENTIONS, "_entries", dict(INTERVENTIONS._entries))

        @intervention("spoiling", reference="a test", needs_counterfactuals=False)
        def spoiling(training_set: TrainingSet) -> TrainingSet:
            """Spoil it."""
            return spoil(training_set)

        with pytest.raises(ExparityError, match=f"spoiling.*{message}"):
            apply(plain, [{"use": "spoiling"}])

    def test_without_a_generator_it_says_what_to_name(self, data):
        with pytest.raises(InputError, match=r"needs counterfactuals; .*counterfactuals\.pairs"):
            apply(TrainingSet.of(data, 0, 0), [{"use": "mirrored"}])


class TestLoop:
    def loss(self, plain, weights, tmp_path):
        """Return the loss of the first step, taken over all examples at once."""
        state = StateFolder(tmp_path / str(hash(tuple(weights))), "x")
        training = TrainingSpec(epochs=1, batch_size=1000)
        weighted = replace(plain, weights=weights)
        found = finetune(weighted, ModelSpec(**BERT), training, state=state, device="cpu")
        return found.history[0].train_loss

    def test_losses_are_weighted_and_their_mean_is_not_divided_by_the_weights(
        self, plain, tmp_path
    ):
        ones = np.ones(len(plain.examples))
        even = np.arange(len(ones)) % 2 * 1.0
        whole = self.loss(plain, ones, tmp_path)
        parts = [self.loss(plain, part, tmp_path) for part in (even, 1 - even, 3 * ones)]
        assert parts[0] + parts[1] == pytest.approx(whole, rel=1e-5)
        assert parts[2] == pytest.approx(3 * whole, rel=1e-5)
        assert min(parts) > 0

    def test_a_smaller_training_set_takes_as_many_steps(self, plain, tmp_path):
        once = apply(plain, [{"use": "sampled", "params": {"same_steps": True}}])
        assert len(once.examples) < len(plain.examples)
        training = TrainingSpec(epochs=1, batch_size=8)
        state = StateFolder(tmp_path / "state", "x")
        found = finetune(once, ModelSpec(**BERT), training, state=state, device="cpu")
        assert found.history[0].step == -(-len(plain.examples) // 8)


def test_the_source_and_the_files_count(tmp_path, plugins):
    pairs, debias = tmp_path / "pairs.tsv", [{"use": "mirrored", "weight": 0.5}, "sampled"]
    config = {
        "plugins": plugins,
        "datasets": {"pairs": {"use": "bios"}},
        "models": {"mended": {**BERT, "debias": debias}},
        "counterfactuals": {"pairs": {"use": "pronouns", "more_pairs": str(pairs)}},
    }
    pairs.write_text("boy\tgirl\n")
    before = tiny(**config).finetune_options("pairs", "mended", 0)
    pairs.write_text("man\twoman\n")
    after = tiny(**config).finetune_options("pairs", "mended", 0)
    assert before["counterfactuals"] != after["counterfactuals"]
    digests = {call["digest"] for call in [*before["debias"], before["counterfactuals"]]}
    assert len(digests) == 2  # one for each file
