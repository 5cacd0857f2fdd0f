"""Values held to JSON schemas, beside the published library."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, validators

from exparity.config.schema import config_schema
from exparity.core.schema import violation

FULL = {
    "datasets": {"pairs_all": {"n_pairs": 4}, "two": None},
    "models": {"one": {"architecture": "bert", "size": {"hidden_size": 8}, "debias": ["os"]}},
    "methods": {"lime": {"max_examples": None, "datasets": ["two"]}},
    "metrics": {"gini": {}},
    "seeds": [0, 1],
    "download": "auto",
    "results": "a/b",
    "engine": {"device": "cuda:0", "token_budget": 9},
    "training": {"learning_rate": 0.5, "warmup_steps": None, "precision": "fp32"},
    "statistics": {"alpha": 0.1, "ddof": 0, "family": []},
    "controls": {"random": {"draws": 2}},
    "counterfactuals": {"two": "gender_words", "three": {"use": "gender_words"}},
    "overrides": [{"match": {"seed": [0], "model": "one"}, "method": {"max_examples": 3}}],
}
STRANGE = st.sampled_from(
    [None, True, False, 0, 1, -1, 3, 10**30, 0.5, 2.0, "", "a", "A b", "..", "auto", "x" * 300,
     [], [1], ["a"], [0, 0], [True, 1], ["a", 5], {}, {"use": "a"}, {"use": 1}, {"a": 1},
     {"max_examples": 0}]
)  # fmt: skip


def strict():
    """The library with exparity's types: 3.0 is no integer."""

    def is_integer(_, value):
        return isinstance(value, int) and not isinstance(value, bool)

    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
    return validators.extend(Draft202012Validator, type_checker=checker)(config_schema())


def places(node, above=()):
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, inner in items:
        yield (*above, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*above, key))


@pytest.mark.reference
@given(st.lists(st.tuples(st.sampled_from([*places(FULL)]), STRANGE, st.booleans()), max_size=3))
def test_the_library_agrees(changes):
    """A config with strange values at some places is refused by both, and for the same place."""
    config = copy.deepcopy(FULL)
    for (*above, last), value, replace in changes:
        holder = config
        for step in above:
            try:
                holder = holder[step]
            except (LookupError, TypeError):  # an earlier change has taken its place
                break
        if isinstance(holder, dict):
            holder[last if replace else "A b"] = copy.deepcopy(value)
    errors = list(strict().iter_errors(config))
    found = violation(config_schema(), config)
    assert (found is None) == (not errors)
    if found:
        their = [inner for error in errors for inner in (error, *(error.context or ()))]
        assert found.path in {tuple(error.absolute_path) for error in their}


def test_the_library_takes_the_schema_for_one():
    Draft202012Validator.check_schema(config_schema())
    assert not list(strict().iter_errors(FULL))
