"""The artefact of a dataset's counterfactuals: where it is made, what it holds, what is refused."""

import json

import pytest
from support import tiny

from exparity import cli
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.data.table import read_prepared
from exparity.stages.prepare import prepare


def experiment(**changes):
    return tiny(**{"datasets": {"bios": {}, "pairs_all": {}}, **changes})


def options(found, dataset="bios"):
    return found.options("counterfactuals", {"dataset": dataset})


class TestConfig:
    def test_a_job_depends_on_the_generator_its_options_and_its_files(self, tmp_path):
        def of(**settings):
            return options(experiment(counterfactuals={"bios": settings}))

        path = tmp_path / "pairs.csv"
        path.write_text("male,female\nhe,she\n")
        found = [of(use="gender_words"), of(use="gender_words", mode="set"), of(use="matched")]
        found.append(of(use="word_pairs", pairs_file=str(path)))
        path.write_text("male,female\nhe,she\nhis,her\n")
        found.append(of(use="word_pairs", pairs_file=str(path)))
        assert len({json.dumps(one) for one in found}) == 5
        assert found[0]["use"] == "gender_words"
        assert found[0]["params"]["mode"] == "swap"

    def test_groups_that_options_decide_on_are_not_those_of_the_default(self, tmp_path):
        path = tmp_path / "races.csv"
        path.write_text("Caucasian,Hispanic,Other\nCaucasian,Hispanic,Other\n")
        races = {"attribute": "race", "groups": ["Caucasian", "Hispanic", "Other"]}
        found = experiment(
            datasets={"compas": races},
            counterfactuals={"compas": {"use": "word_pairs", "pairs_file": str(path)}},
        )
        assert options(found, "compas")["use"] == "word_pairs"
        with pytest.raises(InputError, match=r"races.csv: no column 'male'"):
            experiment(
                datasets={"compas": {}},
                counterfactuals={"compas": {"use": "word_pairs", "pairs_file": str(path)}},
            )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "bios.parquet"
    params = {"paired": False, "n_biographies": 40}
    prepare(path, use="bios", params=params, data_dir=path.parent, dataset_id="bios")
    return path


class TestCommand:
    def run(self, data, output, settings):
        arguments = ["counterfactuals", "--data", str(data), "--output", str(output)]
        return cli.main([*arguments, "--options", json.dumps(settings)])

    def test_one_row_an_example_and_other_group(self, data, tmp_path):
        output = tmp_path / "counterfactuals" / "bios.parquet"
        settings = options(experiment(counterfactuals={"bios": "gender_words"}))
        assert self.run(data, output, settings) == 0
        table, metadata = read_artefact(output, "counterfactuals")
        examples = {e.example_id: e for e in read_prepared(data).examples}
        assert table.num_rows == len(examples) == 40
        for row in table.to_pylist():
            example = examples[row["example_id"]]
            assert " ".join(row["words"]) == example.attributes["counterfactual"]
            assert {row["group"], row["group_to"]} == {"male", "female"}
            assert (row["group"], row["split"]) == (example.group, example.split)
            pairs = zip(row["words"], example.words, strict=True)
            assert row["n_changed"] == sum(one != other for one, other in pairs) > 0
        assert metadata["notes"] == {"unchanged": 0, "missing": 0}

    def test_what_does_not_change_is_a_row_and_what_does_not_exist_is_none(self, data, tmp_path):
        def notes(use, params):
            output = tmp_path / f"{use}.parquet"
            assert self.run(data, output, {"use": use, "params": params}) == 0
            table, metadata = read_artefact(output, "counterfactuals")
            return table.num_rows, metadata["notes"]

        nothing = {"pairs": {"qwerty": "azerty"}}
        assert notes("word_pairs", nothing) == (40, {"unchanged": 40, "missing": 0})
        assert notes("matched", {}) == (0, {"unchanged": 0, "missing": 40})
