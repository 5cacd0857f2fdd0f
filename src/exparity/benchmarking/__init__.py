"""Several explanation methods on a handful of texts, beside one another: :func:`benchmark`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from markupsafe import Markup

from exparity.benchmarking.datasets import load_texts
from exparity.benchmarking.zero_shot import HYPOTHESIS, hypotheses
from exparity.config.presets import preset_options
from exparity.core.calls import Several, Use, checked, listed, uses_of
from exparity.core.errors import InputError
from exparity.core.flags import Count, Seed
from exparity.core.formats import in_sentence, joined
from exparity.core.grouping import grouped
from exparity.core.registry import Entry, Registry, load_plugin
from exparity.core.settings import DEFAULTS
from exparity.engine.black_box import BlackBox
from exparity.engine.encoding import as_list
from exparity.explanations import Explanation, shaded_words
from exparity.explanations.markup import notebook_html, number_text, template_html
from exparity.methods import METHODS, Targets, Texts, explain_many, targets_of
from exparity.methods.facts import RANDOM, MethodFacts
from exparity.metrics import METRICS, Rationales, checked_metrics, evaluate_many
from exparity.metrics.facts import ARROWS, MetricFacts
from exparity.stats.levels import GroupLevel, group_levels
from exparity.stats.ranking import EVERYBODY, best_in_words, best_methods, compare_methods
from exparity.types import FloatArray, Text, TextLike

if TYPE_CHECKING:
    import pandas as pd

    from exparity.engine.classifier import Classifier

Ids = str | Several
"""Ids, options by name, or ``all``."""
Block = Literal["methods", "metrics"]
Study = Literal["default", "ferret"]
Cells = dict[str, list[tuple[str, bool]]]
"""Texts of each method's values, and whether they are marked."""
PUBLISHED = (
    *("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_x_input"),
    *("lime", "shap"),
)
"""The methods of ferret (Attanasio et al. 2023) and of Dhaini et al. (2025)."""
FAITHFULNESS = ("comprehensiveness", "sufficiency", "loo_correlation")
PLAUSIBILITY = ("rationale_auprc", "rationale_token_f1", "rationale_iou")
_EQUAL = 1e-9
"""Means that differ by no more than this share are equal up to rounding."""
CellFacts = TypeVar("CellFacts", MethodFacts, MetricFacts)
_REGISTRIES: Mapping[Block, Registry[Any]] = {"methods": METHODS, "metrics": METRICS}
_SHOWN_TEXTS = 20
"""Texts that a notebook shows; a saved page has all of them."""


