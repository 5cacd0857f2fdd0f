"""Attribution on the words that a counterfactual changes."""

import numpy as np
import pytest

import exparity
from exparity import Explanation, InputError


def explained(scores, changed, **more):
    tokens = [f"w{i}" for i in range(len(scores))]
    return Explanation("x", 0, tokens=tokens, scores=scores, changed_words=changed, **more)


def term_attribution(*explanations, **options):
    return exparity.evaluate(None, explanations, "term_attribution", **options)


@pytest.mark.reference
def test_tokens_of_a_word_are_added_up_and_special_ones_left_out():
    one = explained(
        [9, 1, 2, 3, 9], [1, 0], special_mask=[1, 0, 0, 0, 1], word_ids=[-1, 0, 0, 1, -1]
    )
    assert term_attribution(one) == pytest.approx([0.5])


def test_undefined_where_nothing_changes_or_nobody_knows():
    whole = explained([1.0, 2.0], [1, 1])
    found = term_attribution(explained([1.0, 2.0], [0, 0]), explained([1.0, 2.0], None), whole)
    assert np.isnan(found).tolist() == [True, True, False]


def test_marks_are_not_the_rationale():
    one = explained([1.0, 3.0], [1, 0], rationale=[0, 1])
    assert term_attribution(one) == pytest.approx([0.25])
    assert exparity.evaluate(None, [one], "mass_accuracy") == pytest.approx([0.75])


def test_refused_without_any_changed_words():
    with pytest.raises(InputError, match="give `changed_words`"):
        term_attribution(explained([1.0], None))
    with pytest.raises(InputError, match="the changed_words has 1 marks"):
        explained([1.0, 2.0], [1])
