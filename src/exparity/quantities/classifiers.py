"""Facts about the classifier of each training of a model, from its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa

from exparity.artefacts.ids import Ids
from exparity.core.settings import Statistics
from exparity.quantities.inputs import Lookup, read_all
from exparity.stats.crossed import PROMPT, TRAINING, p_by_pair
from exparity.stats.effect import cohens_d
from exparity.stats.model_bias import is_collapsed
from exparity.stats.samples import GroupedTexts
from exparity.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Classifier:
    """A trained classifier, by its predictions of the test texts.

    Attributes:
        accuracy: share of them that it gets right.
        is_collapsed: whether it predicts one class.
        is_informative: whether it does not, and answers with a class.
        certainty: probability of the true class of each text, by its id.
        right: whether each text, by its id, is predicted rightly.
        share_right: share of each group that is.
    """

    accuracy: float
    is_collapsed: bool
    is_informative: bool
    certainty: Mapping[str, float]
    right: Mapping[str, bool]
    share_right: Mapping[str, float]

    @classmethod
    def of(cls, table: pa.Table, flags: Sequence[str]) -> Classifier:
        """Return what a predictions artefact with these flags says."""
        predicted = table.column("predicted").to_numpy()
        labels = table.column("label").to_numpy()
        is_right = predicted == labels
        collapsed = is_collapsed(predicted)
        rows = zip(table.column("probabilities").to_pylist(), labels.tolist(), strict=True)
        certainty = [probabilities[label] for probabilities, label in rows]
        groups = np.array(table.column("group").to_pylist(), dtype=object)
        members = {group: groups == group for group in set(groups.tolist())}
        examples = table.column("example_id").to_pylist()
        return cls(
            accuracy=float(is_right.mean()),
            is_collapsed=collapsed,
            is_informative=not collapsed and "label_mass_low" not in flags,
            certainty=dict(zip(examples, certainty, strict=True)),
            right=dict(zip(examples, is_right.tolist(), strict=True)),
            share_right={group: float(is_right[mask].mean()) for group, mask in members.items()},
        )


@dataclass(frozen=True)
class Classifiers:
    """The classifiers of a model.

    Attributes:
        by_seed: each classifier by its seed.
        run: a training or a prompt.
        ids: of the n test texts.
        texts: their groups and matched sets.
    """

    by_seed: Mapping[int, Classifier]
    run: str
    ids: Sequence[str]
    texts: GroupedTexts

    def __getitem__(self, seed: int) -> Classifier:
        return self.by_seed[seed]

    @property
    def uninformative(self) -> frozenset[int]:
        """Seeds that predict one class, and prompts that the model hardly answers with a class."""
        return frozenset(
            seed for seed, classifier in self.by_seed.items() if not classifier.is_informative
        )

    def are_right(self, seed: int, ids: Sequence[str]) -> BoolArray:
        """Return (n,) whether a training is known to predict each text rightly."""
        right = self[seed].right
        return np.array([right.get(example, False) for example in ids], dtype=bool)

    def mean_share_right(self, group: str) -> float:
        """Return the share of a group that is predicted rightly, mean over the informative ones."""
        shares = [
            classifier.share_right[group]
            for classifier in self._informative
            if group in classifier.share_right
        ]
        return float(np.mean(shares)) if shares else np.nan

    def certainty_d(self, group_a: str, group_b: str) -> float:
        """Return d of the probability of the true class, mean over the informative trainings."""
        return self._certainty_d.get((group_a, group_b), np.nan)

    def surer_of(self, group_a: str, group_b: str, settings: Statistics) -> str:
        """Return the group whose true class they are surer of; empty where this is not shown.

        d is at least the threshold then, and the test of the mean gap over trainings and texts
        shows one, at α over all pairs of groups (Bonferroni).
        """
        d = self.certainty_d(group_a, group_b)
        p = self._certainty_p.get(frozenset((group_a, group_b)), np.nan)
        if not (p <= settings.alpha and abs(d) >= settings.threshold):
            return ""
        return group_a if d > 0 else group_b

    @cached_property
    def _certainty(self) -> FloatArray:
        """(s, n) probability of the true class of each text by the informative ones."""
        by_training = [classifier.certainty for classifier in self._informative]
        return np.array(
            [[certainty.get(text, np.nan) for text in self.ids] for certainty in by_training]
        )

    @cached_property
    def _certainty_d(self) -> Mapping[tuple[str, str], float]:
        """D by two groups in either order, where both have two texts; every cell asks for it."""
        if not len(self._certainty):
            return {}
        members = {group: self.texts.in_group(group) for group in self.texts.order}
        parts = {
            group: np.ascontiguousarray(self._certainty[:, is_member])  # sums as of each row alone
            for group, is_member in members.items()
            if is_member.sum() > 1
        }
        return {
            (a, b): float(np.mean(cohens_d(parts[a], parts[b]))) for a, b in permutations(parts, 2)
        }

    @cached_property
    def _certainty_p(self) -> Mapping[frozenset[str], float]:
        """p-value of "they are as sure of both groups", by two groups."""
        return p_by_pair(self._certainty, self.texts)

    @property
    def _informative(self) -> list[Classifier]:
        return [classifier for classifier in self.by_seed.values() if classifier.is_informative]


def read_classifiers(predictions: Sequence[Path], ids: Ids) -> Classifiers:
    """Read what the predictions of each training say of its classifier.

    ``ids`` are the dataset and model that they have to be of.
    """
    by_seed: dict[int, Classifier] = {}
    run = TRAINING
    texts = pa.table({})
    same_model = "the scores", ids
    for table, metadata in read_all("predictions", predictions, same_model, over=("seed",)):
        seed = metadata.ids.seed
        by_seed[seed] = Classifier.of(table, metadata.flags)
        texts = table
        if "prompt" in metadata.parameters:
            run = PROMPT
    groups = texts.column("group").to_pylist()
    order = sorted({*groups} - {None})
    code_of = {group: code for code, group in enumerate(order)}
    codes = np.array([code_of.get(group, -1) for group in groups])
    return Classifiers(
        Lookup("--predictions", "file of seed", by_seed.items()),
        run,
        texts.column("example_id").to_pylist(),
        GroupedTexts(order, codes, texts.column("match_id").to_pylist()),
    )