class Benchmark:
    """Explanations of some texts by several methods, and their scores by several metrics.

    Can be built in stages, ``Benchmark(model, texts).explain("all").evaluate(["gini"])``; a method
    or metric that is asked for again is computed again.

    Args:
        model: a checkpoint's folder or Hub id, a pair (model, tokenizer), a text-classification or
            zero-shot pipeline of transformers, or a classifier from
            :func:`exparity.load_classifier`.
        texts: strings or lists of words; a single string is one text. A tuple of two strings is a
            pair, such as premise and hypothesis; a list of two strings is two texts. A mapping
            names a dataset with ``use``, and its options, as in a config:
            ``{"use": "pairs_all", "n_pairs": 40}``. Its test texts are explained, with its
            rationales; it trains methods that need training, where the classes of model and dataset
            have the same names.
        targets: index or name of a class for each text, or of one for all; ``predicted`` ones.
        rationales: for each text a 0 or 1 per word, 1 where the word carries the label, or None
            where unknown.
        training: texts that the model was trained on and their class indices, for methods that work
            with them.
        study: ``ferret`` gives methods and metrics the options of that library where none are
            given; ``default`` leaves them to exparity.
        seed: of methods and metrics that draw random numbers, 0 or more.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        candidate_labels: classes of zero-shot classification by a model of sentence pairs. What is
            explained is that a text entails "This example is LABEL.", where ``targets`` are labels;
            ``predicted`` is the one that is entailed with the highest probability.
        prompt: template with ``{text}``, for a causal language model, as folder, pair or
            text-generation pipeline; see :func:`exparity.load_classifier`, as for what follows.
        words: word that answers the prompt for each class, by class.
        chat: put the prompt into the tokenizer's chat template.
        plugins: modules with methods, metrics and datasets of your own: paths to Python files, or
            names of importable modules.
        max_examples: largest number of texts of a dataset; a run takes the same sample.
        data_dir: folder of the raw files of a dataset; what is missing is downloaded to it.

    Attributes:
        classifier: the explained model.
        explanations: one for each text, by method.
        scores: (n,) values, by (method, metric); NaN where a metric is undefined.
        seconds: wall time of explaining in seconds, by method; what methods share is counted with
            the first.

    Raises:
        InputError: the model is none of these, an id or option is unknown, or a text, target or
            rationale does not fit.

    Examples:
        >>> from exparity import Benchmark, load_classifier
        >>> def predict(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> classifier = load_classifier(predict, classes=["bad", "good"])
        >>> Benchmark(classifier, ["a good film", "dull"]).explain(["occlusion"]).evaluate(["gini"])
        <Benchmark of 2 texts; methods: occlusion; metrics: gini>
    """

    @checked
    def __init__(
        self,
        model: Any,
        texts: str | Text | Sequence[TextLike] | Mapping[str, object],
        targets: Targets = "predicted",
        *,
        rationales: Rationales = None,
        training: tuple[Texts, Sequence[int]] | None = None,
        study: Study = "default",
        seed: Seed = 0,
        device: str = "auto",
        candidate_labels: Sequence[str] | None = None,
        prompt: str | None = None,
        words: Mapping[str, str] | None = None,
        chat: bool = False,
        plugins: Sequence[str] = (),
        max_examples: Count | None = None,
        data_dir: str | Path = "data",
    ) -> None:
        from exparity.engine.loading import load_classifier
        from exparity.engine.preflight import check_texts

        for plugin in listed(plugins, "plugins", "paths or names of modules"):
            load_plugin(str(plugin))
        self.classifier: Classifier = load_classifier(
            model, device, prompt=prompt, words=words, chat=chat
        )
        if isinstance(texts, Mapping):
            dataset = load_texts(texts, max_examples, data_dir)
            texts = dataset.parts
            rationales = dataset.rationales if rationales is None else rationales
            training = training or dataset.training_for(self.classifier.class_names)
        elif max_examples is not None:
            raise InputError("max_examples: takes a part of a dataset; give fewer texts instead")
        texts, targets = self._classes_to_choose(model, texts, targets, candidate_labels)
        self.explanations: dict[str, list[Explanation]] = {}
        self.scores: dict[tuple[str, str], FloatArray] = {}
        self.seconds: dict[str, float] = {}
        self._used: dict[Block, dict[str, Use]] = {"methods": {}, "metrics": {}}
        self._texts = as_list(texts)
        encodings = self.classifier.encode(self._texts)
        if not encodings:
            raise InputError("texts: there is none to explain")
        check_texts(self.classifier, self._texts, encodings)
        self._targets = targets_of(self.classifier, encodings, targets)
        self._seed = seed
        self._study = study
        self._training = training
        self._rationales = rationales

    def _classes_to_choose(
        self,
        model: object,
        texts: str | Text | Sequence[TextLike],
        targets: Targets,
        candidate_labels: Sequence[str] | None,
    ) -> tuple[str | Text | Sequence[TextLike], Targets]:
        """Return texts and targets, for zero-shot classification as hypotheses of the labels."""
        from exparity.engine.sources import ZERO_SHOT, settings_of

        pipeline = settings_of(model)
        labels = pipeline.candidate_labels if candidate_labels is None else candidate_labels
        if labels is not None:
            template = pipeline.hypothesis or HYPOTHESIS
            return hypotheses(self.classifier, texts, labels, targets, template)
        if getattr(model, "task", None) == ZERO_SHOT:
            raise InputError(
                "a zero-shot pipeline takes candidate_labels, the classes to choose from"
            )
        return texts, targets

    def explain(self, methods: Ids | None = None) -> Benchmark:
        """Explain the texts with several methods, and return this same benchmark.

        Args:
            methods: an id, ids, options by id, or ``all`` that can work with what was given, but
                for methods with terms of their own (``attnlrp``); by default those of ferret that
                can work with the classifier. ``use`` names the id of another name, as in a config:
                ``{"lime_500": {"use": "lime", "num_samples": 500}}``.

        Raises:
            InputError: an id or option is unknown, or a method cannot work with the classifier.

        Examples:
            >>> from exparity import Benchmark
            >>> study = Benchmark("model", ["she is tired"]).explain(["gradient", "occlusion"])
            >>> list(study.explanations)
            ['gradient', 'occlusion']
        """
        fitting = self._fitting(METHODS)
        everywhere = [
            name
            for name, facts in fitting.items()
            if not (facts.path_options or facts.terms)
            and (self._training or not facts.needs_training)
        ]
        default = [name for name in PUBLISHED if name in fitting]
        explained = explain_many(
            self.classifier,
            self._texts,
            self._targets,
            self._written(self._use("methods", methods, default, everywhere)),
            self._seed,
            training=self._training,
            seconds=self.seconds,
        )
        self.explanations |= explained
        self.scores = {key: v for key, v in self.scores.items() if key[0] not in explained}
        return self

    def evaluate(self, metrics: Ids | None = None) -> Benchmark:
        """Score all explanations with several metrics, and return this same benchmark.

        Args:
            metrics: an id, ids, options by id, or ``all`` that can work with what was given; by
                default those of ferret: faithfulness, and plausibility where there are rationales.
                ``use`` names the id of another name, as in a config.

        Raises:
            InputError: nothing is explained yet, an id or option is unknown, or a metric cannot
                work with what was given.

        Examples:
            >>> from exparity import Benchmark
            >>> study = Benchmark("model", ["she is tired"]).explain(["gradient"])
            >>> list(study.evaluate({"gini": {"normalise_over": "content"}}).scores)
            [('gradient', 'gini')]
        """
        if not self.explanations:
            raise InputError("there are no explanations to score yet; call explain() first")
        uses = self._metrics_to_use(metrics)
        self.scores |= evaluate_many(
            self.classifier,
            self.explanations,
            self._written(uses),
            self._seed,
            rationales=self._rationales,
        )
        return self

    def _metrics_to_use(self, metrics: Ids | None) -> dict[str, Use]:
        """Return the metrics that are asked for, by name; misspelt ones are refused."""
        has_rationales = self._rationales is not None
        lacking = {"counterfactual", *([] if has_rationales else ["rationale"])}
        fitting = self._fitting(METRICS)
        computable = [name for name, facts in fitting.items() if facts.needs not in lacking]
        default = [*FAITHFULNESS, *(PLAUSIBILITY if has_rationales else ())]
        uses = self._use("metrics", metrics, default, computable)
        checked_metrics(self._written(uses))
        return uses

    def _fitting(self, registry: Registry[CellFacts]) -> dict[str, CellFacts]:
        """Return facts of the methods or metrics that need no more than the classifier has."""
        by_name = {name: registry.get(name).facts for name in registry.ids()}
        if self.classifier.is_black_box:
            return {name: facts for name, facts in by_name.items() if facts.asks_only}
        if self.classifier.head.prompt is None:
            return {n: facts for n, facts in by_name.items() if not getattr(facts, "writes", False)}
        return by_name

    def _use(
        self, block: Block, ids: Ids | None, default: list[str], all_ids: list[str]
    ) -> dict[str, Use]:
        """Return what is asked for, with the options of the study."""
        uses = {
            name: Use(
                use.registered,
                {**preset_options(self._study, block, use.registered), **use.options},
            )
            for name, use in uses_of(default if ids is None else ids, block, all_ids).items()
        }
        self._used[block] |= uses
        return uses

    @staticmethod
    def _written(uses: Mapping[str, Use]) -> dict[str, dict[str, object]]:
        """Return uses as a caller writes them."""
        return {name: {"use": use.registered, **use.options} for name, use in uses.items()}

    def _entry(self, block: Block, name: str) -> Entry[Any] | None:
        """Return what a name of this benchmark stands for; None for a name of another tool."""
        registry = _REGISTRIES[block]
        use = self._used[block].get(name)
        registered = name if use is None else use.registered
        return registry.get(registered) if registered in registry.ids() else None

    def _facts(self, metric: str) -> MetricFacts:
        """Return the facts of a metric of this benchmark."""
        entry = self._entry("metrics", metric)
        assert entry is not None  # it has scored
        facts: MetricFacts = entry.facts
        return facts

    def _is_random(self, method: str) -> bool:
        """Return whether a method of this benchmark is random explanations."""
        entry = self._entry("methods", method)
        return entry is not None and entry.id == RANDOM

    @checked
    def add(self, name: str, explanations: Sequence[Explanation]) -> Benchmark:
        """Add explanations of another tool, to be scored with the others by :meth:`evaluate`.

        Args:
            name: what they are called in tables; no method of this benchmark.
            explanations: one for each text, in order, of the explained class; see
                :meth:`Explanation.from_words` and its like.

        Raises:
            InputError: the name is taken, or an explanation is missing or of another text or class.

        Examples:
            >>> from exparity import Benchmark, Explanation
            >>> study = Benchmark("model", ["she is tired"], "female")
            >>> mine = Explanation.from_words(study.classifier, "she is tired", [1, 0, 0], "female")
            >>> study.add("my method", [mine])
            <Benchmark of 1 texts; methods: my method; metrics: none>
        """
        if name in self.explanations or name in METHODS.ids():
            raise InputError(f"name: '{name}' is a method; call these explanations otherwise")
        if len(explanations) != len(self._texts):
            raise InputError(
                f"explanations: {len(explanations)} for {len(self._texts)} texts; give one for each"
            )
        for place, (explanation, target) in enumerate(
            zip(explanations, self._targets, strict=True)
        ):
            if explanation.target != target:
                raise InputError(
                    f"explanations: that of text {place} is of class {explanation.target}, and the "
                    f"benchmark explains class {target}"
                )
        self.explanations[name] = list(explanations)
        self.seconds[name] = math.nan
        return self

    def best(self, *, alpha: float = DEFAULTS.alpha) -> dict[str, list[str]]:
        """Return the methods that no other is shown to be better than, by metric.

        Metrics of complexity, such as ``gini``, are left out: concentrated explanations are neither
        better nor worse. Every two methods are compared on the same texts by a paired t test of
        their scores, with p-values corrected by Holm within a metric. Random explanations take part
        and are not named. With one text nothing is shown, and all methods are returned.

        Args:
            alpha: largest corrected p-value that is significant.

        Examples:
            >>> from exparity import Benchmark
            >>> study = Benchmark("model", ["she is tired"]).explain(["gradient", "occlusion"])
            >>> study.evaluate(["sufficiency"]).best()  # one text shows no difference
            {'sufficiency': ['gradient', 'occlusion']}
        """
        best = {}
        for metric in self._metrics:
            preference = self._facts(metric).preference
            if preference is None:
                continue
            scores = {
                method: self.scores[method, metric][np.newaxis]
                for method in self.explanations
                if (method, metric) in self.scores
            }
            tests = compare_methods(
                scores,
                [EVERYBODY] * len(self._texts),
                (),
                higher_is_better=preference == "higher",
                alpha=alpha,
            )
            names = best_methods(tests) if len(scores) > 1 else list(scores)
            best[metric] = [name for name in names if not self._is_random(name)]
        return best

    def table(self, *, intervals: bool = False) -> pd.DataFrame:
        """Return the mean of each metric over the texts where it is defined, a row for each method.

        The last column, ``seconds``, is the time that explaining took.

        Args:
            intervals: add the ends of each mean's 95 % interval over other texts, and the number of
                texts: ``METRIC_low``, ``METRIC_high`` and ``METRIC_n``.

        Examples:
            >>> from exparity import Benchmark
            >>> study = Benchmark("model", ["she is tired"]).explain(["gradient"])
            >>> study.evaluate(["gini"]).table(intervals=True).columns.tolist()
            ['gini', 'gini_low', 'gini_high', 'gini_n', 'seconds']
        """
        import pandas as pd

        columns: dict[str, dict[str, float]] = {}
        for metric in self._metrics:
            columns[metric] = self._means(metric)
            if intervals:
                levels = self._levels(metric)
                columns[f"{metric}_low"] = {name: level.ci_low for name, level in levels.items()}
                columns[f"{metric}_high"] = {name: level.ci_high for name, level in levels.items()}
                columns[f"{metric}_n"] = {name: level.n_texts for name, level in levels.items()}
        frame = pd.DataFrame(columns, index=pd.Index([*self.explanations], name="method"))
        return frame.assign(seconds=pd.Series(self.seconds))

    def save(self, path: str | Path) -> None:
        """Write what a notebook shows as an HTML page of its own, with all texts.

        The page names the model, the number of texts, the options, version and date.

        Args:
            path: of the page.

        Raises:
            InputError: nothing is explained yet.

        Examples:
            >>> from exparity import Benchmark
            >>> Benchmark("model", ["she is tired"]).explain(["gradient"]).save("benchmark.html")
        """
        if not self.explanations:
            raise InputError("there are no explanations to save yet; call explain() first")
        page = template_html(
            Path(__file__).with_name("page.html.j2"),
            title=f"Explanations of {self._model_name}",
            n_texts=len(self._texts),
            seed=self._seed,
            version=version("exparity"),
            date=datetime.now(UTC).date().isoformat(),
            used=self._used,
            body=Markup(self._html(len(self._texts))),
        )
        Path(path).write_text(page, encoding="utf-8")

    @property
    def _model_name(self) -> str:
        """Name of the checkpoint, or of what else is explained."""
        if isinstance(self.classifier, BlackBox):  # which has no model
            return f"the function {self.classifier.name}"
        config = getattr(getattr(self.classifier, "model", None), "config", None)
        path = Path(str(getattr(config, "name_or_path", "") or ""))
        if path.name.isdecimal():  # a training of the workflow, models/DATASET/MODEL/SEED
            return f"{path.parent.name}, training {path.name}"
        return path.name or type(self.classifier).__name__

    def __repr__(self) -> str:
        methods = ", ".join(self.explanations) or "none"
        metrics = ", ".join(self._metrics) or "none"
        return f"<Benchmark of {len(self._texts)} texts; methods: {methods}; metrics: {metrics}>"

    def _repr_html_(self) -> str:
        """Return how notebooks show it: token heat maps of all methods, metrics beside them."""
        return self._html(_SHOWN_TEXTS)

    def _which_method(self) -> list[str]:
        """Return which methods are best by which metrics, or why nobody knows; a sentence each."""
        methods = [method for method in self.explanations if not self._is_random(method)]
        best = self.best()
        if len(methods) < 2 or not best:
            return []
        if len(self._texts) == 1:
            return ["One text shows no difference between methods. Give more texts."]
        sentences = []
        for chosen, metrics in grouped(best, lambda metric: tuple(best[metric])).items():
            by = f"By {joined([in_sentence(self._display('metrics', name)) for name in metrics])}"
            names = [self._display("methods", name) for name in chosen]
            sentences.append(f"{by}, {best_in_words(names, len(methods))}.")
        return sentences

    @property
    def _metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for _, metric in self.scores))

    def _html(self, n_texts: int) -> str:
        names = self.classifier.class_names
        texts = [
            {
                "target": names[self._targets[i]],
                "methods": [
                    {
                        **shaded_words(explanations[i]),
                        "id": method,
                        "name": self._display("methods", method),
                    }
                    for method, explanations in self.explanations.items()
                ],
                "values": self._column_cells(slice(i, i + 1)),
            }
            for i in range(min(n_texts, len(self._texts)))
        ]
        directions = {metric: self._facts(metric).direction for metric in self._metrics}
        return notebook_html(
            Path(__file__).with_name("benchmark.html.j2"),
            which_method=self._which_method(),
            texts=texts,
            left_out=len(self._texts) - len(texts),
            metrics=[
                f"{self._display('metrics', metric)} {ARROWS[direction]}"
                for metric, direction in directions.items()
            ],
            means=self._mean_cells(),
            n_texts=len(self._texts),
            seconds=self.seconds,
        )

    def _display(self, block: Block, name: str) -> str:
        """Return the registered name; a name of the caller's own stays as it is."""
        entry = self._entry(block, name)
        return entry.display if entry is not None and entry.id == name else name

    def _means(self, metric: str, texts: slice = slice(None)) -> dict[str, float]:
        """Return each method's mean over the texts where a metric is defined; NaN without any."""
        means = {}
        for method in self.explanations:
            values = self.scores.get((method, metric), np.empty(0))[texts]
            defined = values[~np.isnan(values)]
            means[method] = float(defined.mean()) if defined.size else np.nan
        return means

    def _levels(self, metric: str) -> dict[str, GroupLevel]:
        """Return each method's mean with its interval over texts."""
        n = len(self._texts)
        levels = {}
        for method in self.explanations:
            values = self.scores.get((method, metric), np.full(n, np.nan))[np.newaxis]
            levels[method], *_ = group_levels(values, [EVERYBODY] * n, [EVERYBODY])
        return levels

    def _mean_cells(self) -> Cells:
        """Return each method's means, and whether no other method is shown to be better."""
        return self._cells({metric: self._means(metric) for metric in self._metrics}, self.best())

    def _column_cells(self, texts: slice) -> Cells:
        """Return each method's values, and whether they are the best of their metric."""
        values = {metric: self._means(metric, texts) for metric in self._metrics}
        best = {metric: self._top(metric, by_method) for metric, by_method in values.items()}
        return self._cells(values, best)

    def _cells(
        self, values: Mapping[str, Mapping[str, float]], best: Mapping[str, Sequence[str]]
    ) -> Cells:
        """Return each method's values, and whether it is among the best, unless all are."""
        cells: Cells = {method: [] for method in self.explanations}
        for metric, by_method in values.items():
            defined = {method for method, value in by_method.items() if value == value}
            chosen = defined.intersection(best.get(metric, ()))
            are_marked = len(chosen) < sum(not self._is_random(method) for method in defined)
            for method, value in by_method.items():
                text = number_text(value, signed=False, like=value) if method in defined else "–"
                cells[method].append((text, are_marked and method in chosen))
        return cells

    def _top(self, metric: str, values: Mapping[str, float]) -> list[str]:
        """Return the methods of the best value; random explanations are not ranked."""
        preference = self._facts(metric).preference
        if preference is None:
            return []
        ranked = {m: v for m, v in values.items() if not self._is_random(m) and v == v}
        best = max if preference == "higher" else min
        top = best(ranked.values(), default=math.nan)
        return [m for m, value in ranked.items() if math.isclose(value, top, rel_tol=_EQUAL)]


