"""Compare the names of a checkpoint's outputs with the classes of the data."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from exparity.core.errors import InputError, name_list, require_known

_UNNAMED = re.compile(r"LABEL_\d+")


def output_names(id2label: Mapping[int, str] | Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the names of a checkpoint's outputs in order; None for LABEL_0 and so on."""
    names = tuple(str(name) for _, name in sorted(id2label.items()))
    return None if all(_UNNAMED.fullmatch(name) for name in names) else names


def class_index(name: str, names: Sequence[str], problem: str) -> int:
    """Return the index of the output with a name; errors begin with ``problem``."""
    require_known(name, names, problem)
    if names.count(name) > 1:
        raise InputError(f"{problem}: several outputs have this name; rename them in id2label")
    return names.index(name)


def require_order(
    id2label: Mapping[int, str], classes: Sequence[str], where: str, remedy: str
) -> None:
    """Refuse sorted class names if the outputs have no names: their order would be a guess."""
    if output_names(id2label) is None and [*classes] != [*map(str, range(len(id2label)))]:
        raise InputError(
            f"{where}: does not name its {len(id2label)} classes, and those of the data are "
            f"{name_list(classes)}; say in which order they are its outputs: {remedy}"
        )


def in_order_of_outputs(
    outputs: Sequence[str], classes: Collection[str], where: str
) -> tuple[str, ...]:
    """Return the classes of data in the order of a checkpoint's outputs, one name an output.

    Names are compared without regard to case. Whole numbers from 0 on, one for each output, are
    positions if the outputs have other names. An output that is no class of the data keeps its
    name.
    """
    spelling = {name.casefold(): name for name in classes}
    folded_outputs = {name.casefold() for name in outputs}
    positions = tuple(map(str, range(len(outputs))))
    if set(classes) == set(positions) and not spelling.keys() <= folded_outputs:
        return positions
    if (
        len(spelling) < len(classes)
        or len(folded_outputs) < len(outputs)
        or not spelling.keys() <= folded_outputs
    ):
        raise InputError(
            f"{where}: its classes are {name_list(outputs)} and those of the data "
            f"{name_list(classes)}; rename them in the data, or in id2label of its config.json"
        )
    return tuple(spelling.get(name.casefold(), name) for name in outputs)
