"""The benchmark of several methods: the numbers of its parts, any form of model, its outputs."""

import copy
import io
import json
import re
import sys

import numpy as np
import pytest
from scipy import stats

import exparity
from exparity import Benchmark, InputError
from exparity.benchmarking.datasets import load_texts
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.methods import METHODS
from exparity.metrics import METRICS

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]
RATIONALES = [[0, 1, 0, 0], None]
METHODS_HERE = ["gradient", "gradient_x_input", "occlusion"]


@pytest.fixture(scope="module")
def made(checkpoint):
    return exparity.benchmark(
        checkpoint, TEXTS, [0, 1], methods=METHODS_HERE, rationales=RATIONALES, seed=3
    )


@pytest.fixture(scope="module")
def checkpoint(classifiers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark") / "bert"
    classifiers["bert"].model.save_pretrained(folder)
    classifiers["bert"].tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.bits
def test_its_parts_are_those_of_explain_and_evaluate(made, checkpoint):
    classifier = exparity.load_classifier(checkpoint)
    assert [*made.explanations] == METHODS_HERE
    for method, explanations in made.explanations.items():
        alone = exparity.explain(classifier, TEXTS, [0, 1], method, 3)
        for one, other in zip(explanations, alone, strict=True):
            np.testing.assert_array_equal(one.scores, other.scores)
        for metric in ("comprehensiveness", "sufficiency", "loo_correlation", "rationale_auprc"):
            expected = exparity.evaluate(classifier, alone, metric, 3, rationales=RATIONALES)
            np.testing.assert_array_equal(made.scores[method, metric], expected)
            assert made.table().loc[method, metric] == pytest.approx(np.nanmean(expected))
    assert set(made.seconds) == set(METHODS_HERE)
    assert min(made.seconds.values()) > 0


def test_all_means_all_that_can_work(checkpoint):
    methods = {"gradient": {}, "occlusion": {}, "lime": {"num_samples": 30}}
    made = exparity.benchmark(checkpoint, TEXTS[0], methods=methods, metrics="all")
    assert made.table().shape == (len(methods), len({m for _, m in made.scores}) + 1)
    assert not any(metric.startswith("rationale") for _, metric in made.scores)
    assert "comprehensiveness" in made.table()
    explained = Benchmark(checkpoint, TEXTS[0]).explain("all").explanations
    assert "pattern_variant" not in explained
    assert {"gradient", "deeplift", "occlusion", "lime", "shap", "uniform_random"} < {*explained}
    with_training = Benchmark(checkpoint, TEXTS[0], training=(TEXTS, [0, 1]))
    assert "pattern_variant" in with_training.explain("pattern_variant").explanations


def test_stages_add_to_what_is_there(checkpoint):
    made = Benchmark(checkpoint, TEXTS)
    with pytest.raises(InputError, match=r"no explanations to score yet; call explain\(\) first"):
        made.evaluate()
    made.explain("gradient").evaluate("gini").explain(["occlusion"])
    assert [*made.scores] == [("gradient", "gini")]
    assert np.isnan(made.table().loc["occlusion", "gini"])
    made.evaluate({"sparsity": {"tau": 0.2}})
    assert list(made.table()) == ["gini", "sparsity", "seconds"]
    assert repr(made) == (
        "<Benchmark of 2 texts; methods: gradient, occlusion; metrics: gini, sparsity>"
    )
    made.explain("gradient")  # what was scored of it is of other explanations now
    assert {method for method, _ in made.scores} == {"occlusion"}


def test_one_method_and_one_metric_take_part_twice_by_names_of_the_caller(checkpoint, tmp_path):
    """As ``use`` does in a config; several files of other tools join the same way."""
    classifier = exparity.load_classifier(checkpoint)
    files = {}
    for name, values in (("theirs", [1, 0, 0, 0]), ("others", [0, 0, 2, 0])):
        files[name] = tmp_path / f"{name}.jsonl"
        files[name].write_text(json.dumps({"text": TEXTS[0], "target": 1, "scores": values}))
    methods = {
        "lime": {"num_samples": 20},
        "lime_30": {"use": "lime", "num_samples": 30},
        "chance": {"use": "uniform_random"},
        **{name: {"use": "imported", "path": str(path)} for name, path in files.items()},
    }
    metrics = {
        "sufficiency": {},
        "sparse": {"use": "sparsity", "tau": 0.2},
        "sparsest": {"use": "sparsity", "tau": 0.9},
    }
    bench = exparity.benchmark(classifier, TEXTS[:1], 1, methods=methods, metrics=metrics)
    assert [*bench.explanations] == [*methods]
    alone = exparity.explain(classifier, TEXTS[:1], 1, "lime", num_samples=30)
    np.testing.assert_array_equal(bench.explanations["lime_30"][0].scores, alone[0].scores)
    for name, tau in (("sparse", 0.2), ("sparsest", 0.9)):
        expected = exparity.evaluate(classifier, alone, "sparsity", tau=tau)
        np.testing.assert_array_equal(bench.scores["lime_30", name], expected)
    assert bench.explanations["others"][0].scores.sum() == pytest.approx(2)
    assert bench.best() == {"sufficiency": ["lime", "lime_30", "theirs", "others"]}
    bench.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<li>lime_30: lime; num_samples = 30</li>" in page
    assert ">lime_30<" in page
    assert ">sparsest " in page


def test_concentrated_explanations_are_not_called_the_best(made):
    scores = {"gradient": np.linspace(0.8, 0.9, 30), "occlusion": np.linspace(0.1, 0.2, 30)}
    shown = scored(made, "gini", scores)
    assert shown.best() == {}
    assert not any(best for ((_, best),) in shown._mean_cells().values())
    assert not any(best for ((_, best),) in shown._column_cells(slice(1)).values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["comprehensivness"]}, "unknown metric 'comprehensivness'"),
        ({"metrics": {"a": {"use": "sparsity", "tav": 1}}}, "metric sparsity.*tav"),
        ({"metrics": {"a": {"use": 3}}}, r"metrics\.a\.use: must be an id, not 3"),
        ({"methods": {"gradient": {}, "a": {"use": "lmie"}}}, "unknown method 'lmie'"),
        ({"methods": {"gradient": {}, "lime": {"samples": 3}}}, "method lime.*samples"),
        ({"plugins": ["absent.py"]}, "plugins: no file"),
        ({"plugins": "absent.py"}, "plugins must be a list"),
    ],
)
def test_misspelt_names_are_refused_before_explaining_takes_time(
    checkpoint, monkeypatch, options, message
):
    def refuse(*_, **__):
        raise AssertionError("explained something")

    monkeypatch.setattr(exparity.methods, "explain_encodings", refuse)
    with pytest.raises(InputError, match=message):
        exparity.benchmark(checkpoint, TEXTS, **options)


