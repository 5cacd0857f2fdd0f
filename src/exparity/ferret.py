"""ferret's interface: a script for ferret-xai 0.4.2 runs here after changing the import.

``from exparity.ferret import Benchmark`` takes the place of ``from ferret import Benchmark``.
Names, returned values and tables are those of Attanasio et al. 2023 (arXiv:2208.01575); what is
computed is exparity's, with the options of ``study: ferret`` (``docs/ferret.md`` has what differs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np

from exparity.config.presets import preset_options
from exparity.core.errors import InputError, require_known
from exparity.data import load_with_facts
from exparity.data.files import DataSource
from exparity.engine.loading import load_classifier
from exparity.explanations import Explanation as ScoredText
from exparity.methods import explain
from exparity.metrics import METRICS, evaluate
from exparity.types import Example, FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler
    from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerFast

    from exparity.engine.classifier import Classifier

    Model = PreTrainedModel | Classifier
    """A model of transformers, or what a benchmark has loaded of one."""

_DATASETS = {"hatexplain": "hatexplain", "movie_rationales": "movie_reviews", "sst": "sst"}
"""Names of ferret's datasets, and what they are called here."""
_TOP_WORDS = 5
"""Words that a rationale has where nothing is said of its size, as in ferret."""
_ARGUMENTS = ("top_k_rationale",)
"""What the evaluations of an explanation take beside it."""
_PALETTES = {True: "Purples", False: "Purples_r"}
"""Colours of evaluation scores, by whether higher ones are better."""


@dataclass
class Explanation:
    """The scores of a text's tokens.

    Attributes:
        text: the text.
        tokens: (t,) tokens, special ones included.
        scores: (t,) attributions.
        explainer: name of the explainer.
        target: class that is explained.
    """

    text: str
    tokens: Sequence[str]
    scores: FloatArray
    explainer: str
    target: int


@dataclass
class ExplanationWithRationale(Explanation):
    """An explanation, and a 0 or 1 for each of its tokens: whether people marked it."""

    rationale: Sequence[int] = ()


@dataclass
class Evaluation:
    """One score of an explanation."""

    name: str
    score: float


@dataclass
class ExplanationEvaluation:
    """An explanation and its scores."""

    explanation: Explanation
    evaluation_scores: list[Evaluation]


def _classifier_of(model: Model, tokenizer: PreTrainedTokenizerFast) -> Classifier:
    """Return the classifier of a model; one that a benchmark has loaded already is returned."""
    from exparity.engine.classifier import Classifier

    return load_classifier(model if isinstance(model, Classifier) else (model, tokenizer))


class _Explainer:
    """An explainer: a method of exparity under ferret's name."""

    NAME: str
    method: str

    def __init__(self, model: Model, tokenizer: PreTrainedTokenizerFast, **options: object) -> None:
        self.classifier = _classifier_of(model, tokenizer)
        preset_values = preset_options("ferret", "methods", self.method)
        self.options: dict[str, Any] = {**preset_values, **options}

    def __call__(self, text: str, target: int = 1) -> Explanation:
        """Explain a text."""
        (ours,) = explain(self.classifier, [text], [target], self.method, **self.options)
        return Explanation(text, list(ours.tokens), ours.scores.copy(), self.NAME, ours.target)


class SHAPExplainer(_Explainer):
    """Partition SHAP."""

    NAME, method = "Partition SHAP", "shap"


class LIMEExplainer(_Explainer):
    """LIME."""

    NAME, method = "LIME", "lime"


class _GradientExplainer(_Explainer):
    """A gradient method, with or without multiplying by the input."""

    methods: ClassVar[Mapping[bool, str]]

    def __init__(
        self,
        model: Model,
        tokenizer: PreTrainedTokenizerFast,
        multiply_by_inputs: bool = True,
        **options: object,
    ) -> None:
        self.method = self.methods[multiply_by_inputs]
        self.NAME = f"{self.NAME} (x Input)" if multiply_by_inputs else self.NAME
        super().__init__(model, tokenizer, **options)


