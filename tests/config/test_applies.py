"""What does not apply to a dataset leaves it out; what applies to none is an error."""

import pytest
from support import TINY, tiny

from exparity.artefacts import layout
from exparity.config.cautions import cautions, omissions
from exparity.core.errors import InputError
from exparity.tools.detectable import planned_samples

pytestmark = pytest.mark.contract


def experiment(datasets, metrics, **changes):
    return tiny(datasets=datasets, metrics=metrics, **changes)


@pytest.fixture
def own(tmp_path):
    """A table of one's own, with rationales and without groups."""
    path = tmp_path / "own.csv"
    rows = [f"a{i} b,{i % 2},0 1" for i in range(20)]
    path.write_text("\n".join(["text,label,why", *rows]) + "\n")
    return {"use": "table", "path": str(path), "group": None, "rationale": "why"}


BOTH = {"pairs_all": {}, "people": {"use": "compas"}}
WITH_BIOS = {"pairs_all": {"n_pairs": 40}, "bios": {"paired": False}}
MASS = {"mine": {"use": "mass_accuracy"}, "gini": {}}


def scored(made, *ids, artefact="scores"):
    """Ids of the cells of a grid, by default dataset and metric."""
    cells = made.cells(artefact)
    return list(
        dict.fromkeys(tuple(cell[id] for id in ids or ("dataset", "metric")) for cell in cells)
    )


class TestWhatADatasetLacks:
    def test_metrics_that_need_it_leave_the_dataset_out_with_a_line(self):
        metrics = {**MASS, "rationale_iou": {}}
        made = experiment(BOTH, metrics, analyses={"correctness": {}})
        marked = [("pairs_all", metric) for metric in metrics]
        assert scored(made) == [*marked, ("people", "gini")]
        assert [*made.tests()] == [*made.cells("scores")]
        assert list(omissions(made)) == [
            "metrics.mine, metrics.rationale_iou: not used on dataset 'people': it marks no words "
            "that carry the label"
        ]
        assert set(omissions(made)) <= set(cautions(made))
        random = made.grid.analyses["negative_control"]
        assert [(dataset, metric) for dataset, _, metric in random] == scored(made)
        assert made.grid.analyses["correctness"] == [("pairs_all", "bert_tiny")]
        read = made.inputs("compare", {"dataset": "people", "model": "bert_tiny"})
        assert {path.rpartition("/")[2] for path in read["scores"]} == {"gini.parquet"}

    def test_a_dataset_without_counterfactuals_is_not_scored_by_their_metrics(self):
        metrics, swap = (
            {"term_attribution": {}, "gini": {}},
            {"counterfactuals": {"bios": "gender_words"}},
        )
        made = experiment({"bios": {}, "pairs_all": {}}, metrics, **swap)
        assert scored(made) == [
            ("bios", "term_attribution"), ("bios", "gini"), ("pairs_all", "gini"),
        ]  # fmt: skip
        assert list(omissions(made)) == [
            "metrics.term_attribution: not used on dataset 'pairs_all': it has no generator of "
            "counterfactuals (counterfactuals.pairs_all names one)"
        ]
        assert made.grid.analyses["reliance"] == [("bios", "bert_tiny")]

    def test_a_dataset_without_any_metric_is_not_explained(self):
        made = experiment(BOTH, {"rationale_iou": {}})
        assert scored(made, "dataset", artefact="explanations") == [("pairs_all",)]
        assert scored(made, "dataset", artefact="predictions") == [("pairs_all",), ("people",)]
        assert made.grid.analyses["negative_control"] == [
            ("pairs_all", "bert_tiny", "rationale_iou")
        ]
        assert made.grid.analyses["compare"] == [("pairs_all", "bert_tiny")]
        assert len(made.grid.analyses["bias"]) == 2
        assert list(omissions(made))[-1] == (
            "datasets.people: no metric applies to it, so that it is not explained"
        )


