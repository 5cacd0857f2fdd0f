"""Prompted language models in the stages: trained, or as they are, and what is flagged."""

import json
import shutil
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from safetensors.torch import load_file
from support import CPU

import exparity
from exparity import InputError, cli
from exparity.artefacts.files import read_artefact
from exparity.config.experiment import Experiment
from exparity.core.strict import canonical
from exparity.data.bios import LABELS
from exparity.data.table import read_prepared
from exparity.engine import answering
from exparity.models.heads.label_words import LabelWords
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.explain import Choice, explain_cell
from exparity.stages.finetune import finetune_cell
from exparity.stages.prepare import prepare

WORDS = {label: f" {label}" for label in reversed(LABELS)}
TEMPLATES = ("Biography: {text}\nJob:", "{text} This person is a", "Biography: {text}")
SCRATCH = {
    "init": "scratch",
    "architecture": "llama",
    "head": "label_words",
    "vocab_size": 700,
    "size": {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 96,
    },
}
CALM = {"epochs": 15, "batch_size": 16, "learning_rate": 5e-3}


class Cell:
    """The files of a cell in a folder of its own."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data = folder, data
        self.checkpoint = folder / "tiny" / "0"
        self.predictions = folder / "predictions.parquet"

    def finetune(self, model, training, template=TEMPLATES[0], templates=(), **asked) -> Self:
        prompt = {"template": template, "words": WORDS, **asked}
        finetune_cell(
            self.data,
            self.checkpoint,
            self.predictions,
            model=model,
            training=training,
            prompt=prompt,
            templates=templates,
            machine=CPU,
        )
        return self

    @property
    def predicted(self):
        return read_artefact(self.predictions, "predictions")

    @property
    def probabilities(self):
        return np.array(self.predicted[0].column("probabilities").to_pylist())

    @property
    def flags(self):
        return self.predicted[1].get("flags", [])


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.parquet"
    prepare(path, use="bios", params={"n_biographies": 80}, data_dir=path.parent)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory, data) -> Cell:
    cell = Cell(tmp_path_factory.mktemp("trained"), data)
    return cell.finetune(SCRATCH, CALM, templates=TEMPLATES[:2])


def assert_predicted_by(classifier, cell):
    """The cell's predictions are what the classifier says of the texts."""
    examples = read_prepared(cell.data, "test").split("test")
    ids = [e.token_ids for e in classifier.encode([e.parts for e in examples])]
    predicted = {row["example_id"]: row for row in cell.predicted[0].to_pylist()}
    for example, probabilities, mass in zip(
        examples, classifier.probabilities(ids), classifier.label_mass(ids), strict=True
    ):
        row = predicted[example.example_id]
        assert row["probabilities"] == pytest.approx(probabilities, abs=1e-6)
        assert row["label_mass"] == pytest.approx(mass, abs=1e-6)


def test_a_model_from_scratch_learns_to_answer(trained):
    table, _ = trained.predicted
    assert np.mean(np.array(table["predicted"]) == np.array(table["label"])) > 0.5
    assert np.mean(table["label_mass"].to_pylist()) > 0.3
    assert trained.flags == []
    classifier = exparity.load_classifier(str(trained.checkpoint), "cpu")
    assert classifier.class_names == LABELS
    assert_predicted_by(classifier, trained)


def test_what_the_model_writes_is_stored_and_a_killed_job_continues(tmp_path, monkeypatch, trained):
    def explain(path):
        explain_cell(
            trained.data,
            trained.checkpoint,
            trained.predictions,
            path,
            use="self_explanation",
            params={"question": "Words:", "max_new_tokens": 8},
            choice=Choice(max_examples=6),
            machine=CPU,
        )
        return read_artefact(path, "explanations")[0]

    monkeypatch.setattr("exparity.jobs.parts.chunk_size", lambda passes: 2)
    table = explain(tmp_path / "at_once.parquet")
    for row in table.to_pylist():
        named = np.array(row["scores"]).any()
        assert (row["named_words"] > 0) == named
        assert row["answer_words"] <= len(row["answer"].split())
        assert row["foreign_words"] <= row["answer_words"]
    assert any(table["answer"].to_pylist())
    calls = []
    inner = answering._written

    def killed(*arguments, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return inner(*arguments, **options)

    path = tmp_path / "killed.parquet"
    monkeypatch.setattr(answering, "_written", killed)
    with pytest.raises(KeyboardInterrupt):
        explain(path)
    assert explain(path).equals(table)
    assert len(calls) == 4 + 4  # two texts of a part that was finished are not asked again


def test_training_a_tied_model_trains_its_one_table(tmp_path, data):
    """GPT-2 answers with its input embeddings, which move with the words."""
    size = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 96}
    model = {**SCRATCH, "architecture": "gpt2", "size": size}
    cell = Cell(tmp_path, data).finetune(model, {**CALM, "epochs": 1})
    weights = load_file(cell.checkpoint / "model.safetensors")
    assert "lm_head.weight" not in weights
    exparity.load_classifier(str(cell.checkpoint), "cpu")


