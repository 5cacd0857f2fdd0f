"""YAML and JSON of users: what a parser lets pass in silence is one line that names the place."""

import pytest

from exparity.config.command_line import read_experiment
from exparity.config.experiment import load_or_exit
from exparity.core.errors import InputError
from exparity.core.strict import parse_json, parse_yaml, read_yaml

CONFIG = """\
datasets: {pairs_all: {}}
models: {one: {init: scratch, architecture: bert}}
methods: {gradient: {}}
metrics: {gini: {}}
"""
BAD = {
    "seeds: [0]\nseeds: [1]\n": ":6: not valid YAML (key 'seeds' is 'seeds' of line 5 again",
    "1: a\n'1': b\n": ":6: not valid YAML (key '1' is '1' of line 5 again; keep one)",
    "title: !!python/object/apply:os.system [ls]\n": ":5: not valid YAML (could not determine",
    "title: !!int x\n": ": not valid YAML (invalid literal for int() with base 10: 'x')",
    "? [a]\n: 1\n": ":5: not valid YAML (found unhashable key)",
    "title: é\n".encode("latin-1"): ":5: not UTF-8 text (",
    CONFIG.encode("utf-16"): ":1: not UTF-8 text (",
}


@pytest.mark.contract
class TestYaml:
    @pytest.mark.parametrize(("end", "message"), BAD.items(), ids=lambda v: repr(v)[:30])
    def test_one_line_names_the_place(self, end, message, tmp_path, capsys):
        path = tmp_path / "c.yaml"
        text = end if isinstance(end, bytes) else end.encode()
        path.write_bytes(text if text.startswith(b"\xff\xfe") else CONFIG.encode() + text)
        with pytest.raises(InputError) as refused:
            read_experiment([path])
        assert str(refused.value).startswith(f"{path}:")
        assert message in str(refused.value)
        assert "\n" not in str(refused.value)
        with pytest.raises(SystemExit) as stop:
            load_or_exit({}, [path])
        assert stop.value.code == 2
        assert capsys.readouterr().err == f"exparity: {refused.value}\n"

    def test_what_is_meant_is_read(self, tmp_path):
        text = (
            "a: &a {x: 1, y: [no, 0x10]}\nb: {<<: *a, x: 2}\nc: [*a, *a]\nd: {<<: {<<: *a, y: 3}}\n"
        )
        a = {"x": 1, "y": [False, 16]}
        read = {"a": a, "b": {**a, "x": 2}, "c": [a, a], "d": {"x": 1, "y": 3}}
        path = tmp_path / "c.yaml"
        path.write_text("\ufeff" + text, encoding="utf-8")
        assert read_yaml(path) == read
        assert parse_yaml("", "x") is None

    def test_json_with_tabs_is_no_yaml_but_a_config(self, tmp_path):
        path = tmp_path / "c.json"
        path.write_text('{\n\t"seeds": [0]\n}', encoding="utf-8-sig")
        assert read_yaml(path) == {"seeds": [0]}


@pytest.mark.contract
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "here: not valid JSON (the key 'a' occurs twice; keep one)"),
        (r'{"a": "\ud800"}', "here: not valid JSON ("),
        ("[1", "here: not valid JSON"),
    ],
    ids=lambda v: v[:20],
)
def test_odd_json_is_refused_in_one_line(text, message):
    with pytest.raises(InputError) as refused:
        parse_json(text, "here")
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_whole_surrogate_pairs_are_text():
    assert parse_json(r'["\ud83d\ude00", "\\ud800"]', "here") == ["😀", r"\ud800"]


_BOMB = "x0: &x0 [a, a, a, a, a, a, a, a, a]\n" + "".join(
    f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]\n" for i in range(1, 9)
)


@pytest.mark.contract
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a: {'[' * 3000}{']' * 3000}", "here:1: not valid YAML (nested in more than 100 levels)"),
        ("\n".join(" " * i + "a:" for i in range(300)), "(nested in more than 100 levels)"),
        ("a: 1\nb: &a [1, *a]", "here:2: not valid YAML (*a lies within what it repeats)"),
        ("b: &a {c: {d: *a}}", "here:1: not valid YAML (*a lies within what it repeats)"),
        (_BOMB, "not valid YAML (aliases repeat more than 100,000 values)"),
        ("a: 1\nseeds: [010]", "here:2: not valid YAML (010 is the number 8 in YAML; write"),
        ("a: 1:30", "here:1: not valid YAML (1:30 is the number 90 in YAML; write that, or put it"),
        ("a: 1:30.5", "here:1: not valid YAML (1:30.5 is the number 90.5 in YAML"),
        ("words: {yes: ' y', no: ' n'}", "(key yes is a boolean in YAML; put it in quotes)"),
    ],
    ids=lambda v: v[:20],
)
def test_what_yaml_takes_and_nobody_means(text, message):
    with pytest.raises(InputError) as refused:
        parse_yaml(text, "here")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_numbers_that_are_meant_and_quoted_names_are_read():
    text = "a: [1_000, 0x10, 0, -0, 0.5, 1.0e-3]\nb: ['010', '1:30']\ntrue: 'yes'\n"
    read = {"a": [1000, 16, 0, 0, 0.5, 0.001], "b": ["010", "1:30"], True: "yes"}
    assert parse_yaml(text, "here") == read


@pytest.mark.contract
@pytest.mark.parametrize("depth", [101, 900, 100_000])
def test_deep_json_is_one_line(depth):
    for begin, end in ("[]", ('{"a":', "}")):
        with pytest.raises(InputError, match=r"^here: JSON nested in more than 100 levels$"):
            parse_json(begin * depth + "1" + end * depth, "here")
    assert parse_json("[" * 100 + "]" * 100, "here")