def test_methods_and_metrics_with_datasets_are_used_on_these_alone():
    made = experiment(
        WITH_BIOS,
        {"gini": {}, "mass_accuracy": {"datasets": ["bios"]}},
        methods={"gradient": {"datasets": ["pairs_all"]}, "uniform_random": None},
    )
    assert scored(made, "dataset", "method", "metric") == [
        ("pairs_all", "gradient", "gini"),
        ("pairs_all", "uniform_random", "gini"),
        ("bios", "uniform_random", "gini"),
        ("bios", "uniform_random", "mass_accuracy"),
    ]
    assert not list(omissions(made))  # its author knows


class TestDataWithoutGroups:
    @pytest.mark.parametrize("said", [{"groups": [], "group": "group"}, {"group": None}])
    def test_are_scored_and_not_compared(self, own, said):
        made = experiment(
            {"pairs_all": {}, "own": {**own, **said}}, {"gini": {}, "mass_accuracy": {}}
        )
        metrics = [(d, m) for d in ("pairs_all", "own") for m in ("gini", "mass_accuracy")]
        assert scored(made) == metrics
        assert {cell["dataset"] for cell in made.tests()} == {"pairs_all"}
        analyses = made.grid.analyses
        of_own = {name for name, targets in analyses.items() if ("own", "bert_tiny") in targets}
        assert of_own == {"bias"}
        assert all(target[0] == "pairs_all" for target in analyses["negative_control"])
        assert list(omissions(made)) == ["datasets.own: it has no groups, so it is not compared"]
        report = {
            (artefact, ids.get("dataset")) for artefact, ids in layout.report_inputs(made.grid)
        }
        assert {artefact for artefact, dataset in report if dataset == "own"} == {
            "data", "predictions", "explanations", "scores", "bias",
        }  # fmt: skip

    def test_what_metrics_read_is_planned(self, own):
        made = experiment({"own": own}, {"forward_simulation": {}})
        foresights = layout.cells(made.grid, "foresight")
        assert [cell["dataset"] for cell in foresights] == ["own"] * len(made.seeds)

    def test_groups_of_raters_are_compared_without_a_line(self):
        marked = {"marked": {"use": "fair_rationales"}}
        made = experiment(marked, {"gini": {}}, analyses={"whose_rationale": {}})
        assert made.grid.analyses["whose_rationale"] == [("marked",)]
        assert not list(omissions(made))
        made = experiment(marked, {"gini": {}})
        assert list(omissions(made)) == ["datasets.marked: it has no groups, so it is not compared"]

    def test_an_analysis_that_needs_no_raters_does_not_compare_their_groups(self):
        marked = {"marked": {"use": "fair_rationales"}}
        made = experiment(marked, {"mass_accuracy": {}}, analyses={"correctness": {}})
        line = "datasets.marked: it has no groups, so it is not compared"
        assert line in list(omissions(made))

    def test_correctness_of_data_without_groups_is_measured(self, own):
        made = experiment({"own": own}, {"mass_accuracy": {}}, analyses={"correctness": {}})
        assert made.grid.analyses["correctness"] == [("own", "bert_tiny")]
        assert planned_samples(made, None) == []

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (
                {"analyses": {"attribution_difference": {}}},
                "difference: no dataset has groups; leave",
            ),
            ({"counterfactuals": {"own": "gender_words"}}, "dataset 'own' has no groups to change"),
            (
                {"models": {"fair": {**TINY["models"]["bert_tiny"], "debias": "us"}}},
                "needs groups, and dataset 'own' has none; leave the dataset out of models.fair",
            ),
        ],
    )
    def test_what_needs_groups_is_refused(self, own, changes, message):
        with pytest.raises(InputError) as error:
            experiment({"own": own}, {"gini": {}}, **changes)
        assert message in str(error.value)


def test_a_table_may_bring_them(own):
    assert list(experiment({"own": own}, MASS).metrics) == ["mine", "gini"]
    with pytest.raises(InputError, match=r"does not apply to 'own': .* \(datasets\.own\.rationale"):
        experiment({"own": {**own, "rationale": None}}, MASS)
