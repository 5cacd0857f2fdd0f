"""Training sets of made-up examples, by the size of each class and group."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from exparity.data.training_set import TrainingSet
from exparity.debiasing.recipes import calls_of
from exparity.types import Example

GROUPS = ("male", "female", "neutral")
Sizes = Mapping[tuple[int, str], int]
several_sizes = st.dictionaries(
    st.tuples(st.integers(0, 2), st.sampled_from(GROUPS)), st.integers(1, 9), min_size=1
)


def counterfactuals(example: Example) -> list[Example]:
    """An example once for each other group, which its words name."""
    others = [group for group in GROUPS if group != example.group]
    return [replace(example, words=(*example.words[:-1], o), group=o) for o in others]


def training_set_of(sizes: Sizes, seed: int = 0, groups: tuple[str, ...] = GROUPS) -> TrainingSet:
    """A training set with so many examples of each class and group."""
    examples = [
        Example(f"{label}-{group}-{i}", (f"text{i}", f"of{label}", group), label, group, "train")
        for (label, group), size in sizes.items()
        for i in range(size)
    ]
    labels = tuple(f"class{i}" for i in range(max(label for label, _ in sizes) + 1))
    weights = np.ones(len(examples))

    def make(example: Example) -> list[Example]:
        return [other for other in counterfactuals(example) if other.group in groups]

    return TrainingSet("made_up", groups, labels, examples, weights, (), seed, counterfactuals=make)


def sizes_of(training_set: TrainingSet) -> Counter[tuple[int, str]]:
    """Count the examples of each class and group."""
    return Counter((example.label, example.group) for example in training_set.examples)


def content_of(training_set: TrainingSet) -> Counter[tuple[str, str, tuple[str, ...], float]]:
    """Count what is trained on, whatever its order."""
    return Counter(
        (example.example_id, example.group, example.words, weight)
        for example, weight in zip(training_set.examples, training_set.weights, strict=True)
    )


def interventions(recipe: str) -> list[dict]:
    """Return the calls of a recipe as artefacts record them; none of "none"."""
    calls = [] if recipe == "none" else calls_of(recipe, "")
    return [{"use": call.pop("use"), "params": call} for call in calls]
