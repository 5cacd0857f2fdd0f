"""Chen et al. (2024): statements recounted from its tables, and our gaps beside the published."""

import csv
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from published.made_up import filled

import exparity.report
from exparity import InputError, cli
from exparity.artefacts.files import write_artefact
from exparity.artefacts.grid import grid_text
from exparity.artefacts.layout import path_of
from exparity.debiasing import INTERVENTIONS
from exparity.debiasing.recipes import RECIPES, calls_of
from exparity.published.claims import value_of
from exparity.published.comparison import compare_gaps
from exparity.published.expressions import Counted
from exparity.published.gaps import recipe_of
from exparity.published.output import comparison_summary
from exparity.published.study import Key, Value, load_study
from exparity.report.sections import SECTIONS
from exparity.report.templating import html_environment
from exparity.stages.compare_published import compare_published
from exparity.stats.rms import rms

VERDICTS = {
    **dict.fromkeys((f"c{i}" for i in (1, 2, 4, 5, 6, 7, 8, 9, 14)), "holds"),
    "c3": "in part",
    **dict.fromkeys((f"c{i}" for i in (10, 11, 12, 13)), "does not hold"),
}
CHECKPOINTS = {"bert": "bert-base-uncased", "zari": "fairnlp/albert-cda", "mine": "./mine"}


@pytest.fixture(scope="module")
def study():
    return load_study("chen2024")


def recorded(recipe):
    """Interventions as artefacts record them."""
    written = calls_of(recipe, "x") if recipe else []
    return [{"use": c["use"], "params": {k: c[k] for k in c if k != "use"}} for c in written]


def classifier(results, dataset, model, seed, recipe, rows, order=("male", "female")):
    """Write predictions' metadata and a bias artefact of (quantity, class, value)."""
    ids = {"dataset": dataset, "model": model, "seed": seed}
    parameters = {"model": {"checkpoint": CHECKPOINTS[model.partition("_")[0]]}}
    if recipe:
        parameters["debias"] = recorded(recipe)
    for artefact, content, extra in (
        ("predictions", [], {}),
        ("bias", rows, {"groups": order, "labels": ["non_toxic", "toxic"], "attribute": "gender"}),
    ):
        of_groups = {"group": order[0], "group_b": order[1]}
        content = [
            filled("bias", quantity=quantity, class_name=name, value=value, n=10)
            | (of_groups if quantity != "accuracy" else {})
            for quantity, name, value in content
        ]
        path = results / path_of(artefact, ids)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_artefact(
            path, artefact, content, ids, stage="finetune", parameters=parameters, extra=extra
        )
    grid = {"datasets": [["bios", "bias_in_bios"], ["jigsaw", "jigsaw_gender"]]}
    (results / "grid.json").write_text(grid_text(grid))


