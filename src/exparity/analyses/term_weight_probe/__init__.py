"""Analysis term_weight_probe: bias of a bag of words whose words for the groups weigh more or less.

Chen, Ji and Evans (2024), section 3.3 and figure 3: what is left of a gap at weight 0 does not come
from these words. Their appendix H.1 and figure 12 scale the words of one group alone.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses.term_weight_probe.section import ALL_GROUPS, NONE, findings
from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Ids
from exparity.core.digest import source_digest
from exparity.core.errors import InputError, require_known
from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.data.table import PreparedData, read_prepared
from exparity.data.training_set import TrainingSet
from exparity.debiasing import apply, sources_of
from exparity.debiasing.recipes import calls_of
from exparity.quantities.inputs import Counterfactual, Lookup, require_same_cell
from exparity.stats.causal_bias import CounterfactualPrediction
from exparity.stats.gaps import gaps_of
from exparity.stats.predictions import Predictions, predictions_of
from exparity.types import Example, IntArray

log = logging.getLogger(__name__)
_WEIGHTS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
_SEED = 0  # of the draws of interventions
_WHERE = "analyses.term_weight_probe"
_COLUMNS = ("quantity", "group", "group_b", "class_name", "value", "n")
Words = Sequence[str]
ScaledPredictions = tuple[Predictions, Sequence[CounterfactualPrediction]]
"""Predicted classes of test texts, and of their counterfactuals."""
# Words of one letter and numbers count: "she's" is she and s, "5 priors" is 5 and priors.
_TOKEN = r"(?u)\b\w+\b"
_MOST_ITERATIONS = 20_000


def _job_options(experiment: ExperimentView, ids: Ids, **settings: Any) -> dict[str, object] | None:
    """Return the options of a job; none where a dataset has no counterfactuals."""
    if not experiment.generators:
        raise InputError(
            f"{_WHERE}: no dataset has counterfactuals; name a generator, counterfactuals.DATASET"
        )
    if ids.dataset not in experiment.generators:
        return None
    calls = [call for name in settings["debias"] for call in _calls(name)]
    terms = _terms_on(experiment, ids.dataset, settings["terms"])
    return {**settings, "terms": terms, "digest": source_digest(*sources_of(calls))}


def _terms_on(experiment: ExperimentView, dataset: str, terms: Sequence[str]) -> list[str]:
    """Return the terms that a dataset has; refuse one that no dataset has."""
    groups_of = {name: experiment.datasets[name].known_groups for name in experiment.generators}
    if all(groups_of.values()):
        allowed_terms = [
            ALL_GROUPS,
            *dict.fromkeys(g for groups in groups_of.values() for g in groups),
        ]
        for term in terms:
            require_known(term, allowed_terms, f"{_WHERE}.terms: no dataset has a group '{term}'")
    groups = groups_of[dataset]
    return [term for term in terms if not groups or term in (ALL_GROUPS, *groups)]


@analysis(
    "term_weight_probe",
    level="dataset",
    reads=("data", "counterfactuals"),
    writes={
        "term_weight_probe": Table(
            "debias terms: string",
            "weight: float64",
            "quantity group group_b class_name: string",
            "value: float64",
            "n: int64",
            keys=("debias", "terms", "weight", "quantity", "group", "group_b", "class_name"),
        )
    },
    display="Words for groups",
    memory_mb=4000,
    job_options=_job_options,
    section=findings,
)
def term_weight_probe(
    data: Path,
    counterfactuals: Path,
    *,
    weights: Sequence[float] = _WEIGHTS,
    terms: Sequence[str] = (ALL_GROUPS,),
    debias: Sequence[str] = (NONE,),
) -> StageResult:
    """Measure the bias of a bag of words at several weights of the words for the groups.

    Args:
        data: the data artefact.
        counterfactuals: the counterfactuals artefact, which determines these words.
        weights: factors of the counts of the groups' words in test texts.
        terms: whose words are scaled: ``all`` groups' together, or those of the group named alone.
        debias: interventions and recipes in the training; ``none`` for the data as they are.

    Raises:
        InputError: the files are of different datasets, an unknown group or recipe, or one class.
    """
    prepared = read_prepared(data)
    versions = _versions(counterfactuals, data, prepared)

    def versions_of(example: Example) -> Sequence[Example]:
        return versions.get((example.example_id, example.group), ())

    changes = [
        (example, version) for example in prepared.examples for version in versions_of(example)
    ]
    words = group_words(changes, prepared.groups)
    scaled_words = {ALL_GROUPS: frozenset[str]().union(*words.values()), **words}
    for term in terms:
        allowed_terms = (ALL_GROUPS, *prepared.groups)
        require_known(
            term, allowed_terms, f"{_WHERE}.terms: no group '{term}' in {prepared.dataset}"
        )
    training_set = replace(TrainingSet.of(prepared, 0.0, _SEED), counterfactuals=versions_of)
    test = prepared.split("test")
    changed = [(i, version) for i, example in enumerate(test) for version in versions_of(example)]
    texts = _TestTexts(prepared, test, changed)
    rows: list[dict[str, object]] = []
    for name in debias:
        bag = BagOfWords(apply(training_set, _calls(name)))
        predict = texts.predictor(bag)
        for term, weight in product(terms, weights):
            scale = {"debias": name, "terms": term, "weight": weight}
            predicted = predict(scaled_words[term], weight)
            for gap in gaps_of(*predicted, confidence=DEFAULTS.confidence):
                rows.append({**scale, **{name: getattr(gap, name) for name in _COLUMNS}})
    words_by_group = {group: sorted(names) for group, names in words.items()}
    log.info("words of the groups: %s", {group: len(names) for group, names in words.items()})
    facts = {**prepared.compared, "labels": list(prepared.labels), "words": words_by_group}
    return StageResult(rows, {"dataset": prepared.dataset}, facts)


@dataclass(frozen=True)
class _TestTexts:
    """Test texts and their counterfactuals, each with the position of its original."""

    prepared: PreparedData
    examples: Sequence[Example]
    counterfactuals: Sequence[tuple[int, Example]]

    def predictor(self, bag: BagOfWords) -> Callable[[Collection[str], float], ScaledPredictions]:
        """Count words once; return a function from scaled words and a weight to predictions."""
        counts = bag.counts(example.words for example in self.examples)
        changed_counts = bag.counts(version.words for _, version in self.counterfactuals)
        labels = [example.label for example in self.examples]
        groups = [example.group for example in self.examples]
        declared = self.prepared.groups, self.prepared.labels
        certain = np.eye(len(self.prepared.labels))

        def predict(scaled: Collection[str], weight: float) -> ScaledPredictions:
            classes = bag.predict(counts, scaled, weight)
            changed_classes = bag.predict(changed_counts, scaled, weight)
            changed = [
                CounterfactualPrediction(i, version.group, int(c), certain[c], n_changed=1)
                for (i, version), c in zip(self.counterfactuals, changed_classes, strict=True)
            ]
            probabilities = certain[classes].tolist()
            return predictions_of(
                labels, classes.tolist(), probabilities, groups, *declared
            ), changed

        return predict


def _calls(debias: str) -> list[dict[str, object]]:
    """Return ``use`` and ``params`` of the interventions that a name stands for."""
    written = [] if debias == NONE else calls_of(debias, f"{_WHERE}.debias")
    return [{"use": call.pop("use"), "params": call} for call in written]


def _versions(
    path: Path, data: Path, prepared: PreparedData
) -> Mapping[tuple[str, str], Sequence[Example]]:
    """Read the counterfactuals of every example, by its id and group."""
    table, metadata = read_artefact(path, "counterfactuals")
    require_same_cell((data, {"dataset": prepared.dataset}), (path, metadata.ids))
    examples = Lookup(data, "example", ((e.example_id, e) for e in prepared.examples))
    versions: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for row in records(Counterfactual, table):
        original = examples[row.example_id]
        version = replace(original, words=tuple(row.words), group=row.group_to)
        versions[original.example_id, original.group].append(version)
    return versions


class BagOfWords:
    """A multinomial logistic regression on counts of words, trained until it converges.

    Args:
        training_set: what to train on, with weights.

    Raises:
        InputError: fewer than two classes.
    """

    def __init__(self, training_set: TrainingSet) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression

        labels = [example.label for example in training_set.examples]
        if len(set(labels)) < 2:
            raise InputError(
                f"{training_set.dataset}: the training split has one class; nothing can be learnt"
            )
        self._vectoriser = CountVectorizer(token_pattern=_TOKEN)
        counts = self._vectoriser.fit_transform(_texts(e.words for e in training_set.examples))
        self._regression = LogisticRegression(tol=1e-6, max_iter=_MOST_ITERATIONS)
        self._regression.fit(counts, labels, sample_weight=training_set.weights)

    def counts(self, texts: Iterable[Words]) -> Any:
        """Count the known words of texts: (n, v), sparse."""
        return self._vectoriser.transform(_texts(texts))

    def predict(self, counts: Any, scaled: Collection[str], weight: float) -> IntArray:
        """Predict classes from counts, some of them scaled."""
        from scipy.sparse import diags_array

        names = self._vectoriser.get_feature_names_out()
        factors = np.where(np.isin(names, list(scaled)), weight, 1.0)
        return np.asarray(self._regression.predict(counts @ diags_array(factors)), dtype=np.int64)


def group_words(
    changes: Iterable[tuple[Example, Example]], order: Sequence[str]
) -> dict[str, frozenset[str]]:
    """Return the words that tell groups apart: those that counterfactuals remove or bring in.

    Each is a word of the group in whose versions it is more often, as his is although it stays in
    some texts about women.

    Args:
        changes: texts and their counterfactuals.
        order: the groups.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    by_groups = grouped(changes, lambda pair: (pair[0].group, pair[1].group))
    vectoriser = CountVectorizer(token_pattern=_TOKEN)
    pairs = chain(*by_groups.values())
    vectoriser.fit(_texts(example.words for example in chain(*pairs)))
    names = vectoriser.get_feature_names_out()
    surplus = np.zeros((len(order), len(names)), dtype=np.int64)
    for (group, other), members in by_groups.items():
        originals = vectoriser.transform(_texts(original.words for original, _ in members))
        versions = vectoriser.transform(_texts(version.words for _, version in members))
        change = originals - versions
        surplus[order.index(group)] += np.asarray(change.maximum(0).sum(axis=0)).ravel()
        surplus[order.index(other)] += np.asarray((-change).maximum(0).sum(axis=0)).ravel()
    changed = surplus.any(axis=0)
    owner = surplus.argmax(axis=0)
    return {
        group: frozenset(names[changed & (owner == i)].tolist()) for i, group in enumerate(order)
    }


def _texts(texts: Iterable[Words]) -> list[str]:
    return [" ".join(words) for words in texts]