def test_a_plug_in_brings_its_metric(checkpoint, tmp_path, monkeypatch):
    known = {id: METRICS.get(id) for id in METRICS.ids()}
    monkeypatch.setattr(METRICS, "_entries", known)  # what it adds is gone after the test
    plugin = tmp_path / "benchmarked.py"
    plugin.write_text(
        "import numpy as np\n"
        "from exparity.metrics import metric\n"
        "@metric('benchmarked_size', direction='higher', bounds=(0.0, 1e9), unit='tokens',\n"
        "        kind='complexity', needs='attributions', stochastic=False, reference='none')\n"
        "def benchmarked_size(scores: np.ndarray, content_mask: np.ndarray) -> np.ndarray:\n"
        '    """Number of tokens."""\n'
        "    return content_mask.sum(1).astype(float)\n"
    )
    bench = exparity.benchmark(
        checkpoint,
        TEXTS,
        methods="gradient",
        metrics={"size": {"use": "benchmarked_size"}},
        plugins=[str(plugin)],
    )
    assert (bench.scores["gradient", "size"] >= 4).all()


def test_a_terminal_shows_which_method_and_metric_is_at_work(checkpoint, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    methods = {"gradient": {}, "lime_20": {"use": "lime", "num_samples": 20}}
    exparity.benchmark(checkpoint, TEXTS[:1], methods=methods, metrics="gini")
    for label in ("explaining by lime_20", "scoring lime_20 by gini"):
        assert label in terminal.getvalue()
    before = terminal.getvalue()
    terminal.isatty = lambda: False
    exparity.benchmark(checkpoint, TEXTS[:1], methods=methods, metrics="gini")
    assert terminal.getvalue() == before


def test_a_saved_page_holds_what_a_notebook_shows(made, tmp_path):
    made.save(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert "<title>Explanations of bert</title>" in page
    assert f"2 texts; seed 3; made by exparity {exparity.__version__} on " in page
    assert "<li>gradient: defaults</li>" in page
    assert made._repr_html_() in page
    assert "<b>Which method should I use?</b> By comprehensiveness" in page
    for method in METHODS_HERE:
        assert page.count(f">{METHODS.get(method).display}<") == 1 + len(TEXTS)
    assert "Comprehensiveness ↑" in page
    assert "Sufficiency ↓" in page


def test_the_best_is_marked_by_the_metrics_direction(made):
    cells, table = made._column_cells(slice(None)), made.table()
    for column, (metric, best) in enumerate([("comprehensiveness", max), ("sufficiency", min)]):
        marked = {method for method, values in cells.items() if values[column][1]}
        assert marked == set(table.index[table[metric] == best(table[metric])])


def test_a_training_of_the_workflow_is_named_with_its_model(made, monkeypatch):
    config = made.classifier.model.config
    monkeypatch.setattr(config, "name_or_path", "results/models/bios/bert_scratch/0")
    assert made._model_name == "bert_scratch, training 0"


def scored(made, metric, scores):
    """The benchmark with other scores of as many texts as there are values."""
    shown = copy.copy(made)
    shown.explanations = dict.fromkeys(scores)
    shown.scores = {(id, metric): np.asarray(values) for id, values in scores.items()}
    shown._texts = ["a text"] * len(next(iter(scores.values())))
    shown.seconds = dict.fromkeys(scores, 1.0)
    return shown


@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency"])
def test_the_best_methods_are_those_that_a_paired_test_does_not_tell_apart(made, metric):
    rng = np.random.default_rng(0)
    texts = rng.normal(size=40)
    sign = 1 if metric == "comprehensiveness" else -1
    scores = {
        "gradient": texts + sign * 1.0 + rng.normal(0, 0.3, 40),
        "lime": texts + sign * 1.0 + rng.normal(0, 0.3, 40),
        "occlusion": texts + rng.normal(0, 0.3, 40),
        "uniform_random": texts + sign * 9.0,
    }
    shown = scored(made, metric, scores)
    assert shown.best() == {metric: []}  # no method is as good as random ones here
    worse = "no method is shown to be better than random explanations"
    assert shown._which_method() == [f"By {metric}, {worse}."]
    del shown.explanations["uniform_random"]
    assert shown.best() == {metric: ["gradient", "lime"]}
    marked = {method for method, ((_, best),) in shown._mean_cells().items() if best}
    assert marked == {"gradient", "lime"}
    sentence = f"By {metric}, Gradient and LIME are best, and not told apart."
    assert shown._which_method() == [sentence]


def test_one_text_shows_no_method_to_be_better(made):
    shown = scored(made, "comprehensiveness", {"gradient": [0.9], "lime": [0.1]})
    assert shown._which_method() == [
        "One text shows no difference between methods. Give more texts."
    ]
    assert shown.best() == {"comprehensiveness": ["gradient", "lime"]}
    assert not any(best for ((_, best),) in shown._mean_cells().values())


def test_intervals_are_those_of_the_t_test_over_texts(made):
    values = np.random.default_rng(1).normal(size=30)
    values[3] = np.nan
    table = scored(made, "gini", {"gradient": values}).table(intervals=True)
    defined = values[~np.isnan(values)]
    own = stats.ttest_1samp(defined, 0).confidence_interval(0.95)
    row = table.loc["gradient"]
    found = row[["gini", "gini_low", "gini_high", "gini_n"]]
    assert list(found) == pytest.approx([defined.mean(), *own, 29])
    assert list(table) == ["gini", "gini_low", "gini_high", "gini_n", "seconds"]


def test_explanations_of_other_tools_join_and_are_scored(checkpoint):
    bench = Benchmark(checkpoint, TEXTS, [0, 1]).explain("occlusion")
    theirs = [
        exparity.Explanation.from_words(
            bench.classifier, text, np.arange(len(text.split()), dtype=float), target
        )
        for target, text in enumerate(TEXTS)
    ]
    bench.add("theirs", theirs).evaluate("comprehensiveness")
    alone = exparity.evaluate(bench.classifier, theirs, "comprehensiveness")
    np.testing.assert_allclose(bench.scores["theirs", "comprehensiveness"], alone)
    assert list(bench.table().index) == ["occlusion", "theirs"]
    assert ">theirs<" in bench._repr_html_()
    for name, given, message in (
        ("lime", theirs, "'lime' is a method"),
        ("theirs", theirs, "'theirs' is a method"),
        ("others", theirs[:1], "1 for 2 texts"),
        ("others", theirs[::-1], "that of text 0 is of class 1"),
    ):
        with pytest.raises(InputError, match=message):
            bench.add(name, given)


@pytest.mark.parametrize(
    ("scores", "marked"),
    [
        ({"uniform_random": 0.0, "gradient": 0.2, "occlusion": 0.4}, {"gradient"}),
        ({"uniform_random": 0.1, "gradient": 0.2, "occlusion": 0.2}, set()),
        ({"gradient": 0.2, "occlusion": 0.2, "lime": 0.4}, {"gradient", "occlusion"}),
    ],
)
def test_neither_random_explanations_nor_equal_values_alone_are_marked(made, scores, marked):
    shown = copy.copy(made)
    shown.explanations = dict.fromkeys(scores)
    shown.scores = {(id, "sufficiency"): np.array([value]) for id, value in scores.items()}
    cells = shown._column_cells(slice(None))
    assert {method for method, ((_, best),) in cells.items() if best} == marked


def test_numbers_of_any_size_have_three_digits_and_the_best_value_alone_is_marked(made):
    scores = {"gradient": 12.0, "gradient_x_input": 0.02, "occlusion": 0.004, "lime": 335.0}
    scores |= {"shap": 3e-9, "uniform_random": 0.0}
    shown = copy.copy(made)
    shown.explanations = dict.fromkeys(scores)
    shown.scores = {(id, "sufficiency"): np.array([value]) for id, value in scores.items()}
    cells = shown._column_cells(slice(None))
    texts = {id: text for id, ((text, _),) in cells.items()}
    assert [*texts.values()] == ["12.0", "0.0200", "0.00400", "335", "3.00e−09", "0"]
    assert [id for id, ((_, best),) in cells.items() if best] == ["shap"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"texts": []}, "texts: there is none to explain"),
        ({"methods": "gradien"}, "unknown method 'gradien'; did you mean 'gradient'"),
        ({"metrics": ["gina"]}, "unknown metric 'gina'; did you mean 'gini'"),
        ({"rationales": [[1, 0, 0, 0]]}, "1 rationales for 2 explanations"),
        ({"targets": "plumber"}, "target 'plumber'; known: female, male"),
    ],
)
def test_wrong_arguments_get_one_clear_line(checkpoint, changed, message):
    arguments = {"model": checkpoint, "texts": TEXTS, "methods": "gradient", "metrics": "gini"}
    with pytest.raises(InputError, match=message) as caught:
        exparity.benchmark(**{**arguments, **changed})
    assert "\n" not in str(caught.value)


