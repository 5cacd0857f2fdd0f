"""Seeds until decided: which trainings there are, and what the results folder says of them."""

import json

import pytest
import yaml
from support import TINY

from exparity import InputError
from exparity.artefacts import layout
from exparity.config.command_line import experiment_of
from exparity.config.trainings import trainings_of, write_trainings

UNTIL = {"until": "decided", "looks": [2, 3, 5]}
TWO = {"pairs_all": {"n_pairs": 40}, "bios": {}}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def experiment(**changes):
    return experiment_of({**TINY, "seeds": UNTIL, "datasets": TWO, **changes})


def seeds_by_dataset(made, artefact):
    seeds = {}
    for ids in layout.cells(made.grid, artefact):
        seeds.setdefault(ids["dataset"], []).append(ids["seed"])
    return {dataset: sorted(set(of)) for dataset, of in seeds.items()}


def test_every_dataset_begins_with_the_first_look(here):
    made = experiment()
    assert (made.looks, made.seeds, made.all_seeds) == ((2, 3, 5), [0, 1], [0, 1, 2, 3, 4])
    assert "seeds_of" not in made.grid
    assert experiment(seeds={"until": "decided"}).looks == (3, 5, 8, 13, 20, 32)


def test_only_the_datasets_that_are_told_get_more(here):
    write_trainings(here, {"pairs_all": 3})
    made = experiment()
    assert (made.seeds, made.seeds_of("bios")) == ([0, 1, 2], [0, 1])
    expected = {"pairs_all": [0, 1, 2], "bios": [0, 1]}
    for artefact in ("predictions", "tests", "random_scores"):
        assert seeds_by_dataset(made, artefact) == expected
    for dataset, seeds in expected.items():
        ids = {"dataset": dataset, "model": "bert_tiny"}
        files = made.analyses.inputs("across_trainings", ids)["predictions"]
        assert files == [f"results/predictions/{dataset}/bert_tiny/{s}.parquet" for s in seeds]
        settings = json.loads(made.analyses.options("across_trainings", ids))
        assert settings["looks"] == [2, 3][: len(seeds) - 1]
    assert json.loads(made.analyses.options("judge", {}))["looks"] == [2, 3, 5]


def test_a_family_over_datasets_has_the_same_trainings(here):
    write_trainings(here, {"bios": 5})
    made = experiment(statistics={"family": ["model"]})
    assert made.seeds_of("pairs_all") == made.seeds_of("bios") == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("reached", "trainings"), [(0, 2), (2, 2), (4, 5), (9, 5)])
def test_other_looks_than_before(here, reached, trainings):
    """The next look that has them all; the last one if none has."""
    write_trainings(here, {"d": reached, "gone": 7})
    assert trainings_of(here, ["d"], [2, 3, 5], together=False) == {"d": trainings}


def test_what_others_have_stays(here):
    write_trainings(here, {"a": 3, "b": 3})
    write_trainings(here, {"b": 5})
    assert trainings_of(here, "ab", [3, 5], together=False) == {"a": 3, "b": 5}


@pytest.mark.parametrize("text", ["{", "[3]", '{"pairs_all": "3"}', '{"pairs_all": true}'])
def test_a_damaged_file(here, text):
    here.mkdir()
    (here / layout.TRAININGS).write_text(text)
    with pytest.raises(InputError, match=r"results/trainings\.json: is damaged; remove it"):
        experiment()
    experiment(seeds=[0])  # which asks for none


def test_overrides_know_the_seeds_that_may_come(here):
    override = {"match": {"seed": 4}, "training": {"epochs": 1}}
    experiment(overrides=[override])
    with pytest.raises(InputError, match="no '5' here"):
        experiment(overrides=[{**override, "match": {"seed": 5}}])


def test_the_whole_config_says_it_again(here):
    made = experiment()
    again = experiment_of(yaml.safe_load(yaml.safe_dump(made.resolved())))
    assert (again.looks, again.seeds) == (made.looks, made.seeds)
