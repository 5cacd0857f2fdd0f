"""JSON schemas in words."""

import pytest

from exparity.core.schema import violation
from exparity.core.wording import allowed, reason

NUMBER = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
COUNT_OR_MEAN = {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["mean"]}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer"}, "a whole number"),
        ({"type": "integer", "minimum": 2, "maximum": 1000}, "a whole number from 2 to 1,000"),
        ({"type": ["number", "null"], "minimum": 0}, "a number at least 0, or null"),
        (NUMBER, "a number above 0 and below 1"),
        ({"type": "boolean"}, "true or false"),
        ({"enum": ["a", "b", None]}, "one of a, b, or null"),
        ({"enum": ["auto", True, False]}, "one of auto, true, false"),
        ({"type": "array", "items": NUMBER}, "a list, each a number above 0 and below 1"),
        ({"type": "array", "maxItems": 0}, "an empty list"),
        ({"type": ["string", "object", "array"]}, "text, a mapping or a list"),
        (COUNT_OR_MEAN, "a whole number or mean, or null"),
        ({}, "anything"),
    ],
)
def test_what_a_schema_allows(schema, words):
    assert allowed(schema) == words


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "integer"}, "many", "a whole number, found 'many'"),
        ({"type": "integer"}, 3.0, "a whole number, found 3.0"),
        ({"type": ["integer", "null"]}, True, "a whole number, found true"),
        ({"type": "string"}, None, "text, found null"),
        ({"type": "number"}, "5e-4", "a number, found '5e-4'; write 5.0e-4"),
        ({"type": "number"}, "1.5e5", "a number, found '1.5e5'; write 1.5e+5"),
        ({"type": "integer"}, "3", "a whole number, found '3'; write 3 without quotes"),
        ({"type": "array", "items": NUMBER}, 0.5,
         "a list, each a number above 0 and below 1, found 0.5; write [0.5]"),
        ({"type": "array"}, 5, "a list, found 5; write [5]"),
        ({"type": "array", "maxItems": 0}, 5, "an empty list, found 5"),
        ({"type": "object", "propertyNames": {"type": "string"}}, "lime",
         "a mapping, found 'lime'; write {lime: {}}"),
        (COUNT_OR_MEAN, "mode", "a whole number or mean, found 'mode'"),
        ({"type": "integer", "minimum": 1}, 0, "0 is out of range (at least 1)"),
        ({"type": "number"}, float("nan"), "nan is not a finite number"),
        ({"required": ["use", "n"]}, {"n": 1}, "'use' is missing"),
        ({"type": "array", "minItems": 1}, [], "[] is empty; name at least one"),
        ({"uniqueItems": True}, [0, 0], "[0, 0] names one twice"),
        ({"description": "Not here.", "not": {}}, 1, "Not here"),
        ({"pattern": "^a", "$comment": "begin with a"}, "b", "'b' is refused: begin with a"),
    ],
)  # fmt: skip
def test_why_a_value_is_refused(schema, value, words):
    assert reason(violation(schema, value)) == words