class TestTables:
    def test_every_statement_has_the_verdict_of_its_numbers(self, tmp_path):
        results = compare_gaps(tmp_path, "chen2024", {}).claims
        assert {result.claim.id: result.verdict for result in results} == VERDICTS
        assert {result.our_verdict for result in results} == {""}

    def test_rms_over_classes_is_as_printed(self, study):
        for method, metric, expected in (
            ("normal", "sg_tpr", 7.712),
            ("normal", "cg_tpr", 2.474),
            ("cda", "cg_tpr", 0.122),
        ):
            ids = "biasbios", "albert_large", method, metric
            gaps = [g.mean for key, g in study.values.items() if key[:4] == ids and key.class_name]
            assert len(gaps) == 28
            assert 100 * float(rms(np.array(gaps))) == pytest.approx(expected, abs=6e-4)

    @pytest.mark.parametrize(
        ("function", "methods", "expected"),
        [
            ("below", ("a", "b", "c"), 1.0),
            ("change", ("a", "b"), 50.0),
            ("points", ("a", "b"), -5.0),
        ],
    )
    def test_functions_by_hand(self, function, methods, expected):
        means = {"a": -0.03, "b": 0.02, "c": -0.04}
        values = [Value(Key("d", "m", name, "gap"), v, 0.1, 3) for name, v in means.items()]
        counted = Counted(function, {"dataset": ("d",)}, names=("gap", *methods))
        assert value_of(counted, "", values, {}) == pytest.approx((expected, expected))
        assert value_of(counted, "", [], {}) is None


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
        assert mixed.note == comparison.study.facts["mixed"]
        assert not found["sg_tpr_rms"].note
        assert found["sg_tpr_rms"].ours == pytest.approx(0.1)  # an RMS has no sign
        text = comparison_summary(comparison)
        assert "+90.00 ± 0.00" in text
        assert "mixed: OS-CDA" in text

    def test_a_statement_is_counted_in_our_runs_once_all_of_it_is_there(self, tmp_path):
        for recipe, value in (("", 0.02), ("cda", 0.05)):
            rows = [("selection_rate_gap", "toxic", value), ("tpr_gap", "toxic", value)]
            rows.append(("tpr_gap", "non_toxic", value))
            rows += [(f"causal_{q}", c, 0.01 + (recipe == "cda")) for q, c, _ in rows[:3]]
            classifier(tmp_path, "jigsaw", f"bert_{recipe}", 0, recipe, rows)
        verdicts = {
            r.claim.id: r.our_verdict for r in compare_gaps(tmp_path, "chen2024", {}).claims
        }
        assert set(verdicts.values()) == {""}
        for recipe in ("os", "us", "rw"):
            rows = [("causal_selection_rate_gap", "toxic", 0.02)]
            rows += [("causal_tpr_gap", name, 0.02) for name in ("toxic", "non_toxic")]
            classifier(tmp_path, "jigsaw", f"bert_{recipe}", 0, recipe, rows)
        verdicts = {
            r.claim.id: r.our_verdict for r in compare_gaps(tmp_path, "chen2024", {}).claims
        }
        assert verdicts["c12"] == "holds"
        assert verdicts["c10"] == ""

    def test_the_probe_stands_beside_the_bag_of_words(self, tmp_path):
        path = tmp_path / path_of("term_weight_probe", {"dataset": "bios"})
        classifier(tmp_path, "bios", "mine", 0, "", [])
        path.parent.mkdir()
        rows = [
            {
                "debias": "none", "terms": "both", "weight": weight, "quantity": quantity,
                "group": "male", "group_b": "female", "class_name": name, "value": value, "n": 5,
            }
            for weight in (0.0, 1.0)
            for name in ("nurse", "surgeon")
            for quantity, value in (("tpr_gap", 0.25), ("causal_tpr_gap", 0.5 * weight))
        ]  # fmt: skip
        write_artefact(
            path, "term_weight_probe", rows, {"dataset": "bios"}, stage="x", parameters={}
        )
        comparison = compare_gaps(tmp_path, "chen2024", {})
        ours = {(m.method, m.metric, m.class_name): m.ours for m in comparison.gaps}
        assert len(ours) == 8
        assert ours["weight_1", "cg_tpr", "nurse"] == -0.5
        (c14,) = (r for r in comparison.claims if r.claim.id == "c14")
        assert (c14.ours, c14.our_verdict) == (((100.0, 100.0), (0.0, 0.0)), "holds")

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


def test_the_report_lists_every_statement_beside_the_gaps_of_its_grid(tmp_path):
    rows = [("selection_rate_gap", "toxic", 0.0123), ("causal_fpr_gap", "toxic", 0.02)]
    for model, seed in (("bert", 0), ("bert", 1), ("bert_stale", 0)):
        recipe = "us" if model == "bert_stale" else ""
        classifier(tmp_path, "jigsaw", model, seed, recipe, rows)
    runs = {("jigsaw", "bert", "0"), ("jigsaw", "bert", "1")}
    comparison = compare_gaps(tmp_path, "chen2024", {}, runs)
    assert {(match.method, match.runs) for match in comparison.gaps} == {("normal", 2)}
    (section,) = (section for section in SECTIONS if section.id == "published_gaps")
    assert section.build(SimpleNamespace(published={})) is None
    content = section.build(SimpleNamespace(published={"gaps": comparison}))
    templates = Path(exparity.report.__file__).parent / "templates" / "sections"
    source = (templates / "published_gaps.html.j2").read_text(encoding="utf-8")
    page = " ".join(html_environment().from_string(source).render(**content.values).split())
    for id, verdict in VERDICTS.items():
        (row,) = re.findall(rf"<tr><th scope=.row.>{id}: .*?</tr>", page)
        assert f"<td>{verdict} <small>" in row
        assert row.endswith("<td>–</td> </tr>")  # our runs lack what it is on
    assert page.count("-1.23 ± 0.00") == 1  # female − male


def test_the_command_prints_and_writes_it(tmp_path, capsys):
    output = tmp_path / "out"
    cli.main(["compare-published", str(tmp_path), "--study", "chen2024", "--output", str(output)])
    printed = capsys.readouterr().out
    assert "No classifier of these results has a counterpart" in printed
    lines = {line.split()[0]: line for line in printed.splitlines() if line.startswith("  c")}
    assert all(verdict in lines[id] for id, verdict in VERDICTS.items())
    claims = list(csv.DictReader((output / "claims.csv").read_text().splitlines()))
    assert {row["claim_id"]: row["verdict"] for row in claims} == VERDICTS
    with pytest.raises(InputError, match=r"no published study 'chen2023' here; .*'chen2024'"):
        compare_published(tmp_path, study="chen2023")


def test_recipes_are_known_by_what_they_do():
    names = {name: recipe_of(recorded(name)) for name in RECIPES}
    # Some are the same under two names: alone, an order says nothing.
    assert all(recorded(name) == recorded(found) for name, found in names.items())
    assert recipe_of([]) == ""
    assert recipe_of([{"use": "my_own", "params": {}}]) is None
    assert "my_own" not in INTERVENTIONS.ids()
