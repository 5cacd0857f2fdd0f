"""Chen et al. (2024): its printed tables, and our gaps beside the published."""

import re

import pytest
from debiasing.examples import interventions
from made_up import Results, filled
from published.made_up import page_of

from exparity import InputError, cli
from exparity.artefacts.grid import Grid, grid_text
from exparity.debiasing import INTERVENTIONS
from exparity.debiasing.recipes import RECIPES
from exparity.published.gaps import compare_gaps, recipe_of
from exparity.published.output import comparison_summary
from exparity.published.study import published_table
from exparity.stages.compare_published import compare_published

CHECKPOINTS = {"bert": "bert-base-uncased", "zari": "fairnlp/albert-cda", "mine": "./mine"}


def classifier(results, dataset, model, seed, recipe, rows, order=("male", "female")):
    """Write predictions' metadata and a bias artefact of (quantity, class, value)."""
    parameters = {"model": {"checkpoint": CHECKPOINTS[model.partition("_")[0]]}}
    if recipe:
        parameters["debias"] = interventions(recipe)
    made, of_groups = Results(results, order), {"group": order[0], "group_b": order[1]}
    made.write("predictions", [], dataset, model, seed, parameters=parameters)
    row = filled("bias", seed=seed, group="", group_b="")
    content = [
        {**row, "quantity": quantity, "class_name": name, "value": value}
        | (of_groups if quantity != "accuracy" else {})
        for quantity, name, value in rows
    ]
    labels = ["non_toxic", "toxic"]
    made.add_seed("bias", content, dataset, model, parameters=parameters, labels=labels)
    grid = Grid(datasets={"bios": "bias_in_bios", "jigsaw": "jigsaw_gender"})
    (results / "grid.json").write_text(grid_text(grid))


class TestOurs:
    def test_signs_are_the_studys_whatever_our_order(self, tmp_path):
        rows = [("tpr_gap", "toxic", 0.2), ("causal_selection_rate_gap", "toxic", 0.1)]
        classifier(tmp_path / "one", "jigsaw", "bert", 0, "", rows)
        turned = [(quantity, name, -value) for quantity, name, value in rows]
        order = "female", "male"
        classifier(tmp_path / "other", "jigsaw", "bert", 0, "", turned, order)
        for folder in ("one", "other"):
            comparison = compare_gaps(tmp_path / folder, "chen2024", {})
            ours = {match.metric: match.ours for match in comparison.gaps}
            assert ours == {"sg_tpr_toxic": -0.2, "cg_ppr": -0.1}
        (match,) = (m for m in comparison.gaps if m.metric == "sg_tpr_toxic")
        assert (match.theirs, match.theirs_sd) == pytest.approx((-0.0277, 0.0067))
        assert match.table == "Table 1"

    def test_runs_are_averaged_and_the_mixed_column_is_marked(self, tmp_path):
        for seed, value in enumerate((0.0004, 0.0006)):
            rows = [
                ("causal_fpr_gap_rms", "", value),
                ("accuracy", "", 0.9),
                ("tpr_gap_rms", "", 0.1),
            ]
            classifier(tmp_path, "bios", "zari_cda", seed, "cda", rows)
        comparison = compare_gaps(tmp_path, "chen2024", {})
        found = {match.metric: match for match in comparison.gaps}
        assert set(found) == {"cg_fpr_rms", "accuracy", "sg_tpr_rms"}
        assert {(m.model, m.method) for m in found.values()} == {("albert_large", "zari_w_cda")}
        mixed = found["cg_fpr_rms"]
        assert (mixed.ours, mixed.runs) == (pytest.approx(0.0005), 2)
        assert mixed.note == comparison.study.facts.mixed
        assert not found["sg_tpr_rms"].note
        assert found["sg_tpr_rms"].ours == pytest.approx(0.1)  # an RMS has no sign
        text = comparison_summary(comparison)
        assert "+90.00 ± 0.00" in text
        assert "mixed: OS-CDA" in text

    def test_the_probe_is_beside_the_bag_of_words(self, tmp_path):
        classifier(tmp_path, "bios", "mine", 0, "", [("accuracy", "", 0.9)])
        rows = [
            {
                "debias": "none", "terms": "all", "weight": weight, "quantity": quantity,
                "group": "male", "group_b": "female", "class_name": name, "value": value, "n": 5,
            }
            for weight in (0.0, 1.0)
            for name in ("nurse", "surgeon")
            for quantity, value in (("tpr_gap", 0.25), ("causal_tpr_gap", 0.5 * weight))
        ]  # fmt: skip
        Results(tmp_path).write("term_weight_probe", rows, "bios")
        comparison = compare_gaps(tmp_path, "chen2024", {})
        ours = {(m.method, m.metric, m.class_name): m.ours for m in comparison.gaps}
        assert len(ours) == 8
        assert ours["weight_1", "cg_tpr", "nurse"] == -0.5

    def test_every_published_gap_of_the_bag_of_words_has_a_counterpart(self, tmp_path):
        """All 952 of figures 3 and 12, also those with the words of one group scaled."""
        row = {"debias": "none", "group": "male", "group_b": "female", "n": 5}
        quantities = {"sg_tpr": "tpr_gap", "cg_tpr": "causal_tpr_gap"}
        table = published_table("chen2024", "fig3_fig12_bow_probe")
        rows = [
            {
                **row,
                "terms": {"both": "all"}.get(gap["scaled_terms"], gap["scaled_terms"]),
                "weight": float(gap["weight"]),
                "quantity": quantities[gap["metric"]],
                "class_name": gap["occupation"],
                "value": -float(gap["value"]) - 0.01,
            }
            for gap in table
        ]
        Results(tmp_path).write("term_weight_probe", rows, "bios")
        (tmp_path / "grid.json").write_text(grid_text(Grid(datasets={"bios": "bias_in_bios"})))
        comparison = compare_gaps(tmp_path, "chen2024", {})
        assert len(comparison.gaps) == len(table) == 952
        assert all(match.ours == pytest.approx(match.theirs + 0.01) for match in comparison.gaps)
        # Of 28 occupations each: 7 weights of all words, 5 of one group's, two gaps.
        assert len(comparison.by_class) == 2 * (7 + 5 + 5)
        for agreement in comparison.by_class:
            assert agreement.classes == 28
            assert agreement.deviation == pytest.approx(0.01)
        by_ids = {(a.method, a.metric): a for a in comparison.by_class}
        assert by_ids["weight_0", "cg_tpr"].rho is None  # all are 0
        assert by_ids["weight_5_female", "sg_tpr"].rho == pytest.approx(1)
        assert by_ids["weight_5_female", "sg_tpr"].table == "Figure 12a"
        text = comparison_summary(comparison)
        assert "Gaps over all classes" not in text
        assert (
            len(re.findall(r"weight_5_male +cg_tpr +28 .* 1\.00 +\+1\.00 +Figure 12d", text)) == 1
        )
        page = " ".join(page_of("published_gaps", gaps=comparison).split())
        assert page.count("<td>weight_5_male</td>") == 2

    def test_others_are_left_out_and_can_be_named(self, tmp_path):
        rows = [("tpr_gap_rms", "", 0.1)]
        classifier(tmp_path, "bios", "mine", 0, "us", rows)
        classifier(tmp_path, "bios", "bert_odd", 0, "os_cda_jigsaw", rows)
        comparison = compare_gaps(tmp_path, "chen2024", {})
        assert not comparison.gaps
        assert set(comparison.left_out) == {
            "mine on bios (another model)",
            "bert_odd on bios (another way of debiasing)",
        }
        (match,) = compare_gaps(tmp_path, "chen2024", {"mine": "albert_large"}).gaps
        assert (match.model, match.method, match.ours) == ("albert_large", "us", 0.1)
        with pytest.raises(InputError, match=r"--map mine=albert: .* did you mean 'albert_large'"):
            compare_gaps(tmp_path, "chen2024", {"mine": "albert"})


