"""Settings: read from signatures and JSON, with errors that a user can act on."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import pytest
from annotated_types import MinLen

from exparity.core.errors import InputError
from exparity.core.flags import Range, Share
from exparity.core.validation import (
    DISTINCT,
    Open,
    Settings,
    Text,
    complete,
    defaults_of,
    options_of,
    read_settings,
)


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
    terms: Mapping[str, list[str | list[str]]] | None = None,
) -> None:
    """Something with one option of every kind."""


OPTIONS = options_of(tunable)


class TestOptions:
    def test_defaults_are_json_values(self):
        assert defaults_of(OPTIONS) == {
            "count": 3, "share": 0.5, "name": "x", "strict": True, "mode": "a",
            "steps": [0.1, 0.2], "words": ["one"], "limit": None, "kind": None,
            "some": 2, "shares": [0.5], "terms": None,
        }  # fmt: skip

    def test_completed_they_are_sorted_by_name(self):
        found = complete(OPTIONS, {"mode": "b", "limit": 7, "share": 1}, "here")
        assert list(found) == sorted(OPTIONS.model_fields)
        assert found == {**defaults_of(OPTIONS), "mode": "b", "limit": 7, "share": 1.0}

    @pytest.mark.parametrize(
        ("values", "line"),
        [
            ({"count": True}, "here.count: Input should be a valid integer, found True"),
            ({"count": "3"}, "here.count: Input should be a valid integer, found '3'; write it with"
             "out quotes"),
            ({"share": "5e-4"}, "here.share: Input should be a valid number, found '5e-4'; write "
             "powers as 1.0e-3"),
            ({"kind": "a"}, "here.kind: Input should be 'c' or 'd', found 'a'"),
            ({"some": 10}, "here.some: Input should be less than or equal to 9, found 10"),
            ({"shares": [0.5, 1]}, "here.shares[1]: Input should be less than 1, found 1"),
            ({"terms": {"a": ["b", 5]}}, "here.terms.a[1]: Input should be a valid string or a "
             "valid array, found 5"),
            ({"name": object}, "here.name: <class 'object'> is no value of a config"),
        ],
    )  # fmt: skip
    def test_why_a_value_is_refused(self, values, line):
        with pytest.raises(InputError) as refused:
            complete(OPTIONS, values, "here")
        assert str(refused.value) == line


class Call(Open):
    use: str


class Inner(Settings):
    epochs: Annotated[int, Range(at_least=0)] = 5


class Outer(Settings):
    inner: Inner = Inner()
    call: str | Sequence[str | Call] = ""
    blocks: Mapping[str, Inner | None] = {}
    seeds: Annotated[Sequence[int], MinLen(2), DISTINCT] = (0, 1)
    place: Annotated[str, Text("[^:]+", longest=5, rule="use no ':'")] = "here"
    options: Mapping[str, Any] = {}


class TestSettings:
    @pytest.mark.parametrize(
        ("values", "line"),
        [
            ({"iner": {}}, "config: unknown key 'iner'; did you mean 'inner'?"),
            ({"blocks": {"a": {"epoch": 1}}},
             "config: unknown key 'blocks.a.epoch'; did you mean 'epochs'?"),
            ({"blocks": ["a", "b"]},
             "config: blocks: Input should be an object, found ['a', 'b']; write a mapping: "
             "{a: {}, b: {}}"),
            ({"call": ["a", 5]},
             "config: call[1]: Input should be a valid string or an object, found 5"),
            ({"call": [{"us": "a"}]}, "config: call[0].use: Field required"),
            ({"seeds": [1, 1]}, "config: seeds: [1, 1] names one twice"),
            ({"place": "a:b"}, "config: place: 'a:b' is refused: use no ':'"),
        ],
    )  # fmt: skip
    def test_the_place_the_value_and_a_remedy(self, values, line):
        with pytest.raises(InputError) as refused:
            read_settings(Outer, values, "config:")
        assert str(refused.value) == line

    def test_a_line_for_each_fault(self):
        with pytest.raises(InputError) as refused:
            read_settings(Outer, {"inner": {"epochs": -1}, "seeds": "x\n", "x": 1}, "config:")
        assert str(refused.value).splitlines() == [
            "config: inner.epochs: Input should be greater than or equal to 0, found -1",
            "config: seeds: Input should be a valid array, found 'x\\n'",
            "config: unknown key 'x'; known: blocks, call, inner, options, place, seeds",
        ]

    def test_values_that_are_set_and_all_values(self):
        settings = read_settings(Outer, {"blocks": {"a": None, "b": {"epochs": 2}}}, "config:")
        assert settings.set_values == {"blocks": {"a": None, "b": {"epochs": 2}}}
        assert settings.all_values["blocks"] == {"a": None, "b": {"epochs": 2}}
        again = read_settings(Outer, settings.all_values, "config:")
        assert again.all_values == settings.all_values
