"""benchmarks/families.py: the command behind the table of families in docs/models.md."""

import re

import pytest


@pytest.fixture
def families(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import families

    return families


def results(table):
    """Return what each kind of classifier passes, by its name and the family."""
    rows = re.findall(r"^\| ([\w ]+) \| (.*) \| (`.*`) \|$", table, re.MULTILINE)
    return {
        (head, family): result
        for head, result, families in rows
        for family in re.findall("`([^`]+)`", families)
    }


@pytest.fixture
def documented(repository):
    text = (repository / "docs" / "models.md").read_text()
    return results(text.partition("<!-- families -->")[2].partition("<!-- end -->")[0])


@pytest.mark.contract
def test_the_table_has_every_family_and_no_other_outputs(families, documented):
    every = {("sequence head", family) for family in families.SEQUENCE}
    assert set(documented) == every | {("label words", family) for family in families.LABEL_WORDS}
    assert not any("all but outputs" in result for result in documented.values())


@pytest.mark.contract
@pytest.mark.parametrize("family", ["falcon", "t5"])
def test_rows_are_what_the_command_finds(families, documented, family):
    table = results(families.table_of([family]))
    assert table == {key: documented[key] for key in documented if key[1] == family}