def test_the_report_shows_the_gaps_of_its_grid(tmp_path):
    rows = [("selection_rate_gap", "toxic", 0.0123), ("causal_fpr_gap", "toxic", 0.02)]
    for model, seed in (("bert", 0), ("bert", 1), ("bert_stale", 0)):
        recipe = "us" if model == "bert_stale" else ""
        classifier(tmp_path, "jigsaw", model, seed, recipe, rows)
    runs = {("jigsaw", "bert", "0"), ("jigsaw", "bert", "1")}
    comparison = compare_gaps(tmp_path, "chen2024", {}, runs)
    assert {(match.method, match.runs) for match in comparison.gaps} == {("normal", 2)}
    assert page_of("published_gaps") is None
    page = " ".join(page_of("published_gaps", gaps=comparison).split())
    assert page.count("-1.23 ± 0.00") == 1  # female − male


def test_the_command_prints_and_writes_it(tmp_path, capsys):
    output = tmp_path / "out"
    cli.main(["compare-published", str(tmp_path), "--study", "chen2024", "--output", str(output)])
    printed = capsys.readouterr().out
    assert "No classifier of these results has a counterpart" in printed
    assert (output / "gaps.csv").read_text().startswith("dataset,model,method,metric")
    with pytest.raises(InputError, match=r"no published study 'chen2023' here; .*'chen2024'"):
        compare_published(tmp_path, study="chen2023")


def test_recipes_are_known_by_what_they_do():
    names = {name: recipe_of(interventions(name)) for name in RECIPES}
    # Some are the same under two names: alone, an order says nothing.
    assert all(interventions(name) == interventions(found) for name, found in names.items())
    assert recipe_of([]) == ""
    assert recipe_of([{"use": "my_own", "params": {}}]) is None
    assert "my_own" not in INTERVENTIONS.ids()