class GradientExplainer(_GradientExplainer):
    """Gradient, or gradient × input."""

    NAME = "Gradient"
    methods: ClassVar = {True: "gradient_x_input", False: "gradient"}


class IntegratedGradientExplainer(_GradientExplainer):
    """Integrated gradients."""

    NAME = "Integrated Gradient"
    methods: ClassVar = {True: "integrated_gradients_x_input", False: "integrated_gradients"}


class _Evaluator:
    """An evaluator: a metric of exparity under ferret's name."""

    NAME: str
    SHORT_NAME: str
    metric: str

    def __init__(self, model: Model, tokenizer: PreTrainedTokenizerFast) -> None:
        self.classifier = _classifier_of(model, tokenizer)
        self.options: dict[str, Any] = dict(preset_options("ferret", "metrics", self.metric))

    @property
    def BEST_SORTING_ASCENDING(self) -> bool:
        """Whether lower scores are better."""
        return METRICS.get(self.metric).facts.direction == "lower"

    def compute_evaluation(
        self, explanation: Explanation, target: int = 1, **evaluation_args: Any
    ) -> Evaluation | None:
        """Score an explanation; None where it lacks the rationale that the metric needs."""
        needs_rationale = METRICS.get(self.metric).facts.needs == "rationale"
        scored = ScoredText.from_tokens(
            self.classifier, explanation.text, explanation.tokens, explanation.scores, target
        )
        options = dict(self.options)
        rationales = None
        if needs_rationale:
            marks = getattr(explanation, "rationale", ())
            if not len(marks):
                return None
            rationales = [_marked_words(scored, marks)]
            if options.get("top_k") == "mean":
                options["top_k"] = int(evaluation_args.get("top_k_rationale", _TOP_WORDS))
        (score,) = evaluate(
            self.classifier, [scored], self.metric, rationales=rationales, **options
        )
        return Evaluation(self.SHORT_NAME, float(score))


def _marked_words(scored: ScoredText, marks: Sequence[int]) -> list[int]:
    """Return a 0 or 1 for each word: whether one of its tokens is marked."""
    words = np.asarray(scored.word_ids)
    if len(marks) != len(words):
        raise InputError(
            f"rationale: {len(marks)} marks for {len(words)} tokens of {scored.text!r}; give one "
            "for each token, special ones left out"
        )
    marked = np.zeros(int(words.max()) + 1, dtype=int)
    marked[words[(words >= 0) & np.asarray(marks, dtype=bool)]] = 1
    return [int(mark) for mark in marked]


class AOPC_Comprehensiveness_Evaluation(_Evaluator):
    """Comprehensiveness."""

    NAME, SHORT_NAME, metric = "aopc_comprehensiveness", "aopc_compr", "comprehensiveness"


class AOPC_Sufficiency_Evaluation(_Evaluator):
    """Sufficiency."""

    NAME, SHORT_NAME, metric = "aopc_sufficiency", "aopc_suff", "sufficiency"


class TauLOO_Evaluation(_Evaluator):
    """Correlation with leaving out one token."""

    NAME, SHORT_NAME, metric = "tau_leave-one-out_correlation", "taucorr_loo", "loo_correlation"


class AUPRC_PlausibilityEvaluation(_Evaluator):
    """Area under the precision–recall curve against the rationale."""

    NAME, SHORT_NAME, metric = "AUPRC_soft_plausibility", "auprc_plau", "rationale_auprc"


class Tokenf1_PlausibilityEvaluation(_Evaluator):
    """F1 of the top words against the rationale."""

    NAME, SHORT_NAME = "token_f1_hard_plausibility", "token_f1_plau"
    metric = "rationale_token_f1"


class TokenIOU_PlausibilityEvaluation(_Evaluator):
    """Intersection over union of the top words and the rationale."""

    NAME, SHORT_NAME = "token_IOU_hard_plausibility", "token_iou_plau"
    metric = "rationale_iou"


