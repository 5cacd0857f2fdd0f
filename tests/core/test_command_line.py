"""Commands from functions: what signature and docstring say is what the command line takes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from exparity.core.command_line import Command
from exparity.core.errors import InputError
from exparity.core.flags import Flag, Folder, Output, Params, Range

CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = []


def tool(
    kind: Literal["a", "b"],
    names: Sequence[str] = (),
    /,
    *,
    source: Path,
    place: Folder | None = None,
    count: Annotated[int, Range(at_least=2)] = 3,
    share: Annotated[float, Range(above=0, below=1)] = 0.5,
    files: Sequence[Path] = (),
    modes: Sequence[Literal["x", "y"]] = ("x",),
    only: Sequence[int] = (),
    names_of: Annotated[Mapping[str, str] | None, Flag("map", "A=B")] = None,
    quick: bool = False,
    checks: Annotated[bool, Flag(environment="CHECKS")] = True,
    level: Annotated[str, Flag(environment="LEVEL")] = "low",
) -> None:
    """Do a thing."""
    CALLS.append(((kind, names), {k: v for k, v in locals().items() if k not in ("kind", "names")}))


def job(
    data: Path,
    model: Folder | None,
    output: Output,
    *,
    use: str,
    params: Params,
    terms: Mapping[str, Sequence[str]] | None = None,
    target: Literal["label", "predicted"] = "label",
) -> None:
    """Do a job."""
    CALLS.append(((), dict(locals())))


@pytest.fixture(autouse=True)
def _no_calls(monkeypatch):
    CALLS.clear()
    monkeypatch.delenv("EXPARITY_CHECKS", raising=False)


def called(function, line, **settings):
    Command("it", function, **settings).parse(line.split()).run()
    ((positional, keywords),) = CALLS
    return positional, keywords


def refused(function, line, **settings):
    with pytest.raises(InputError, match=r"^[^\n]*$") as refusal:
        Command("it", function, **settings).parse(line.split()).run()
    assert not CALLS
    return str(refusal.value)


class TestValues:
    def test_defaults_are_those_of_the_function(self):
        positional, keywords = called(tool, "a --source f")
        assert positional == ("a", ())
        assert keywords == {
            "source": Path("f"), "place": None, "count": 3, "share": 0.5, "files": (),
            "modes": ("x",), "only": (), "names_of": None, "quick": False, "checks": True,
            "level": "low",
        }  # fmt: skip

    def test_every_kind_of_flag_reaches_its_argument(self):
        line = (
            "--source f --place . --count 2 --share .1 --files g h --files i --modes x y --only 1 "
            "2 --map k=a --map l=b --quick --no-checks --level=high b n m"
        )
        positional, keywords = called(tool, line)
        assert positional == ("b", ["n", "m"])
        assert keywords == {
            "source": Path("f"), "place": Path(), "count": 2, "share": 0.1,
            "files": [Path("g"), Path("h"), Path("i")], "modes": ["x", "y"], "only": [1, 2],
            "names_of": {"k": "a", "l": "b"}, "quick": True, "checks": False, "level": "high",
        }  # fmt: skip

    def test_the_environment_sets_defaults(self, monkeypatch):
        monkeypatch.setenv("EXPARITY_CHECKS", "0")
        monkeypatch.setenv("EXPARITY_LEVEL", "high")
        _, keywords = called(tool, "a --source f")
        assert (keywords["checks"], keywords["level"]) == (False, "high")
        CALLS.clear()
        assert called(tool, "a --source f --level mid")[1]["level"] == "mid"

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ("--count two", "count: Input should be a valid integer, found 'two'"),
            ("--share 1", "share: Input should be less than 1, found 1.0"),
            ("--map k", "--map: 'k' is not KEY=VALUE"),
            ("--modes z", "--modes: invalid choice: 'z' (choose from 'x', 'y')"),
            ("--coun 3", "there is no flag --coun; did you mean '--count'"),
            ("--zzz", "there is no flag --zzz; known: --checks, --count"),
        ],
    )
    def test_bad_values_of_flags_are_refused(self, more, message):
        assert message in refused(tool, f"a --source f {more}")

    @pytest.mark.parametrize("path", ["", ".", "/"])
    def test_an_output_has_a_name(self, path):
        assert f"'{path}' is no name" in refused(job, f"--data d --use x --output={path}")


class TestOptions:
    FILES = "--data d --output o"

    def test_flags_win_over_options(self):
        options = '{"use":"x","params":{"a":1,"b":2},"target":"predicted","digest":"0"}'
        line = f"{self.FILES} --options {options} --param b=[3] --param c=word --use y"
        _, keywords = called(job, line, takes_options=True)
        assert keywords["use"] == "y"
        assert keywords["params"] == {"a": 1, "b": [3], "c": "word"}
        assert keywords["target"] == "predicted"
        assert keywords["model"] is None

    @pytest.mark.parametrize("flag", ["", "--model"])
    def test_a_path_that_may_be_none(self, flag):
        _, keywords = called(job, f"{self.FILES} --use x {flag}", takes_options=True)
        assert (keywords["model"], keywords["params"], keywords["terms"]) == (None, {}, None)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ('{"use":5}', "use: Input should be a valid string, found 5"),
            ('{"use":"x","tagret":"label"}', "unknown option 'tagret'; did you mean 'target'"),
            ('{"use":"x","use":"y"}', "--options: not valid JSON (the key 'use' occurs twice"),
            ("[]", "--options: must be a JSON object"),
        ],
    )
    def test_bad_options_of_a_job_are_refused(self, options, message):
        line = f"{self.FILES} --options {options}"
        assert message in refused(job, line, takes_options=True)

    @pytest.mark.parametrize(
        ("flags", "level", "width"),
        [("", 1, "auto"), ("--level 2 --width 5", 2, 5), ("--width auto", 1, "auto")],
    )
    def test_types_that_text_has_no_one_reading_of(self, flags, level, width):
        def analysis(
            data: Path,
            output: Output,
            *,
            level: Literal[1, 2] = 1,
            width: int | Literal["auto"] = "auto",
            shares: Sequence[Sequence[float]] = (),
        ) -> None:
            """Do it."""
            CALLS.append(((), {"level": level, "width": width, "shares": shares}))

        settings = {"takes_options": True}
        _, keywords = called(analysis, f"{self.FILES} {flags} --shares [0.5] [0,1]", **settings)
        assert keywords == {"level": level, "width": width, "shares": [[0.5], [0, 1]]}
        CALLS.clear()
        wrong = refused(analysis, f"{self.FILES} --width wide", **settings)
        assert wrong == "width: Input should be a valid integer or 'auto', found 'wide'"
