"""Options read from signatures, and values checked against them."""

from typing import Annotated, Literal

import pytest

from exparity.core.errors import InputError
from exparity.core.flags import Range, Share
from exparity.core.options import complete, options_of


def tunable(
    batch: list[int],
    extra: dict[str, int] | None = None,
    *,
    count: int = 3,
    share: float = 0.5,
    name: str = "x",
    strict: bool = True,
    mode: Literal["a", "b"] = "a",
    steps: tuple[float, ...] = (0.1, 0.2),
    words: list[str] = ("one",),
    limit: int | None = None,
    kind: Literal["c", "d"] | None = None,
    some: Annotated[int, Range(at_least=1, at_most=9)] = 2,
    shares: list[Share] = (0.5,),
) -> None:
    """Something with one option of every kind."""


OPTIONS = options_of(tunable)


class TestOptionsOf:
    def test_defaults_are_json_values(self):
        assert {name: option.default for name, option in OPTIONS.items()} == {
            "count": 3, "share": 0.5, "name": "x", "strict": True, "mode": "a",
            "steps": [0.1, 0.2], "words": ["one"], "limit": None, "kind": None,
            "some": 2, "shares": [0.5],
        }  # fmt: skip

    def test_annotations_become_json_schemas(self):
        assert {name: option.schema for name, option in OPTIONS.items()} == {
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "name": {"type": "string"},
            "strict": {"type": "boolean"},
            "mode": {"enum": ["a", "b"]},
            "steps": {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "words": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "limit": {"type": ["integer", "null"]},
            "kind": {"enum": ["c", "d", None]},
            "some": {"type": "integer", "minimum": 1, "maximum": 9},
            "shares": {
                "type": "array",
                "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "minItems": 1,
            },
        }


class TestComplete:
    def test_fills_in_defaults_sorted_by_name(self):
        found = complete(OPTIONS, {"mode": "b", "limit": 7, "share": 1}, "here")
        assert list(found) == sorted(OPTIONS)
        assert found == {
            "count": 3, "kind": None, "limit": 7, "mode": "b", "name": "x", "share": 1,
            "shares": [0.5], "some": 2, "steps": [0.1, 0.2], "strict": True, "words": ["one"],
        }  # fmt: skip

    def test_a_long_value_is_cut(self):
        with pytest.raises(InputError, match=r"^methods.mine.*\.\.\.$") as refused:
            complete(OPTIONS, {"mode": "c" * 10_000}, "methods.mine")
        assert len(str(refused.value)) < 200

    def test_unknown_option_with_a_near_name(self):
        with pytest.raises(InputError, match="here: unknown option 'cuont'; did you mean 'count'"):
            complete(OPTIONS, {"cuont": 1}, "here")
