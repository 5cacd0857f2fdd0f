"""The config that Snakemake reads from a command line: files, merged, and single values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError
from exparity.core.strict import parse_yaml, read_yaml

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

DEFAULT = Path("config", "config.yaml")
"""The config of a run that names none."""


def read_experiment(files: Sequence[Path], overrides: Sequence[str] = ()) -> Experiment:
    """Return the experiment of ``--configfile`` and ``--config``, as the workflow reads it."""
    from exparity.config.experiment import Experiment  # which most commands do without

    return Experiment.from_mapping(read_config(files, overrides))


def results_of(named: Path | None, files: Sequence[Path], overrides: Sequence[str]) -> Path:
    """Return the results folder that is named, the config's, or ``results``; it exists."""
    if named is None:
        has_config = files or overrides
        named = Path(read_experiment(files, overrides).results if has_config else "results")
    if not named.is_dir():
        raise InputError(f"{named}: no such folder; name the results folder of a run")
    return named


def read_config(files: Sequence[Path], overrides: Sequence[str] = ()) -> dict[str, object]:
    """Return the config that Snakemake has after ``--configfile`` and ``--config``."""
    config, *changes = map(_content, files or [DEFAULT])
    if overrides:
        changes.append(read_overrides(overrides))
    if changes:
        from snakemake.utils import update_config  # which most need not wait for

        for change in changes:
            update_config(config, change)
    return config


def _content(path: Path) -> dict[str, object]:
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: is not a config: it must hold datasets, models, ...")
    return content


def read_overrides(overrides: Sequence[str]) -> dict[str, object]:
    """Return the values that ``--config`` sets."""
    from snakemake.cli import parse_config  # takes a second

    try:
        return dict(as_in_a_file(parse_config(overrides)))
    except ValueError as error:
        raise InputError(f"--config: write KEY=VALUE, such as seeds=[0]: {error}") from None


def as_in_a_file(value: Any) -> Any:
    """Return the value of Snakemake's ``--config`` that a config file would hold."""
    # Snakemake reads `seeds=[0, 1]` as ['0', '1'].
    if isinstance(value, Mapping):
        return {key: as_in_a_file(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_in_a_file(inner) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    try:
        read = parse_yaml(value, "--config")
    except InputError:  # or a kind that no config has, such as a date
        return value
    return read if read is None or isinstance(read, bool | int | float) else value
