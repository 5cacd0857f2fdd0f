"""Text from outside: names that cannot collide, cells and characters that do nothing."""

import ast
import csv
import io
import logging
import math
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exparity.core.errors import ExparityError, InputError
from exparity.core.escaping import LogFormatter, csv_text, file_name, say, visible

# What atomic_path, shards and figures put around a name.
LONGEST_AROUND = len("..parquet.12345678.tmp") + len("_2col")
PARTS = st.lists(st.text(max_size=80) | st.text("aA_-~=+. ß\u212a1", max_size=80), max_size=3)


@pytest.mark.contract
class TestFileName:
    @given(PARTS, PARTS)
    @example(["a_b", "c", "d"], ["a", "b_c", "d"])
    @example(["<25", "x"], [">25", "x"])
    @example(["A"], ["a"])
    @example(["a"], ["a", ""])
    @example(["a-b"], ["a", "b"])
    @example(["x" * 70], ["x" * 71])
    @example(["\u0301e"], ["é"])
    def test_no_two_have_one_name_where_case_and_composition_do_not_count(self, one, other):
        names = [
            unicodedata.normalize("NFKC", file_name("bias", *parts)).casefold()
            for parts in (one, other)
        ]
        assert (names[0] == names[1]) == (one == other)

    @given(PARTS)
    def test_every_name_is_one_that_any_file_system_takes(self, parts):
        name = file_name("distributions", *parts)
        assert re.fullmatch(r"[A-Za-z0-9_+=-]+", name)
        assert len(name) + LONGEST_AROUND < 255


class TestVisible:
    @given(st.text())
    def test_what_is_left_is_text(self, text):
        shown = visible(text)
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
        assert not {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))} & {*shown}
        assert visible(shown) == shown
        shown.encode("utf-8")

    def test_letters_of_every_script_stay(self):
        text = "naïve Straße 女性 أنثى हिन्दी 👩‍🔬 a\u00a0b \\x1b"
        assert visible(text) == text


class TestCsv:
    def cells(self, *values):
        (row,) = list(csv.reader(io.StringIO(csv_text([], [values]))))[1:]
        return row

    @pytest.mark.parametrize(
        "text",
        ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "=cmd|'/C calc'!A0",
         "-1_000", "'=1", "''@x"],
    )  # fmt: skip
    def test_text_that_would_be_computed_has_an_apostrophe_before_it(self, text):
        assert self.cells(text, [text]) == [f"'{text}"] * 2

    @pytest.mark.parametrize(
        "text", ["-1", "+5", "-0.25", "-.5", "-1e-05", "-inf", "a=b", "'s", "1+1", "", "−1"]
    )
    def test_numbers_and_other_text_stay(self, text):
        assert self.cells(text, text) == [text] * 2

    @given(st.lists(st.floats() | st.integers() | st.none() | st.booleans(), min_size=1))
    def test_numbers_come_back_from_csv_as_they_were(self, values):
        for value, cell in zip(values, self.cells(*values), strict=True):
            if isinstance(value, bool):
                assert cell == str(value).lower()
            elif value is None or value != value:
                assert cell == ""
            else:
                assert math.isclose(float(cell), value, rel_tol=0)


class TestEdges:
    def test_errors_are_one_line_that_acts_on_nothing(self):
        for kind in (InputError, ExparityError):
            assert str(kind("no '\x1b[2J\nx'; \u202egone")) == r"no '\x1b[2J\nx'; \u202egone"

    def test_records_of_the_log(self):
        record = logging.makeLogRecord({"msg": "%s: done\n\tas said", "args": ("\x1b]0;x\x07",)})
        assert LogFormatter("%(message)s").format(record) == "\\x1b]0;x\\x07: done\n\tas said"

    def test_nothing_else_prints_to_standard_output(self, repository):
        for path in (repository / "src" / "exparity").rglob("*.py"):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "print(" in text else ():
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
                    keywords = {keyword.arg for keyword in node.keywords}
                    assert "file" in keywords or path.name == "escaping.py", path

    def test_control_characters_are_written_out_in_lines_for_people(self, capsys):
        say("a\x1b[1m\nb")
        assert capsys.readouterr().out == "a\\x1b[1m\nb\n"