def test_the_study_gives_options_where_none_are_given(checkpoint):
    """Those of ferret: evidence for the target alone, and the mean of 1 and 9 words as k."""
    rationales = [[0, 1, 0, 0], [1] * 9]
    made = Benchmark(checkpoint, TEXTS, 1, rationales=rationales, study="ferret")
    made.explain(["gradient_x_input", "integrated_gradients"]).evaluate("rationale_auprc")
    made.evaluate({"rationale_token_f1": {}, "rationale_iou": {"top_k": 2}})
    assert made.explanations["integrated_gradients"][0].origin.params == {"pooling": "sum"}
    explanations = made.explanations["gradient_x_input"]
    for metric, options in {
        "rationale_auprc": {"interpolation": "linear"},
        "rationale_token_f1": {"top_k": 5},
        "rationale_iou": {"top_k": 2},
    }.items():
        expected = exparity.evaluate(
            None,
            explanations,
            metric,
            rationales=rationales,
            attribution="positive",
            **options,
        )
        np.testing.assert_array_equal(made.scores["gradient_x_input", metric], expected)
    with pytest.raises(InputError, match=r"study: Input .* 'ferret', found 'text'"):
        Benchmark(checkpoint, TEXTS, study="text")


@pytest.mark.parametrize(("name", "blocks_of_page"), [("benchmarking", 8), ("ferret", 3)])
def test_the_pages_in_the_docs_run(
    repository, checkpoint, pair_checkpoints, capsys, name, blocks_of_page
):
    page = (repository / "docs" / f"{name}.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.DOTALL)
    assert len(blocks) == blocks_of_page
    for code, output in blocks:
        for one, other in (
            ("results/models/bios/bert_scratch/0", str(checkpoint)),
            ("results/nli/models/nli/tiny/0", pair_checkpoints["bert"]),
            ("baker", "male"),
        ):
            code = code.replace(one, other)
        exec(compile(code, f"{name}.md", "exec"), {})
        assert output in capsys.readouterr().out


PAIRS = {"use": "pairs_all", "n_pairs": 10}


class TestDatasets:
    def test_texts_and_rationales_of_a_dataset_are_its_test_texts(self, checkpoint):
        examples = [e for e in load_dataset("pairs_all", DataSource("data"), {"n_pairs": 10})
                    if e.split == "test"]  # fmt: skip
        metrics = ["gini", "rationale_auprc"]
        made = exparity.benchmark(checkpoint, PAIRS, methods="gradient", metrics=metrics)
        given = exparity.benchmark(
            checkpoint,
            [example.parts for example in examples],
            methods="gradient",
            metrics=metrics,
            rationales=[example.rationale for example in examples],
        )
        for metric in metrics:
            np.testing.assert_array_equal(
                made.scores["gradient", metric], given.scores["gradient", metric]
            )

    def test_a_part_of_a_dataset_is_the_sample_of_a_run(self, checkpoint):
        wanted = {"use": "pairs_all", "n_pairs": 40}
        examples = [e for e in load_dataset("pairs_all", DataSource("data"), {"n_pairs": 40})
                    if e.split == "test"]  # fmt: skip
        made = Benchmark(checkpoint, wanted, max_examples=4).explain("gradient")
        texts = [explanation.text for explanation in made.explanations["gradient"]]
        assert texts == [example.text for example in sample(examples, 4)]

    def test_its_training_texts_serve_where_the_classes_are_the_same(self, classifiers):
        names = ("male", "female")
        dataset = load_texts(PAIRS, None, "data")
        texts, labels = dataset.training_for(names)
        assert len(texts) == len(dataset.training)
        for label, example in zip(labels, dataset.training, strict=True):
            assert names[label] == dataset.classes[example.label]
        assert dataset.training_for(("x", "y")) is None

    def test_a_table_of_ones_own_is_a_dataset(self, checkpoint, tmp_path):
        rows = "".join(f"she is number {i},{'ab'[i % 2]},{i % 2},test\n" for i in range(6))
        (tmp_path / "posts.csv").write_text(f"text,label,group,split\n{rows}")
        table = {
            "use": "table",
            "path": str(tmp_path / "posts.csv"),
            "group": None,
            "split": "split",
        }
        made = Benchmark(checkpoint, table).explain("gradient")
        assert len(made.explanations["gradient"]) == 6

    @pytest.mark.parametrize(
        ("texts", "options", "words"),
        [
            ({"n_pairs": 10}, {}, r"names no dataset; add its id, such as 'use': 'pairs_all'"),
            ({"use": "pairs_al"}, {}, r"unknown dataset 'pairs_al'.* did you mean 'pairs_all'"),
            ({"use": "pairs_all", "n_pair": 1}, {}, r"dataset pairs_all: unknown option 'n_pair'"),
            ("one text", {"max_examples": 1}, r"max_examples: takes a part of a dataset"),
        ],
    )
    def test_what_is_no_dataset_is_refused(self, checkpoint, texts, options, words):
        with pytest.raises(InputError, match=words):
            Benchmark(checkpoint, texts, **options)


def test_a_page_names_the_function_that_is_explained(tmp_path):
    def sure(texts):
        return [[0.2, 0.8] if "warm" in text else [0.6, 0.4] for text in texts]

    classifier = exparity.load_classifier(sure, classes=["negative", "positive"])
    made = exparity.benchmark(classifier, "a warm film", methods=["occlusion"])
    made.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Explanations of the function test_a_page_names" in page
