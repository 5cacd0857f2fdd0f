"""Configs from a command line: as Snakemake makes them of the same words."""

from pathlib import Path

import pytest
import yaml

from exparity.config.command_line import read_config
from exparity.core.errors import InputError


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


@pytest.mark.parametrize(
    ("override", "changes"),
    [
        ("seeds=[0, 1]", {"seeds": [0, 1]}),
        ("training={epochs: 3}", {"training": {"epochs": 3, "batch_size": 8}}),
        ("training=5", {"training": 5}),
        ("title=[", {"title": "["}),
    ],
)
def test_overrides_are_read_as_snakemake_reads_them(override, changes, files):
    before = {"title": "one", "training": {"epochs": 2, "batch_size": 8}, "seeds": [1]}
    assert read_config([Path("a.yaml"), Path("b.yaml")], [override]) == {**before, **changes}


def test_the_default_config_is_changed_where_no_file_is_named(files):
    Path("config").mkdir()
    Path("a.yaml").rename("config/config.yaml")
    assert read_config([], ["title=two"])["title"] == "two"


def test_what_is_no_override_and_no_config(files):
    with pytest.raises(InputError, match="write KEY=VALUE"):
        read_config([Path("a.yaml")], ["title"])
    Path("b.yaml").write_text("[1]")
    with pytest.raises(InputError, match=r"b\.yaml: is not a config"):
        read_config([Path("a.yaml"), Path("b.yaml")])