class AOPC_Comprehensiveness_Evaluation_by_class:
    """Comprehensiveness of the explanations of all classes: its mean over the classes."""

    NAME = "aopc_class_comprehensiveness"
    SHORT_NAME = "aopc_class_compr"
    BEST_SORTING_ASCENDING = False

    def __init__(self, model: Model, tokenizer: PreTrainedTokenizerFast) -> None:
        self.evaluator = AOPC_Comprehensiveness_Evaluation(model, tokenizer)

    def compute_evaluation(
        self, class_explanation: Sequence[Explanation], **evaluation_args: Any
    ) -> Evaluation:
        """Score a text's explanations; the i-th explains class i."""
        evaluations = (
            self.evaluator.compute_evaluation(explanation, target, **evaluation_args)
            for target, explanation in enumerate(class_explanation)
        )
        scores = [evaluation.score for evaluation in evaluations if evaluation is not None]
        return Evaluation(self.SHORT_NAME, float(np.mean(scores)))


EVALUATORS = (
    AOPC_Comprehensiveness_Evaluation,
    AOPC_Sufficiency_Evaluation,
    TauLOO_Evaluation,
    AUPRC_PlausibilityEvaluation,
    Tokenf1_PlausibilityEvaluation,
    TokenIOU_PlausibilityEvaluation,
)


class Instance(TypedDict):
    """A text of a corpus with its tokens and the marks of each class."""

    text: str
    tokens: list[str]
    rationale: list[list[int]]
    label: int


@dataclass
class Dataset:
    """A corpus with rationales: ``dataset[i]`` is the i-th text of the test split.

    Attributes:
        NAME: its name.
        tokenizer: cuts words into tokens, each with the mark of its word.
        splits: examples by split.
    """

    NAME: str
    tokenizer: PreTrainedTokenizerFast
    splits: Mapping[str, Sequence[Example]] = field(repr=False)

    def __len__(self) -> int:
        return self.len()

    def __getitem__(self, index: int) -> Instance:
        return self.get_instance(index)

    def len(self, split_type: str = "test") -> int:
        """Return the number of texts of a split."""
        return len(self._examples(split_type))

    def get_instance(self, idx: int, split_type: str = "test") -> Instance:
        """Return the text, its tokens, the rationale of each class, and the label.

        A rationale has a mark for each content token. People marked words for the label alone, so
        that those of other classes are empty.
        """
        example = self._examples(split_type)[idx]
        text = " ".join(example.words)
        encoded = self.tokenizer(text, truncation=True)
        words = _words_of(text, encoded)
        marks = example.rationale or ()
        rationales: list[list[int]] = [[] for _ in range(self._n_classes)]
        if marks:
            rationales[example.label] = [marks[word] for word in words if word is not None]
        tokens = [*self.tokenizer.convert_ids_to_tokens(encoded["input_ids"])]
        return {"text": text, "tokens": tokens, "rationale": rationales, "label": example.label}

    @property
    def avg_rationale_size(self) -> int:
        """Mean number of marked words of the training texts that have marks."""
        sizes = [sum(example.rationale or ()) for example in self.splits.get("train", ())]
        marked = [size for size in sizes if size]
        return round(float(np.mean(marked))) if marked else _TOP_WORDS

    @cached_property
    def _n_classes(self) -> int:
        examples = chain.from_iterable(self.splits.values())
        return 1 + max((example.label for example in examples), default=-1)

    def _examples(self, split_type: str) -> Sequence[Example]:
        require_known(split_type, list(self.splits), f"{self.NAME}: no split '{split_type}'")
        return self.splits[split_type]


def _words_of(text: str, encoded: BatchEncoding) -> list[int | None]:
    """Return the word of each token, counted by the blanks before it; None of special tokens."""
    starts = np.cumsum([0] + [character == " " for character in text])
    words: list[int | None] = []
    for place in range(len(encoded["input_ids"])):
        span = encoded.token_to_chars(place)
        words.append(None if span is None else int(starts[min(span.end, len(text)) - 1]))
    return words


def _corpus(
    name: str,
    tokenizer: PreTrainedTokenizerFast,
    data_dir: str | Path,
    options: Mapping[str, object],
) -> Dataset:
    require_known(name, list(_DATASETS), f"no dataset '{name}'")
    examples, _ = load_with_facts(_DATASETS[name], DataSource(Path(data_dir)), options, name=name)
    splits: dict[str, list[Example]] = {}
    for example in examples:
        splits.setdefault(example.split, []).append(example)
    return Dataset(name, tokenizer, splits)


