"""Configs from a command line: as Snakemake makes them of the same words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from exparity.config.command_line import as_in_a_file, read_config
from exparity.core.errors import InputError

OVERRIDES = [
    "seeds=[0, 1]", "seeds=010", "title=1_0", "title=0x10", "title=nan", "title=yes", "title=True",
    "title=", "title=2020-01-01", "title='5'", "title=a=b", "title=[", "training={epochs: 3}",
    "training={'epochs': {a: null}}", "training={}", "training=5", "my-key=x",
]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = [
        {"title": "one", "training": {"epochs": 1, "batch_size": 8}},
        {"training": {"epochs": 2}, "seeds": [1]},
    ]
    for name, content in zip(("a.yaml", "b.yaml"), contents, strict=True):
        Path(name).write_text(yaml.safe_dump(content))
    return contents


@pytest.mark.parametrize("override", OVERRIDES)
def test_as_snakemake_reads_it(override, files):
    from snakemake.cli import parse_config  # every worker would wait for it

    expected: dict = {}
    for content in files:
        update_config(expected, content)
    update_config(expected, as_in_a_file(parse_config([override])))
    found = read_config([Path("a.yaml"), Path("b.yaml")], [override])
    one, two = (json.dumps(config, sort_keys=True) for config in (found, expected))
    assert one == two  # as text, since NaN is not equal to itself


def test_later_files_change_what_they_name_alone(files):
    assert read_config([Path("a.yaml"), Path("b.yaml")])["training"] == {
        "epochs": 2,
        "batch_size": 8,
    }
    assert read_config([Path("b.yaml"), Path("a.yaml")])["training"]["epochs"] == 1


def test_the_default_config_is_changed_where_no_file_is_named(files):
    Path("config").mkdir()
    Path("a.yaml").rename("config/config.yaml")
    assert read_config([], ["title=two"])["title"] == "two"


@pytest.mark.parametrize("override", ["title", "=x", "1a=x", "a b=x", ""])
def test_what_is_no_override(override, files):
    with pytest.raises(InputError, match="is not KEY=VALUE"):
        read_config([Path("a.yaml")], [override])


def test_a_file_that_is_no_config(files):
    Path("b.yaml").write_text("[1]")
    with pytest.raises(InputError, match=r"b\.yaml: is not a config"):
        read_config([Path("a.yaml"), Path("b.yaml")])
