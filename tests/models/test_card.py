"""The card of a checkpoint says what is so, whatever its names hold."""

from dataclasses import replace

import pytest
import yaml

from exparity.data.table import PreparedData
from exparity.models.card import write_card
from exparity.models.spec import ModelSpec, TrainingSpec

SPECS = ModelSpec(init="scratch", architecture="bert"), TrainingSpec(epochs=3)
PREDICTED = [
    {"group": group, "label": label, "predicted": predicted}
    for group, label, predicted in [("male", 0, 0), ("male", 1, 0), ("female", 1, 1)]
]


@pytest.fixture
def data(examples) -> PreparedData:
    return PreparedData("pairs", tuple(examples), ("male", "female"), ("no", "yes"), "gender")


def card(folder, data, specs=SPECS, predictions=PREDICTED, **names) -> tuple[dict, str]:
    """The front matter and the text of a card."""
    write_card(folder, data, specs, predictions, **{"model_id": "tiny", "seed": 7, **names})
    _, front, text = (folder / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(front), text


def test_a_card_has_data_settings_and_the_accuracy_of_each_group(data, tmp_path):
    front, text = card(tmp_path, data)
    assert front == {
        "library_name": "transformers",
        "pipeline_tag": "text-classification",
        "tags": ["exparity"],
    }
    assert "# tiny on pairs, seed 7\n" in text
    assert "2 classes (no, yes)" in text
    assert f"{len(data.split('train'))} texts of the dataset `pairs`" in text
    assert "whose groups are gender: male, female." in text
    assert "\n| epochs | 3 |\n" in text
    assert "\n| all | 3 | 0.6667 |\n| male | 2 | 0.5000 |\n| female | 1 | 1.0000 |\n" in text
    assert "Interventions" not in text
    assert "base_model" not in text


def test_a_base_model_of_the_hub_and_interventions_are_named(data, tmp_path):
    pretrained = ModelSpec(checkpoint="org/base: x", revision="a1b2c3")
    debias = [{"use": "resample", "params": {"to": "largest"}}]
    front, text = card(tmp_path, data, (pretrained, SPECS[1]), debias=debias)
    assert front["base_model"] == "org/base: x"
    assert '[{"params": {"to": "largest"}, "use": "resample"}]' in text


def test_names_make_no_markup(data, tmp_path):
    hostile = "a|b\n# <b>\x1b"
    _, text = card(
        tmp_path,
        replace(data, groups=(hostile,), labels=(hostile, "yes")),
        predictions=[{"group": hostile, "label": 0, "predicted": 0}],
    )
    assert "\x1b" not in text
    assert "<b>" not in text
    assert text.count("\n# ") == 1
    (row,) = (line for line in text.splitlines() if line.startswith("| a\\"))
    assert row.replace("\\|", "").count("|") == 4