def HateXplainDataset(
    tokenizer: PreTrainedTokenizerFast, data_dir: str | Path = "data", **options: object
) -> Dataset:
    """Return HateXplain; see :meth:`Benchmark.load_dataset`."""
    return _corpus("hatexplain", tokenizer, data_dir, options)


def MovieReviews(
    tokenizer: PreTrainedTokenizerFast, data_dir: str | Path = "data", **options: object
) -> Dataset:
    """Return the movie reviews; see :meth:`Benchmark.load_dataset`."""
    return _corpus("movie_rationales", tokenizer, data_dir, options)


def SSTDataset(
    tokenizer: PreTrainedTokenizerFast, data_dir: str | Path = "data", **options: object
) -> Dataset:
    """Return the Stanford Sentiment Treebank; see :meth:`Benchmark.load_dataset`."""
    return _corpus("sst", tokenizer, data_dir, options)


class Benchmark:
    """Explainers and evaluators of one model, as ferret's class of that name.

    Args:
        model: a text classifier of transformers.
        tokenizer: its tokenizer.
        explainers: explainers; by default the six of ferret.
        evaluators: evaluators; by default the six of ferret.
        class_based_evaluators: evaluators of explanations of all classes; by default ferret's one.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        explainers: Sequence[_Explainer] | None = None,
        evaluators: Sequence[_Evaluator] | None = None,
        class_based_evaluators: Sequence[AOPC_Comprehensiveness_Evaluation_by_class] | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.classifier = _classifier_of(model, tokenizer)
        self.explainers = list(explainers or _default_explainers(self.classifier, tokenizer))
        self.evaluators = list(
            evaluators or (kind(self.classifier, tokenizer) for kind in EVALUATORS)
        )
        self.class_based_evaluators = list(
            class_based_evaluators
            or [AOPC_Comprehensiveness_Evaluation_by_class(self.classifier, tokenizer)]
        )

    def score(self, text: str, return_dict: bool = True) -> dict[str, float] | FloatArray:
        """Return the probabilities of a text's classes, by name or as (c,) numbers."""
        (probabilities,) = self.classifier.predict_proba([text])
        if not return_dict:
            return np.asarray(probabilities)
        names = self.classifier.class_names
        return {name: float(p) for name, p in zip(names, probabilities, strict=True)}

    def explain(
        self,
        text: str,
        target: int = 1,
        show_progress: bool = True,
        normalize_scores: bool = True,
        order: int = 1,
    ) -> list[Explanation]:
        """Explain a text with every explainer.

        Args:
            text: the text.
            target: class to explain.
            show_progress: show a bar on a terminal.
            normalize_scores: divide the scores of a text by their norm.
            order: order of that norm.
        """
        from tqdm.auto import tqdm

        explanations = []
        for explainer in tqdm(self.explainers, "Explainer", leave=False, disable=not show_progress):
            explanation = explainer(text, target)
            norm = np.linalg.norm(explanation.scores, ord=order)
            if normalize_scores and norm:
                explanation.scores = explanation.scores / norm
            explanations.append(explanation)
        return explanations

    def evaluate_explanation(
        self,
        explanation: Explanation,
        target: int | None = None,
        human_rationale: Sequence[int] | None = None,
        class_explanation: Sequence[Explanation] | None = None,
        show_progress: bool = True,
        **evaluation_args: Any,
    ) -> ExplanationEvaluation:
        """Score an explanation with every evaluator.

        Args:
            explanation: the explanation.
            target: the class that is scored; the one that it explains if None.
            human_rationale: a 0 or 1 for each token, special ones left out.
            class_explanation: explanations of the text by the same explainer, the i-th of class i,
                for scores over all classes.
            show_progress: show a bar on a terminal.
            evaluation_args: ``top_k_rationale``, the words that a rationale has on average.

        Raises:
            InputError: an argument of ferret's that changes nothing here.
        """
        del show_progress  # one explanation takes no time
        for name in evaluation_args:
            hint = (
                "no such argument here; the options of metrics do what ferret's do: exparity list"
            )
            require_known(name, _ARGUMENTS, f"{name}: {hint}")
        explanation = _with_rationale(explanation, human_rationale)
        chosen = explanation.target if target is None else target
        evaluations = [
            evaluator.compute_evaluation(explanation, chosen, **evaluation_args)
            for evaluator in self.evaluators
        ]
        if class_explanation is not None:
            evaluations += [
                evaluator.compute_evaluation(class_explanation, **evaluation_args)
                for evaluator in self.class_based_evaluators
            ]
        scored = [evaluation for evaluation in evaluations if evaluation is not None]
        return ExplanationEvaluation(explanation, scored)

    def evaluate_explanations(
        self,
        explanations: Sequence[Explanation],
        target: int | None = None,
        human_rationale: Sequence[int] | None = None,
        class_explanations: Sequence[Sequence[Explanation]] | None = None,
        show_progress: bool = True,
        **evaluation_args: Any,
    ) -> list[ExplanationEvaluation]:
        """Score explanations; see :meth:`evaluate_explanation`.

        The i-th of ``class_explanations`` has what ``explain`` returns for class i.
        """
        from tqdm.auto import tqdm

        by_explainer: Sequence[Sequence[Explanation] | None] = [None] * len(explanations)
        if class_explanations is not None:
            by_explainer = list(zip(*class_explanations, strict=True))
        pairs = zip(explanations, by_explainer, strict=True)
        shown = tqdm(
            pairs,
            "Explanation eval",
            total=len(explanations),
            leave=False,
            disable=not show_progress,
        )
        return [
            self.evaluate_explanation(
                explanation, target, human_rationale, class_explanation, **evaluation_args
            )
            for explanation, class_explanation in shown
        ]

    def get_dataframe(self, explanations: Sequence[Explanation]) -> pd.DataFrame:
        """Return scores as a table: a row for each explainer, a column for each token."""
        import pandas as pd

        scores = {explanation.explainer: explanation.scores for explanation in explanations}
        return pd.DataFrame(scores, index=pd.Index(explanations[0].tokens, name="Token")).T

    def show_table(
        self,
        explanations: Sequence[Explanation],
        apply_style: bool = True,
        remove_first_last: bool = True,
    ) -> Styler:
        """Return a coloured table of scores; repeated tokens are numbered."""
        table = self.get_dataframe(explanations)
        if remove_first_last:
            table = table.iloc[:, 1:-1]
        table.columns = _numbered(list(table.columns))
        style = table.style.format("{:.2f}")
        if apply_style:
            style = style.background_gradient(axis=1, cmap="RdBu", vmin=-1, vmax=1)
        return style

    def show_evaluation_table(
        self, explanation_evaluations: Sequence[ExplanationEvaluation], apply_style: bool = True
    ) -> Styler:
        """Return a coloured table of evaluation scores, darker where they are better."""
        import pandas as pd

        scores = {
            evaluated.explanation.explainer: {
                evaluation.name: evaluation.score for evaluation in evaluated.evaluation_scores
            }
            for evaluated in explanation_evaluations
        }
        return self._coloured(pd.DataFrame(scores).T, apply_style)

    def load_dataset(
        self, dataset_name: str, data_dir: str | Path = "data", **options: object
    ) -> Dataset:
        """Return one of ferret's corpora: ``hatexplain``, ``movie_rationales`` or ``sst``.

        Args:
            dataset_name: its name.
            data_dir: folder of raw files, to which missing ones are downloaded.
            options: of the dataset, such as ``verify=False``; see ``exparity list``.
        """
        return _corpus(dataset_name, self.tokenizer, data_dir, options)

    def evaluate_samples(
        self,
        dataset: Dataset,
        sample: int | Sequence[int],
        target: int | None = None,
        show_progress_bar: bool = True,
        **evaluation_args: Any,
    ) -> dict[str, dict[str, tuple[float, float]]]:
        """Explain and score texts of a corpus.

        Args:
            dataset: the corpus.
            sample: numbers of its texts.
            target: class to explain; the predicted one if None.
            show_progress_bar: show a bar on a terminal.
            evaluation_args: as of :meth:`evaluate_explanation`.

        Returns:
            Mean and standard deviation over the texts, by explainer and by evaluator.
        """
        from tqdm.auto import tqdm

        evaluation_args.setdefault("top_k_rationale", dataset.avg_rationale_size)
        numbers = [sample] if isinstance(sample, int) else list(sample)
        all_scores: dict[str, dict[str, list[float]]] = {}
        for number in tqdm(numbers, "explain", leave=False, disable=not show_progress_bar):
            instance = dataset[int(number)]
            chosen = target
            if chosen is None:
                chosen = int(np.argmax(self.classifier.predict_proba([instance["text"]])))
            explanations = self.explain(instance["text"], chosen, show_progress=False)
            for evaluated in self.evaluate_explanations(
                explanations,
                chosen,
                _of_class(instance["rationale"], chosen),
                show_progress=False,
                **evaluation_args,
            ):
                by_metric = all_scores.setdefault(evaluated.explanation.explainer, {})
                for evaluation in evaluated.evaluation_scores:
                    by_metric.setdefault(evaluation.name, []).append(evaluation.score)
        return {
            explainer: {
                name: (float(np.nanmean(scores)), float(np.nanstd(scores)))
                for name, scores in by_metric.items()
            }
            for explainer, by_metric in all_scores.items()
        }

    def show_samples_evaluation_table(
        self,
        evaluation_scores_by_explainer: Mapping[str, Mapping[str, tuple[float, float]]],
        apply_style: bool = True,
    ) -> Styler:
        """Return a coloured table of the means of :meth:`evaluate_samples`."""
        import pandas as pd

        means = {
            explainer: {name: mean for name, (mean, _) in scores.items()}
            for explainer, scores in evaluation_scores_by_explainer.items()
        }
        return self._coloured(pd.DataFrame(means).T, apply_style)

    def _coloured(self, table: pd.DataFrame, apply_style: bool) -> Styler:
        style = table.style.format("{:.2f}")
        evaluators: list[_Evaluator | AOPC_Comprehensiveness_Evaluation_by_class] = []
        if apply_style:
            evaluators = [*self.evaluators, *self.class_based_evaluators]
        for evaluator in evaluators:
            if evaluator.SHORT_NAME in table.columns:
                palette = _PALETTES[not evaluator.BEST_SORTING_ASCENDING]
                style = style.background_gradient(
                    axis=1, cmap=palette, vmin=-1, vmax=1, subset=[evaluator.SHORT_NAME]
                )
        return style