class TestAsItIs:
    def base(self, trained) -> dict[str, str]:
        return {"checkpoint": str(trained.checkpoint), "head": "label_words"}

    def test_weights_are_referred_to_and_not_copied(self, tmp_path, trained, data):
        cell = Cell(tmp_path, data).finetune(self.base(trained), {"epochs": 0}, TEMPLATES[1])
        names = {path.name for path in cell.checkpoint.iterdir()}
        assert not any(name.endswith((".safetensors", "tokenizer.json")) for name in names)
        assert json.loads((cell.checkpoint / "base.json").read_text())["checkpoint"] == str(
            trained.checkpoint
        )
        asked = exparity.load_classifier(
            str(trained.checkpoint),
            "cpu",
            prompt=TEMPLATES[1],
            words={label: WORDS[label] for label in LABELS},
        )
        assert_predicted_by(asked, cell)

    def test_the_command_takes_what_the_config_gives_it(self, tmp_path, trained, data):
        model = {**self.base(trained), "training": {"epochs": 0}}
        config = {
            "datasets": {"bios": {}},
            "models": {"lm": model},
            "prompts": {"bios": {"templates": list(TEMPLATES), "words": WORDS}},
            "methods": {"gradient": {}},
            "metrics": {"gini": {}},
        }
        options = canonical(Experiment.from_mapping(config).finetune_options("bios", "lm", 0))
        cell = Cell(tmp_path, data)
        command = ["finetune", "--options", options, "--data", str(data), "--device", "cpu"]
        command += ["--output", str(cell.checkpoint), "--predictions", str(cell.predictions)]
        assert cli.main(command) == 0
        assert cell.probabilities == pytest.approx(trained.probabilities, abs=1e-6)

    def test_a_base_that_changed_is_refused(self, tmp_path, trained, data):
        copy = tmp_path / "base"
        shutil.copytree(trained.checkpoint, copy)
        model = {"checkpoint": str(copy), "head": "label_words"}
        cell = Cell(tmp_path, data).finetune(model, {"epochs": 0})
        exparity.load_classifier(str(cell.checkpoint), "cpu")
        (copy / "config.json").write_text((copy / "config.json").read_text() + "\n")
        with pytest.raises(InputError, match="which has changed since"):
            exparity.load_classifier(str(cell.checkpoint), "cpu")
        shutil.rmtree(copy)
        with pytest.raises(InputError, match="which has changed since"):
            exparity.load_classifier(str(cell.checkpoint), "cpu")

    def test_a_prompt_that_is_not_answered_is_flagged_up_to_the_scores(
        self, tmp_path, trained, data
    ):
        cell = Cell(tmp_path, data).finetune(self.base(trained), {"epochs": 0}, TEMPLATES[2])
        assert cell.flags == ["label_mass_low"]
        files = [tmp_path / f"{name}.parquet" for name in ("explanations", "scores")]
        options = {"params": {}, "machine": CPU}
        paths, choice = (data, cell.checkpoint, cell.predictions), Choice(max_examples=8)
        explain_cell(*paths, files[0], use="gradient", choice=choice, **options)
        evaluate_cell(data, files[0], cell.checkpoint, files[1], use="sufficiency", **options)
        for path, artefact in zip(files, ("explanations", "scores"), strict=True):
            assert read_artefact(path, artefact)[1]["flags"] == ["label_mass_low"]
        for row in read_artefact(files[0], "explanations")[0].to_pylist():
            words, scores = np.array(row["word_ids"]), np.array(row["scores"])
            assert (words == -2).any()
            assert (scores[words == -2] == 0).all()
            assert (scores[words >= 0] > 0).all()

    @pytest.mark.parametrize("calibrate", ["content_free", "prior"])
    def test_calibration_makes_classes_equally_likely(self, tmp_path, trained, data, calibrate):
        cell = Cell(tmp_path, data)
        cell.finetune(self.base(trained), {"epochs": 0}, calibrate=calibrate)
        plain, settled = (
            exparity.load_classifier(str(one.checkpoint), "cpu") for one in (trained, cell)
        )
        assert isinstance(settled.head, LabelWords)
        if calibrate == "content_free":
            texts = ["N/A", "[MASK]", ""]
        else:
            texts = [e.text for e in read_prepared(data, "train").split("train")]
        prefix, suffix = TEMPLATES[0].split("{text}")
        ids = [plain.tokenizer(prefix + text + suffix)["input_ids"] for text in texts]
        means = plain.probabilities(ids).mean(axis=0)
        assert settled.head.bias == pytest.approx(-np.log(means), abs=1e-6)
        odds = trained.probabilities / means
        expected = odds / odds.sum(axis=1, keepdims=True)
        assert cell.probabilities == pytest.approx(expected, abs=1e-6)


def test_words_that_are_not_the_classes_are_refused(tmp_path, data):
    with pytest.raises(InputError, match=r"prompts\.bios\.words are of a, b"):
        Cell(tmp_path, data).finetune(SCRATCH, CALM, words={"a": " a", "b": " b"})


def test_a_classifier_with_a_head_of_its_own_takes_no_prompt(tmp_path, data):
    model = {**SCRATCH, "head": "sequence"}
    with pytest.raises(InputError, match="head sequence: takes no prompt"):
        Cell(tmp_path, data).finetune(model, CALM)
