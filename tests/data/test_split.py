"""Stratified splits and samples: quotas by hand, whole sets, and no dependence on order."""

import math
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.core.errors import InputError
from exparity.data._split import split_examples, stratified_sample
from exparity.data.table import sample
from exparity.types import Example

SHARES = st.sampled_from([0.01, 0.1, 0.2, 0.25, 0.3, 0.5, 0.8, 0.99])


def example(id, label=0, group="a", match_id=None):
    return Example(str(id), ("word",), label, group, "train", match_id)


def ids(examples):
    return [e.example_id for e in examples]


def split_of(examples, **options):
    return {e.example_id: e.split for e in split_examples(examples, **options)}


@st.composite
def rows(draw):
    """Examples of up to three classes and groups without matched sets."""
    kinds = draw(
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), min_size=2, max_size=60)
    )
    return [example(i, label, group) for i, (label, group) in enumerate(kinds)]


@st.composite
def sets(draw):
    """Examples in matched sets of one to three, across groups or within one, and without any."""
    examples = []
    for i in range(draw(st.integers(2, 25))):
        match = draw(st.sampled_from([f"m{i}", f"m{i}", None]))
        for j in range(draw(st.integers(1, 3)) if match else 1):
            label, group = draw(st.integers(0, 1)), draw(st.sampled_from("abc"))
            examples.append(example(f"{i}-{j}", label, group, match))
    return examples


@pytest.mark.property
class TestQuotas:
    @given(rows(), SHARES)
    def test_every_stratum_is_rounded_down_or_up_and_the_total_is_nearest(self, examples, share):
        found = split_examples(examples, test_share=share)
        exact = Fraction(str(share))
        total = sum(e.split == "test" for e in found)
        assert total == min(max(math.floor(exact * len(found) + Fraction(1, 2)), 1), len(found) - 1)
        sizes = Counter((e.label, e.group) for e in found)
        tests = Counter((e.label, e.group) for e in found if e.split == "test")
        for stratum, n in sizes.items():
            assert math.floor(exact * n) <= tests[stratum] <= math.ceil(exact * n), stratum

    @given(rows(), SHARES)
    def test_classes_and_groups_keep_their_shares_within_two(self, examples, share):
        found = split_examples(examples, test_share=share)
        for fact in ("label", "group"):
            sizes = Counter(getattr(e, fact) for e in found)
            tests = Counter(getattr(e, fact) for e in found if e.split == "test")
            for value, n in sizes.items():
                assert abs(tests[value] - share * n) < 2, (fact, value)


@pytest.mark.property
class TestInvariance:
    @given(sets(), SHARES, st.integers(0, 5))
    def test_matched_sets_stay_whole_and_nothing_else_changes(self, examples, share, seed):
        found = split_examples(examples, test_share=share, seed=seed)
        assert ids(found) == ids(examples)
        assert {e.split for e in found} == {"train", "test"}
        splits = defaultdict(set)
        for e in found:
            if e.match_id is not None:
                splits[e.match_id].add(e.split)
        assert all(len(s) == 1 for s in splits.values())
        assert all(e.split == "train" for e in examples)  # the input is as it was

    @given(sets(), SHARES, st.randoms(use_true_random=False))
    def test_the_order_of_rows_does_not_matter(self, examples, share, random):
        mixed = list(examples)
        random.shuffle(mixed)
        assert split_of(mixed, test_share=share) == split_of(examples, test_share=share)


class TestByHand:
    def test_within_a_stratum_the_hash_decides_on_every_machine(self):
        # `printf '0\\x1fexample\\x1fh' | sha256sum` is the smallest of the ten, then that of j.
        found = split_of([example(x) for x in "abcdefghij"])
        assert {x for x, s in found.items() if s == "test"} == {"h", "j"}

    def test_what_is_left_goes_where_class_and_group_fall_short_most(self):
        """Of 1.5 of each stratum two are rounded up, of different classes and groups."""
        kinds = [(label, group) for label in (0, 1) for group in "ab"]
        examples = [example(f"{kind}{i}", *kind) for kind in kinds for i in range(3)]
        found = split_examples(examples, test_share=0.5)
        tests = Counter((e.label, e.group) for e in found if e.split == "test")
        assert tests == {(0, "a"): 2, (0, "b"): 1, (1, "a"): 1, (1, "b"): 2}

    def test_the_share_is_taken_at_its_word(self):
        # 0.29 * 100 is 28.999999999999996 in binary.
        examples = [example(i) for i in range(100)]
        assert Counter(split_of(examples, test_share=0.29).values())["test"] == 29

    def test_one_set_cannot_be_split(self):
        pair = [example(1, match_id="m"), example(2, group="b", match_id="m")]
        with pytest.raises(InputError, match="x: 1 examples or matched sets cannot be split"):
            split_examples(pair, where="x")


@pytest.mark.property
class TestStratifiedSample:
    @given(rows(), st.integers(1, 70))
    def test_as_many_as_wanted_with_the_shares_of_all(self, examples, size):
        taken = stratified_sample(examples, size)
        assert len(taken) == min(size, len(examples))
        assert taken == [e for e in examples if e in taken]  # as they were, in their order
        # The share is a decimal number, as that of a split is: of three rows, it is just below 1/3.
        share = Fraction(str(len(taken) / len(examples)))
        sizes = Counter((e.label, e.group) for e in examples)
        counts = Counter((e.label, e.group) for e in taken)
        for stratum, n in sizes.items():
            assert math.floor(share * n) <= counts[stratum] <= math.ceil(share * n)


@pytest.mark.property
class TestSample:
    @given(sets(), st.integers(0, 30))
    def test_size_whole_sets_and_order(self, examples, size):
        found = sample(examples, size)
        assert len(found) <= size
        assert len(found) > min(size, len(examples)) - 3  # the largest set has three
        chosen = set(ids(found))
        assert ids(found) == [i for i in ids(examples) if i in chosen]
        for match_id in {e.match_id for e in examples} - {None}:
            members = {e.example_id for e in examples if e.match_id == match_id}
            assert members <= chosen or not members & chosen

    @given(sets(), st.integers(0, 30), st.randoms(use_true_random=False))
    def test_it_does_not_depend_on_the_order(self, examples, size, random):
        mixed = list(examples)
        random.shuffle(mixed)
        assert set(ids(sample(mixed, size))) == set(ids(sample(examples, size)))

    @given(sets(), st.integers(0, 30), st.integers(0, 30))
    def test_a_larger_sample_holds_the_smaller(self, examples, one, two):
        small, large = sorted((one, two))
        assert set(ids(sample(examples, small))) <= set(ids(sample(examples, large)))

    @given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.booleans())))
    def test_no_group_is_ahead_by_more_than_a_set(self, units):
        examples = [
            example(f"{i}-{j}", match_id=f"m{i}" if size > 1 or matched else None, group=group)
            for i, (group, size, matched) in enumerate(units)
            for j in range(size)
        ]
        every = Counter(e.group for e in examples)
        for size in range(len(examples)):
            found = Counter(e.group for e in sample(examples, size))
            most = max(found.values(), default=0)
            assert all(most - found[g] <= 3 or found[g] == every[g] for g in every)

    def test_another_process_would_take_the_same(self):
        # In the order of sha256(match_id): printf b | sha256sum is 3e…, c 2e…, a ca….
        examples = [example(x, match_id=x) for x in "abc"]
        assert [ids(sample(examples, n)) for n in (1, 2)] == [["c"], ["b", "c"]]