def _default_explainers(model: Model, tokenizer: PreTrainedTokenizerFast) -> list[_Explainer]:
    gradients = [
        kind(model, tokenizer, multiply_by_inputs=multiplied)
        for kind in (GradientExplainer, IntegratedGradientExplainer)
        for multiplied in (False, True)
    ]
    return [SHAPExplainer(model, tokenizer), LIMEExplainer(model, tokenizer), *gradients]


def _with_rationale(explanation: Explanation, human_rationale: Sequence[int] | None) -> Explanation:
    """Return an explanation with marks of its content tokens, 0 for the special ones."""
    if not human_rationale:
        return explanation
    marks = list(human_rationale)
    if len(marks) == len(explanation.tokens) - 2:
        marks = [0, *marks, 0]
    return ExplanationWithRationale(
        explanation.text,
        explanation.tokens,
        explanation.scores,
        explanation.explainer,
        explanation.target,
        marks,
    )


def _of_class(rationales: Sequence[Sequence[int]], target: int) -> Sequence[int] | None:
    """Return the rationale of a class; None where people marked nothing for it."""
    return rationales[target] or None if target < len(rationales) else None


def _numbered(tokens: Sequence[str]) -> list[str]:
    """Return distinct tokens: the second one of a name gets ``.1``."""
    seen: dict[str, int] = {}
    names = []
    for token in tokens:
        count = seen.get(token, 0)
        seen[token] = count + 1
        names.append(f"{token}.{count}" if count else token)
    return names
