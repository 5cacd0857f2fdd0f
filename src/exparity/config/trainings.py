"""How many trainings each dataset has, where they are added until its cells are decided.

The results folder says it, so that every process of a run reads the same. Only ``exparity
until-decided`` changes it, between two runs of the workflow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.files import atomic_path
from exparity.config.models import Until
from exparity.core.errors import InputError


def looks_of(seeds: Any) -> tuple[int, ...]:
    """Return the numbers of trainings at which cells are judged; none where seeds are fixed."""
    looks = tuple(seeds.get("looks", Until.looks)) if isinstance(seeds, Mapping) else ()
    if list(looks) != sorted(set(looks)):
        raise InputError(
            f"seeds.looks: {list(looks)} must grow from each look to the next, as in [3, 5, 8]"
        )
    return looks


def trainings_of(
    results: Path, datasets: Iterable[str], looks: Sequence[int], *, together: bool
) -> dict[str, int]:
    """Return how many trainings each dataset has; nothing where there are no looks."""
    if not looks:
        return {}
    reached = _read(results / layout.TRAININGS)
    trainings = {dataset: _look(reached.get(dataset, 0), looks) for dataset in datasets}
    return dict.fromkeys(trainings, max(trainings.values())) if together else trainings


def write_trainings(results: Path, trainings: Mapping[str, int]) -> None:
    """Write how many trainings datasets have; those of others stay."""
    path = results / layout.TRAININGS
    with atomic_path(path) as temporary:
        text = json.dumps({**_read(path), **trainings}, indent=1)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def _look(trainings: int, looks: Sequence[int]) -> int:
    """Return the first look with at least so many trainings, or the last one."""
    return next((look for look in looks if look >= trainings), looks[-1])


def _read(path: Path) -> dict[str, int]:
    try:
        read = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        read = None
    if not isinstance(read, dict) or not all(type(n) is int for n in read.values()):
        raise InputError(
            f"{path}: is damaged; remove it, and `exparity until-decided` begins with the first "
            "look again, for which nothing is trained twice"
        )
    return read
