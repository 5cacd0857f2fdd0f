"""Which cells are put beside which, and what is said of the models behind them."""

from dataclasses import replace

import numpy as np
import pytest
from published.made_up import OPTIONS, row, write_training
from safetensors.numpy import save_file

from exparity.models.catalogue import known_models
from exparity.published.comparison import compare_results

CELL = ("geco_all", "bert", "lime", "gini")


def compare(folder, rows, options=OPTIONS, **settings):
    return compare_results(folder, rows, options, **settings)


class TestCells:
    def test_every_published_cell_finds_its_own(self, equal, study):
        assert [m.theirs for m in equal.matches] == list(study.cells.values())
        assert all(m.ids == m.theirs.key[:4] for m in equal.matches)
        assert equal.left_out == []

    def test_ours_is_counted_as_the_study_counts(self, equal):
        for match in equal.matches:
            assert match.ours.significant == match.theirs.significant
            assert match.ours.total == match.theirs.runs
            if match.theirs.mean is not None:
                assert match.ours.mean_d == pytest.approx(match.theirs.mean)
                assert match.ours.considerable == match.theirs.considerable

    def test_what_was_not_published_is_named(self, tmp_path):
        rows = [
            row(CELL, 0, 0.01, 0.5),
            row(("pairs_all", *CELL[1:]), 0, 0.01, 0.5),
            row((CELL[0], "mine", *CELL[2:]), 0, 0.01, 0.5),
            row((*CELL[:3], "flip_sensitivity"), 0, 0.01, 0.5),
            row(("compas", "bert_scratch", *CELL[2:]), 0, 0.01, 0.5),
            row(("compas", *CELL[1:]), 0, 0.01, 0.5, group_a="African-American", group_b="male"),
        ]
        found = compare(tmp_path, rows)
        assert [m.theirs.key[:4] for m in found.matches] == [CELL]
        assert found.left_out == [
            "dataset pairs_all",
            "groups African-American and male",
            "metric flip_sensitivity",
            "model bert_scratch on compas, mine",
        ]

    def test_the_studys_alpha_and_threshold_hold(self, tmp_path):
        rows = [
            row(CELL, seed, p, 0.25, significant=False, considerable=False)
            for seed, p in enumerate((0.05, 0.04, 0.0500001, float("nan")))
        ]
        options = {"statistics": {"alpha": 0.01, "threshold": 0.5}}
        (match,) = compare(tmp_path, rows, options).matches
        assert (match.ours.significant, match.ours.total) == (2, 4)
        assert match.ours.considerable

    def test_groups_in_the_other_order_change_the_sign(self, tmp_path):
        rows = [row(CELL, 0, 0.01, 0.7, group_a="female", group_b="male")]
        (match,) = compare(tmp_path, rows).matches
        assert (match.ours.mean_d, match.ours.direction) == (-0.7, -1)
        assert rows[0]["cohens_d"] == 0.7


class TestInstances:
    @pytest.mark.parametrize(
        ("methods", "found", "left_out"),
        [
            ({"lime_many": "lime"}, [("lime_many", "lime")], []),
            # Of several, the one with the id counts, if there is one.
            ({"lime": "lime", "lime_many": "lime"}, [("lime", "lime")], ["method lime_many"]),
            ({"few": "lime", "many": "lime"}, [], ["method few, many"]),
            # An id that uses something else is that.
            ({"lime": "shap"}, [("lime", "shap")], []),
        ],
    )
    def test_which_instance_counts_for_a_method(self, tmp_path, methods, found, left_out):
        rows = [row((*CELL[:2], method, CELL[3]), 0, 0.01, 0.5) for method in methods]
        made = compare(tmp_path, rows, {"methods": [[id, use] for id, use in methods.items()]})
        assert [(m.ids[2], m.theirs.key.method) for m in made.matches] == found
        assert made.left_out == left_out


class TestMap:
    def test_a_model_with_another_name(self, tmp_path):
        rows = [row((CELL[0], "small", *CELL[2:]), 0, 0.01, 0.5)]
        assert compare(tmp_path, rows).matches == []
        (match,) = compare(tmp_path, rows, models={"small": "gpt2_scratch"}).matches
        assert match.ids[1] == "small"
        assert match.theirs.key[:4] == (CELL[0], "gpt2_scratch", *CELL[2:])
        assert match.theirs.table == "5"


class TestModels:
    """What is known of a model comes from what its training left behind."""

    def note(self, folder, model, spec, shapes=None, epochs=(3,)):
        for seed, n in enumerate(epochs):
            write_training(folder, "geco_all", model, spec, seed, n)
        if shapes:
            path = folder / "models" / "geco_all" / model / "0" / "model.safetensors"
            path.parent.mkdir(parents=True)
            save_file({f"w{i}": np.zeros(s, np.uint8) for i, s in enumerate(shapes)}, path)
        rows = [
            row(("geco_all", model, *CELL[2:]), seed, 0.01, 0.5) for seed, _ in enumerate(epochs)
        ]
        found = compare(folder, rows, models={model: model})
        (note,) = found.models
        assert (note.model, note.published) == (model, model)
        return note, found

    @pytest.mark.parametrize("damaged", [False, True])
    def test_no_record(self, tmp_path, damaged):
        path = tmp_path / "predictions" / "geco_all" / "bert" / "0.parquet"
        if damaged:
            path.parent.mkdir(parents=True)
            path.write_text("nothing")
        (note,) = compare(tmp_path, [row(CELL, 0, 0.01, 0.5)]).models
        assert (note.as_published, note.text) == (None, "no record of how it was made")

    @pytest.mark.parametrize(
        ("model", "spec", "shapes", "as_published", "text"),
        [
            ("bert", {"init": "scratch"}, [(30, 10), (7,)], False,
             "trained from scratch, the published one is pretrained; "
             "307 parameters, published 167,357,954"),
            ("tinybert", {"checkpoint": known_models()["tinybert"].checkpoint}, None, True, ""),
            ("tinybert", {"checkpoint": "a/b"}, None, False,
             "started from a/b, the published one from "),
            # A folder may be a copy, unless it is of another size.
            ("tinybert", {"checkpoint": "."}, None, None, ""),
            ("tinybert", {"checkpoint": "."}, [(5,)], False, ""),
            ("gpt2_scratch", {"checkpoint": "a/b"}, None, False,
             "started from a/b, the published one was trained from scratch"),
        ],
    )  # fmt: skip
    def test_what_a_model_started_from(self, tmp_path, model, spec, shapes, as_published, text):
        note, found = self.note(tmp_path, model, {"init": "pretrained", **spec}, shapes)
        assert note.as_published is as_published
        assert note.text.startswith(text)
        assert found.stand_ins == ([note] if as_published is False else [])

    @pytest.mark.parametrize(("size", "same"), [(14_350_874, True), (14_000_000, False)])
    def test_of_models_from_scratch_the_size_decides(self, tmp_path, monkeypatch, size, same):
        # TinyBERT's size: the published one from scratch would be written at 167 MB here
        from exparity.published import comparison
        from exparity.published.study import Key, load_study

        study = load_study("dhaini2025")
        key = Key("", "bert", metric="parameters")
        size_of_tiny = replace(study.values[key], mean=14_350_874)
        small = replace(study, values={**study.values, key: size_of_tiny})
        monkeypatch.setattr(comparison, "load_study", lambda _: small)
        note, _ = self.note(tmp_path, "bert_scratch", {"init": "scratch"}, [(size,)])
        assert note.as_published is same
