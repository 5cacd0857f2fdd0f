"""Scripts for ferret-xai 0.4.2 run after changing the import."""

import numpy as np
import pytest
from tiny_models import make, wordpiece

import exparity
from exparity import InputError
from exparity.config.presets import preset
from exparity.data.files import DataSource
from exparity.ferret import (
    AOPC_Comprehensiveness_Evaluation,
    Benchmark,
    Dataset,
    GradientExplainer,
    LIMEExplainer,
)
from exparity.types import Example

TEXT = "the girl sings ."
OPTIONS = preset("ferret")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tokenizer = wordpiece()
    model = make("bert", tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(folder)


@pytest.fixture(scope="module")
def tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def corpus(tokenizer):
    def example(i, words, split, rationale):
        return Example(f"{i}", tuple(words.split()), i % 2, "a", split, rationale=rationale)

    return Dataset(
        "made up",
        tokenizer,
        {
            "train": [example(0, "the girl sings", "train", (0, 1, 1))],
            "test": [
                example(1, "the girl sings", "test", (0, 1, 0)),
                example(2, "the boy runs", "test", None),
            ],
        },
    )


def test_the_script_of_ferrets_readme_runs(folder):
    """Its lines, with a folder in place of a checkpoint of the Hub."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    name = folder
    model = AutoModelForSequenceClassification.from_pretrained(name)
    tokenizer = AutoTokenizer.from_pretrained(name)

    bench = Benchmark(model, tokenizer)
    explanations = bench.explain("You look stunning!", target=1)
    evaluations = bench.evaluate_explanations(explanations, target=1)

    table = bench.show_evaluation_table(evaluations)
    assert list(table.data.index) == [
        "Partition SHAP", "LIME", "Gradient", "Gradient (x Input)", "Integrated Gradient",
        "Integrated Gradient (x Input)",
    ]  # fmt: skip
    assert list(table.data.columns) == ["aopc_compr", "aopc_suff", "taucorr_loo"]
    assert next(iter(bench.show_table(explanations).data.columns)) == "y"  # of [CLS] y ##o ##u
    probabilities = bench.score("You look stunning!")
    assert list(probabilities) == list(model.config.id2label.values())
    assert sum(probabilities.values()) == pytest.approx(1)


def test_scores_are_those_of_exparity_divided_by_their_norm(model, tokenizer):
    bench = Benchmark(model, tokenizer)
    classifier = exparity.load_classifier((model, tokenizer))
    methods = ("shap", "lime", "gradient", "gradient_x_input", "integrated_gradients",
               "integrated_gradients_x_input")  # fmt: skip
    for found, method in zip(bench.explain(TEXT, target=1), methods, strict=True):
        options = OPTIONS["methods"].get(method, {})
        (expected,) = exparity.explain(classifier, [TEXT], [1], method, **options)
        np.testing.assert_allclose(
            found.scores, expected.scores / np.abs(expected.scores).sum(), atol=1e-12
        )
        assert list(found.tokens) == list(expected.tokens)
        evaluated = bench.evaluate_explanation(found, target=1)
        known = {evaluation.name: evaluation.score for evaluation in evaluated.evaluation_scores}
        (score,) = exparity.evaluate(classifier, [expected], "comprehensiveness")
        assert known["aopc_compr"] == pytest.approx(score, abs=1e-6)


def test_explainers_and_evaluators_are_chosen(model, tokenizer):
    bench = Benchmark(
        model,
        tokenizer,
        explainers=[GradientExplainer(model, tokenizer), LIMEExplainer(model, tokenizer)],
        evaluators=[AOPC_Comprehensiveness_Evaluation(model, tokenizer)],
    )
    explanations = bench.explain(TEXT, normalize_scores=False)
    assert [one.explainer for one in explanations] == ["Gradient (x Input)", "LIME"]
    (first, _) = bench.evaluate_explanations(explanations)
    assert [one.name for one in first.evaluation_scores] == ["aopc_compr"]


def test_instances_have_a_mark_for_each_content_token(corpus, tokenizer):
    instance = corpus.get_instance(0)
    assert instance == corpus[0]
    of_label = instance["rationale"][instance["label"]]
    marked = [t for t, m in zip(instance["tokens"][1:-1], of_label, strict=True) if m]
    assert marked == tokenizer.tokenize("girl")
    assert instance["rationale"][1 - instance["label"]] == []
    assert corpus[1]["rationale"] == [[], []]
    assert (len(corpus), corpus.len("train"), corpus.avg_rationale_size) == (2, 1, 2)
    with pytest.raises(InputError, match="no split 'validation'"):
        corpus.get_instance(0, split_type="validation")


def test_samples_are_explained_and_scored(corpus, model, tokenizer):
    bench = Benchmark(model, tokenizer, explainers=[GradientExplainer(model, tokenizer)])
    found = bench.evaluate_samples(corpus, [0, 1], target=1, show_progress_bar=False)
    assert list(found) == ["Gradient (x Input)"]
    assert set(found["Gradient (x Input)"]) == {
        "aopc_compr", "aopc_suff", "taucorr_loo", "auprc_plau", "token_f1_plau", "token_iou_plau",
    }  # fmt: skip
    table = bench.show_samples_evaluation_table(found)
    mean, deviation = found["Gradient (x Input)"]["aopc_compr"]
    assert table.data.loc["Gradient (x Input)", "aopc_compr"] == mean
    assert deviation >= 0


def test_the_same_token_twice_has_two_columns(model, tokenizer):
    bench = Benchmark(model, tokenizer, explainers=[GradientExplainer(model, tokenizer)])
    columns = list(bench.show_table(bench.explain("sings sings")).data.columns)
    assert len(set(columns)) == len(columns)


def test_a_rationale_of_another_length_is_refused(model, tokenizer):
    bench = Benchmark(model, tokenizer, explainers=[GradientExplainer(model, tokenizer)])
    (explanation,) = bench.explain(TEXT)
    with pytest.raises(InputError, match="rationale: 2 marks for"):
        bench.evaluate_explanation(explanation, 1, [0, 1])


def test_an_argument_that_changes_nothing_here_is_refused(model, tokenizer):
    bench = Benchmark(model, tokenizer, explainers=[GradientExplainer(model, tokenizer)])
    with pytest.raises(InputError, match="only_pos: no such argument here"):
        bench.evaluate_explanations(bench.explain(TEXT), only_pos=True)


def test_plausibility_is_scored_for_the_class_that_people_marked(corpus, model, tokenizer):
    bench = Benchmark(model, tokenizer, explainers=[GradientExplainer(model, tokenizer)])
    label = corpus[0]["label"]
    marked = bench.evaluate_samples(corpus, 0, target=label, show_progress_bar=False)
    other = bench.evaluate_samples(corpus, 0, target=1 - label, show_progress_bar=False)
    assert "auprc_plau" in marked["Gradient (x Input)"]
    assert "auprc_plau" not in other["Gradient (x Input)"]


def test_explanations_of_all_classes_have_a_score_over_them(model, tokenizer):
    explainers = [GradientExplainer(model, tokenizer), LIMEExplainer(model, tokenizer)]
    bench = Benchmark(model, tokenizer, explainers=explainers)
    by_class = [bench.explain(TEXT, target=target) for target in (0, 1)]
    evaluated = bench.evaluate_explanations(by_class[1], target=1, class_explanations=by_class)
    for place, of_explainer in enumerate(evaluated):
        expected = [
            next(
                evaluation.score
                for evaluation in bench.evaluate_explanation(
                    explanations[place], target
                ).evaluation_scores
                if evaluation.name == "aopc_compr"
            )
            for target, explanations in enumerate(by_class)
        ]
        scores = {one.name: one.score for one in of_explainer.evaluation_scores}
        assert scores["aopc_class_compr"] == pytest.approx(np.mean(expected), abs=1e-12)
    assert "aopc_class_compr" in bench.show_evaluation_table(evaluated).data


def test_the_code_of_the_papers_figure_runs(folder):
    """Its text and calls, with a folder in place of a checkpoint of the Hub."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    bench = Benchmark(model, tokenizer)

    query = "Great movie for a great nap!"
    scores = bench.score(query)
    explanations = bench.explain(query, target=1)
    bench.show_table(explanations)
    class_explanations = [bench.explain(query, target=target) for target in range(len(scores))]
    evaluations = bench.evaluate_explanations(
        explanations, target=1, class_explanations=class_explanations
    )
    table = bench.show_evaluation_table(evaluations).data
    assert list(table.columns) == ["aopc_compr", "aopc_suff", "taucorr_loo", "aopc_class_compr"]
    assert len(table) == 6
    assert table["aopc_class_compr"].notna().all()


def test_an_unknown_corpus_is_refused_with_those_that_there_are(model, tokenizer):
    with pytest.raises(InputError, match=r"no dataset 'imdb'.*hatexplain"):
        Benchmark(model, tokenizer).load_dataset("imdb")


def test_a_source_of_raw_files_takes_the_name_of_a_folder(tmp_path):
    assert DataSource(str(tmp_path)) == DataSource(tmp_path)
