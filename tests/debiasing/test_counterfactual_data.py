"""Augmentation by counterfactuals and substitution: who is there how often, with which weight."""

from dataclasses import replace

import pytest
from debiasing.examples import content_of, counterfactuals, several_sizes, sizes_of, training_set_of
from hypothesis import given
from hypothesis import strategies as st

from exparity import InputError
from exparity.debiasing import apply
from exparity.debiasing.recipes import calls_of

TWO = ("male", "female")
SUBSTITUTE = {"use": "counterfactual_data", "params": {"mode": "substitute"}}
SIZES = {(0, "male"): 3, (0, "female"): 1, (1, "male"): 2, (1, "female"): 5}


def copied(training_set, *before, **params):
    return apply(training_set, [*before, {"use": "counterfactual_data", "params": params}])


@pytest.mark.property
@given(sizes=several_sizes)
def test_every_example_gets_a_copy_for_each_other_group(sizes):
    plain = training_set_of(sizes)
    after = copied(plain)
    n = len(plain.examples)
    assert after.examples[:n] == plain.examples
    assert list(after.examples[n:]) == [
        replace(other, attributes={"made_by": "counterfactual_data"})
        for example in plain.examples
        for other in counterfactuals(example)
    ]
    assert len(after.examples) == 3 * n
    by_class = {label: 0 for label, _ in sizes}
    for (label, _), size in sizes.items():
        by_class[label] += size
    # Group and class are independent: every group has what all groups had.
    assert all(sizes_of(after)[cell] == by_class[cell[0]] for cell in sizes_of(after))


@pytest.mark.property
@given(sizes=several_sizes, seed=st.integers(0, 9), data=st.data())
def test_half_of_each_class_and_group_is_exchanged(sizes, seed, data):
    plain = training_set_of(sizes, seed)
    after = copied(plain, mode="substitute")
    assert sorted(e.example_id for e in after.examples) == sorted(
        e.example_id for e in plain.examples
    )
    for (label, group), size in sizes.items():
        made = [
            row
            for row in after.rows()
            if row["made_by"] and row["example_id"].startswith(f"{label}-{group}-")
        ]
        assert len(made) == size // 2
        assert all(row["group"] != group for row in made)
    order = data.draw(st.permutations(range(len(plain.examples))))
    assert content_of(copied(plain.take(order), mode="substitute")) == content_of(after)


@pytest.mark.reference
def test_copies_weigh_as_each_study_has_them():
    """By the text: the original's (BiasBios), 1 (Jigsaw), or that of the copy's own cell."""
    plain = training_set_of(SIZES, groups=TWO)
    weigh = {"use": "group_class_weights"}
    n = len(plain.examples)
    # n 11; classes 4 and 7; groups 5 and 6.
    table = {
        (0, "male"): 4 * 5 / (11 * 3), (0, "female"): 4 * 6 / (11 * 1),
        (1, "male"): 7 * 5 / (11 * 2), (1, "female"): 7 * 6 / (11 * 5),
    }  # fmt: skip
    same, own, one = (copied(plain, weigh, weights=kind) for kind in ("same", "own", "one"))
    for after in (same, own, one):
        assert after.weights[:n].tolist() == pytest.approx(
            [table[e.label, e.group] for e in plain.examples]
        )
    assert same.weights[n:].tolist() == same.weights[:n].tolist()
    assert own.weights[n:].tolist() == pytest.approx(
        [table[e.label, e.group] for e in own.examples[n:]]
    )
    assert set(one.weights[n:]) == {1.0}


def test_own_weights_of_a_class_without_the_group_are_those_of_the_originals(caplog):
    sizes = {(0, "male"): 3, (1, "male"): 2, (1, "female"): 5}
    after = copied(
        training_set_of(sizes, groups=TWO), {"use": "group_class_weights"}, weights="own"
    )
    pairs = zip(after.examples, after.weights, strict=True)
    weights = {(e.label, e.group, "made_by" in e.attributes): weight for e, weight in pairs}
    assert weights[0, "female", True] == weights[0, "male", False]
    assert weights[1, "female", True] == weights[1, "female", False]
    message = "no training example of class0/female; its counterfactuals have the weights of their"
    assert any(message in line for line in caplog.messages)


def test_what_has_no_counterfactual_or_no_other_words():
    plain = training_set_of(SIZES, groups=TWO)

    def make(example):
        if example.label == 0:
            return []
        words = ("other",) if example.group == "male" else example.words
        return [replace(example, words=words, group=o) for o in TWO if o != example.group]

    after = copied(replace(plain, counterfactuals=make))
    assert len(after.examples) == 11 + 7
    # They are copies all the same: resampled apart, and of the group that they were made.
    assert sum(row["made_by"] == "counterfactual_data" for row in after.rows()) == 7
    # Substitution leaves alone what has none.
    half = copied(replace(plain, counterfactuals=make), mode="substitute")
    assert sorted(e.example_id for e in half.examples) == sorted(
        e.example_id for e in plain.examples
    )


@pytest.mark.parametrize("recipe", ["us_cda_jigsaw", "substitute"])
def test_counterfactuals_that_change_nothing_are_refused(recipe):
    """A model was trained on copies, as if they were of the other group."""
    calls = calls_of(recipe, "") if recipe != "substitute" else [SUBSTITUTE]
    plain = training_set_of({cell: 4 for cell in SIZES}, groups=TWO)

    def make(example):
        return [replace(example, group=o) for o in TWO if o != example.group]

    message = r"of \d+ training examples of 'made_up', none has a counterfactual with other words"
    with pytest.raises(InputError, match=message):
        apply(replace(plain, counterfactuals=make), calls)
