"""Communication: a naive student, messages by hand, twins, and explanations of known worth."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from exparity import Explanation, InputError, evaluate
from exparity.metrics import Cohort, Messages, evaluate_keyed
from exparity.metrics._messages import named_words
from exparity.metrics.communication import (
    Lessons,
    communication,
    folds_of,
    presence_of,
    weights_of,
)
from exparity.stats.skill import linearised

FILLERS = [f"f{i}" for i in range(30)]
TELLING = [["good", "lively", "bright"], ["bad", "dull", "dim"], ["odd", "weird", "queer"]]


def messages_by_class(n=120, classes=3, seed=0):
    """Messages of two words, of which one tells the class in most."""
    rng = np.random.default_rng(seed)
    decisions = rng.integers(0, classes, n)
    words = []
    for decision in decisions:
        word = rng.choice(TELLING[decision]) if rng.random() < 0.7 else rng.choice(FILLERS)
        words.append(frozenset([str(word), str(rng.choice(FILLERS))]))
    sets = [f"s{i // 2:03}" for i in range(n)]
    groups = ["rare" if i % 5 == 0 else "common" for i in range(n)]
    return Messages(words, decisions, sets, groups)


def naive_probabilities(messages):
    """Probability of each decision by a softmax regression, fitted by a general optimiser."""
    vocabulary = sorted(set().union(*messages.words))
    classes = sorted(set(messages.decisions.tolist()))
    presence = np.array([[word in own for word in vocabulary] for own in messages.words], float)
    one_hot = np.array([[d == c for c in classes] for d in messages.decisions], float)
    weights = weights_of(messages.groups)
    folds = folds_of(messages.sets, messages.decisions)
    values = np.full(len(folds), np.nan)
    shape = len(vocabulary) + 1, len(classes)
    for fold in set(folds.tolist()):
        taught = folds != fold

        def loss(flat, taught=taught):
            slopes, bias = np.split(flat.reshape(shape), [len(vocabulary)])
            logs = log_softmax(presence[taught] @ slopes + bias, axis=1)
            errors = np.exp(logs) - one_hot[taught]
            fit = -(weights[taught] * (one_hot[taught] * logs).sum(1)).sum()
            by_logit = errors * weights[taught, None]
            gradient = np.vstack(
                [10 * presence[taught].T @ by_logit + slopes, 10 * by_logit.sum(0)]
            )
            return 10 * fit + (slopes**2).sum() / 2, gradient.ravel()

        found = minimize(loss, np.zeros(np.prod(shape)), jac=True, options={"gtol": 1e-9}).x
        slopes, bias = np.split(found.reshape(shape), [len(vocabulary)])
        shares = np.exp(log_softmax(presence[~taught] @ slopes + bias, axis=1))
        values[~taught] = (shares * one_hot[~taught]).sum(1)
    return values


@pytest.mark.reference
def test_the_student_is_a_softmax_regression_of_the_other_folds():
    messages = messages_by_class()
    expected = naive_probabilities(messages)
    values = communication(messages, score="probability")
    np.testing.assert_allclose(values, expected, rtol=0, atol=2e-5)
    right = communication(messages)
    assert set(right.tolist()) == {0.0, 1.0}
    assert (right[values > 0.55] == 1).all()
    assert (right[values < 0.3] == 0).all()


def guesses_of(messages, folds):
    """Probabilities of the classes of each text, as metric ``communication`` finds them."""
    weights = weights_of(messages.groups)
    return Lessons(presence_of(messages.words), messages.decisions, weights, folds).guesses()


@pytest.mark.reference
@pytest.mark.parametrize("most_common", [512, 5])
@pytest.mark.parametrize("classes", [2, 3])
def test_students_are_those_of_scikit_learn(monkeypatch, classes, most_common):
    monkeypatch.setattr("exparity.metrics.communication._MOST_COMMON", most_common)
    messages = messages_by_class(classes=classes)
    presence = presence_of(messages.words)
    weights = weights_of(messages.groups)
    folds = folds_of(messages.sets, messages.decisions)
    guesses = guesses_of(messages, folds)
    for fold in range(5):
        taught = folds != fold
        student = LogisticRegression(C=10.0, solver="newton-cholesky", tol=1e-10)
        student.fit(presence[taught], messages.decisions[taught], weights[taught])
        expected = student.predict_proba(presence[~taught])
        np.testing.assert_allclose(guesses[~taught], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_no_student_guesses_a_class_that_only_the_texts_it_is_asked_about_have(classes):
    messages = messages_by_class(classes=classes)
    folds = folds_of(messages.sets, messages.decisions)
    alike = guesses_of(messages, folds)
    last = messages.decisions == classes - 1
    folds[last] = 2
    guesses = guesses_of(messages, folds)
    assert (guesses[folds == 2, -1] == 0).all()
    np.testing.assert_allclose(guesses.sum(axis=1), 1.0)
    assert np.abs(guesses - alike)[folds != 2].max() > 0.01
    if classes == 2:
        assert (guesses[folds == 2, 0] == 1).all()
        return
    weights = weights_of(messages.groups)[~last]
    rest = presence_of(messages.words)[~last], messages.decisions[~last], weights, folds[~last]
    expected = Lessons(*rest).guesses()[folds[~last] == 2]
    np.testing.assert_allclose(guesses[(folds == 2) & ~last, :2], expected, rtol=0, atol=1e-5)


def test_a_student_is_the_same_beside_others():
    messages = messages_by_class()
    folds = folds_of(messages.sets, messages.decisions)
    together = guesses_of(messages, folds)
    for fold in range(5):
        of_two = guesses_of(messages, (folds == fold).astype(int))
        np.testing.assert_allclose(of_two[folds == fold], together[folds == fold], atol=1e-5)


def test_sets_are_never_parted_and_every_fold_has_each_decision():
    messages = messages_by_class(classes=2)
    decided = np.array([messages.decisions[i - i % 2] for i in range(120)])
    folds = folds_of(messages.sets, decided)
    assert (folds[::2] == folds[1::2]).all()
    counts = np.array([np.bincount(decided[folds == fold], minlength=2) for fold in range(5)])
    assert np.ptp(counts, axis=0).max() <= 2  # a set of two


def test_groups_of_other_sizes_weigh_alike():
    groups = [*"aaaab"]
    assert weights_of(groups).tolist() == [0.625] * 4 + [2.5]


def test_the_twin_of_a_text_does_not_teach_the_student():
    rng = np.random.default_rng(1)
    decisions = np.repeat(rng.integers(0, 2, 100), 2)
    words = [frozenset([f"w{i // 2}"]) for i in range(200)]  # shared with the twin alone
    alone = [f"s{i}" for i in range(200)]
    twins = [f"s{i // 2}" for i in range(200)]
    groups = ["a", "b"] * 100
    assert communication(Messages(words, decisions, alone, groups)).mean() > 0.8
    assert communication(Messages(words, decisions, twins, groups)).mean() < 0.7


@pytest.mark.parametrize(
    ("scores", "share", "expected"),
    [
        ([0.1, -3.0, 0.2, 0.0, 0.1], 0.2, {"film"}),  # signed: the largest, not the strongest
        ([0.5, 0.5, 0.5, 0.5, 0.5], 0.4, {"a", "good"}),  # the earlier of equal ones
        ([0.0, 0.1, 0.2, 0.3, 0.4], 1.0, {"a", "good", "film", "!"}),  # a set
        ([0.0, 0.0, 0.0, 0.0, 9.0], 0.01, {"a"}),  # one at least, in lower case
    ],
)
def test_a_message_names_the_words_of_the_largest_sums(scores, share, expected):
    one = Explanation("a Good film ! A", 1, tokens=[*"vwxyz"], scores=scores)
    assert named_words(one, share) == expected


def test_the_pieces_of_a_word_count_together_and_special_tokens_do_not():
    one = Explanation(
        "dull film", 1, tokens=["[CLS]", "du", "##ll", "film"],
        scores=[9.0, 0.3, 0.3, 0.5], word_ids=[-1, 0, 0, 1],
    )  # fmt: skip
    assert named_words(one, 0.5) == {"dull"}


def test_words_of_both_texts_of_a_pair_are_named():
    one = Explanation("a b c d", 1, tokens=[*"abcd"], scores=[0, 0, 0, 1], pair=("a b", "c d"))
    assert named_words(one, 0.2) == {"d"}


def test_tokens_without_words_are_refused():
    one = Explanation("x", 1, tokens=["t", "t"], scores=[1.0, 2.0])
    with pytest.raises(InputError, match=r"of 2 words, and the text of 1; give the text with its"):
        named_words(one, 0.2)


def explained(n=300, telling=1.0, seed=0):
    """Texts of eight words, one of which tells the class, and explanations that may name it.

    Returns the explanations and the class of each; ``telling`` is the share that name the word.
    """
    rng = np.random.default_rng(seed)
    explanations, decisions = [], []
    for i in range(n):
        decision = i % 2
        words = [str(word) for word in rng.choice(FILLERS, 8, replace=False)]
        place = rng.integers(8)
        words[place] = str(rng.choice(TELLING[decision]))
        scores = rng.random(8)
        if rng.random() < telling:
            scores[place] = 2.0
        explanations.append(Explanation(" ".join(words), decision, tokens=words, scores=scores))
        decisions.append(decision)
    return explanations, decisions


def skill_of(telling):
    values = []
    for share, own in ((0.2, telling), (0.2, 0.0), (1.0, 0.0)):
        explanations, decisions = explained(telling=own)
        keys = [f"t{i}" for i in range(len(decisions))]
        cohort = Cohort(decisions, keys, [*"ab"] * (len(keys) // 2))
        options = {"share": share}
        values.append(
            evaluate_keyed(None, explanations, keys, "communication", 0, options, cohort=cohort)
        )
    success, chance, ceiling = values
    return linearised(success - chance, ceiling - chance, ["all"] * len(success)).mean()


@pytest.mark.parametrize(("telling", "least", "most"), [(1.0, 0.97, 1.1), (0.0, -0.001, 0.001)])
def test_words_that_tell_have_the_whole_skill_and_random_ones_none(telling, least, most):
    assert least <= skill_of(telling) <= most


def test_half_of_the_words_that_tell_have_half_of_the_skill():
    assert 0.35 < skill_of(0.5) < 0.75


def test_an_explanation_of_another_class_than_the_decision_is_left_out():
    explanations, decisions = explained(60)
    keys = [f"t{i}" for i in range(60)]
    other = [1 - decisions[0], *decisions[1:]]
    cohort = Cohort(other, keys, ["a"] * 60)
    values = evaluate_keyed(None, explanations, keys, "communication", 0, {}, cohort=cohort)
    assert np.isnan(values).tolist() == [True] + [False] * 59
    rest = evaluate_keyed(
        None, explanations[1:], keys[1:], "communication", 0, {},
        cohort=Cohort(decisions[1:], keys[1:], ["a"] * 59),
    )  # fmt: skip
    np.testing.assert_array_equal(values[1:], rest)


def test_one_decision_is_guessed_by_all_words_alike():
    explanations, _ = explained(20)
    same = [Explanation(e.text, 1, tokens=e.tokens, scores=e.scores) for e in explanations]
    assert evaluate(None, same, "communication").tolist() == [1.0] * 20


def test_a_single_set_teaches_nobody():
    explanations, decisions = explained(4)
    cohort = Cohort(decisions, ["s"] * 4, [*"abab"])
    values = evaluate_keyed(None, explanations, [*"wxyz"], "communication", 0, {}, cohort=cohort)
    assert np.isnan(values).all()
