"""Over- and undersampling against counting by hand, and draws that ignore the order of rows."""

import numpy as np
import pytest
from debiasing.examples import content_of, several_sizes, sizes_of, training_set_of
from hypothesis import given
from hypothesis import strategies as st

from exparity.debiasing import apply

COPIES = {"use": "counterfactual_data"}


def resampled(training_set, mode, *before):
    return apply(training_set, [*before, {"use": "resampling", "params": {"mode": mode}}])


@pytest.mark.property
@given(sizes=several_sizes, seed=st.integers(0, 9))
@pytest.mark.parametrize(("mode", "size"), [("under", min), ("over", max)])
def test_groups_of_a_class_become_equally_large(sizes, seed, mode, size):
    before = training_set_of(sizes, seed)
    after = resampled(before, mode)
    of_class = {
        label: [n for (other, _), n in sizes.items() if other == label] for label, _ in sizes
    }
    # A class keeps the groups that it has; one whose groups are equally large is not dropped.
    assert sizes_of(after) == {cell: size(of_class[cell[0]]) for cell in sizes}
    copies = content_of(after)
    if mode == "under":
        assert max(copies.values()) == 1
        assert copies <= content_of(before)
    else:
        assert copies.keys() == content_of(before).keys()


@pytest.mark.property
@given(sizes=several_sizes, data=st.data())
@pytest.mark.parametrize("mode", ["under", "over"])
@pytest.mark.parametrize("before", [(), (COPIES,)])
def test_draws_do_not_depend_on_the_order_of_rows(sizes, data, mode, before):
    plain = training_set_of(sizes, seed=5)
    order = data.draw(st.permutations(range(len(plain.examples))))
    one, other = resampled(plain, mode, *before), resampled(plain.take(order), mode, *before)
    assert content_of(one) == content_of(other)


def test_copies_are_resampled_by_their_own_group_and_apart():
    """Chen et al. on Jigsaw: four originals of either class' smaller group, and as many copies."""
    groups = ("male", "female")
    sizes = {(0, "male"): 9, (0, "female"): 4, (1, "male"): 2, (1, "female"): 3}
    after = resampled(training_set_of(sizes, groups=groups), "under", COPIES)
    made = [row for row in after.rows() if row["made_by"]]
    for rows in (made, [row for row in after.rows() if not row["made_by"]]):
        counts = {cell: sum((r["label"], r["group"]) == cell for r in rows) for cell in sizes}
        assert counts == {(0, "male"): 4, (0, "female"): 4, (1, "male"): 2, (1, "female"): 2}
    # They are drawn among copies of all examples, and not made of those that were drawn.
    assert {row["example_id"] for row in made} != {
        row["example_id"] for row in after.rows() if not row["made_by"]
    }


def test_a_class_without_a_group_is_said_in_one_line(caplog):
    plain = training_set_of(
        {(0, "male"): 5, (1, "male"): 3, (1, "female"): 1}, groups=("male", "female")
    )
    after = resampled(plain, "under")
    assert sizes_of(after) == {(0, "male"): 5, (1, "male"): 1, (1, "female"): 1}
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "no training example of class0/female;" in record.getMessage()
    assert "\n" not in record.getMessage()
    caplog.clear()
    resampled(plain, "over", COPIES)
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    originals, copies = (record.getMessage() for record in warnings)
    assert "no training example of class0/female;" in originals
    assert "no counterfactual of class0/male;" in copies


def test_every_example_is_drawn_equally_often_over_seeds():
    sizes = {(0, "male"): 12, (0, "female"): 4}
    drawn = [content_of(resampled(training_set_of(sizes, seed), "under")) for seed in range(600)]
    kept = sum((counts for counts in drawn[1:]), drawn[0])
    male = [count for (_, group, *_), count in kept.items() if group == "male"]
    assert len(male) == 12
    # 600 draws of 4 in 12: 200 each, with a standard deviation of 11.5.
    assert np.abs(np.array(male) - 200).max() < 5 * 11.5
    drawn = [content_of(resampled(training_set_of(sizes, seed), "over")) for seed in range(300)]
    repeated = sum((counts for counts in drawn[1:]), drawn[0])
    female = [count for (_, group, *_), count in repeated.items() if group == "female"]
    # 300 times once each, and 8 draws with replacement among 4: 900, with a deviation of 21.
    assert len(female) == 4
    assert np.abs(np.array(female) - 900).max() < 5 * 21.2
    assert len({tuple(sorted(counts.values())) for counts in drawn}) > 1


def test_draws_are_the_same_whatever_ran_before():
    plain = training_set_of({(0, "male"): 9, (0, "female"): 4})
    alone = resampled(plain, "under")
    later = resampled(plain, "under", {"use": "equal_steps"}, {"use": "group_class_weights"})
    assert [e.example_id for e in alone.examples] == [e.example_id for e in later.examples]