def benchmark(
    model: Any,
    texts: str | Text | Sequence[TextLike] | Mapping[str, object],
    targets: Any = "predicted",
    *,
    methods: Ids | None = None,
    metrics: Ids | None = None,
    **options: Any,
) -> Benchmark:
    """Explain texts with several methods, and score the explanations with several metrics.

    Args:
        model: see :class:`Benchmark`, as for what follows.
        texts: strings or lists of words, or a dataset with ``use`` and its options.
        targets: index or name of a class for each text, or of one for all; ``predicted`` ones.
        methods: an id, ids, options by id, or ``all``; by default those of ferret that can work
            with the classifier. See :meth:`Benchmark.explain`.
        metrics: an id, ids, options by id, or ``all``; by default those of ferret: faithfulness,
            and plausibility where there are rationales.
        **options: others of :class:`Benchmark`, such as ``rationales`` and ``seed``.

    Returns:
        The explanations, their scores, tables of them, and the seconds that each method took.

    Raises:
        InputError: the model is none of these, an id or option is unknown, or a text, target or
            rationale does not fit.

    Examples:
        >>> import exparity
        >>> def predict(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> classifier = exparity.load_classifier(predict, classes=["bad", "good"])
        >>> texts = ["a good film", "dull"]
        >>> study = exparity.benchmark(classifier, texts, methods=["occlusion"], metrics=["gini"])
        >>> float(study.table().gini.loc["occlusion"].round(2))
        0.67

        Texts of a dataset:

        >>> pairs = {"use": "pairs_all", "n_pairs": 10}
        >>> exparity.benchmark("model", pairs, methods=["gradient"], metrics=["gini"])
        <Benchmark of 4 texts; methods: gradient; metrics: gini>
    """
    study = Benchmark(model, texts, targets, **options)
    study._metrics_to_use(metrics)  # a misspelt one, before explaining takes time
    return study.explain(methods).evaluate(metrics)
