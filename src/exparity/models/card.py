"""The card of a checkpoint: what it was trained on and how, and how right it is in each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from exparity.core.escaping import visible
from exparity.data.table import PreparedData
from exparity.models.spec import ModelSpec, TrainingSpec, recorded

CARD = "README.md"
"""File in the folder of a checkpoint, where the Hub looks for it."""


def write_card(
    folder: Path,
    data: PreparedData,
    specs: tuple[ModelSpec, TrainingSpec],
    predictions: Sequence[Mapping[str, Any]],
    *,
    model_id: str,
    seed: int,
    debias: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write the card of a checkpoint. Equal trainings have equal cards."""
    import jinja2

    model, training = specs
    said = recorded(model, training)
    settings = {**said["model"], **said["training"]}
    template = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_in_a_cell,
        trim_blocks=True,
        keep_trailing_newline=True,
    ).get_template("card.md.j2")
    card = template.render(
        model=model,
        model_id=model_id,
        seed=seed,
        data=data,
        debias=list(debias),
        train=len(data.split("train")),
        settings=[(k, v) for k, v in settings.items() if v not in (None, "", {}, [])],
        accuracies=_accuracies(predictions, data.groups),
        version=version("exparity"),
    )
    (folder / CARD).write_text(card, encoding="utf-8")


def _in_a_cell(value: Any) -> Any:
    """Return text that ends neither line nor cell; what JSON has made safe already stays so."""
    text = value if hasattr(value, "__html__") else visible(value)
    return text.replace("|", r"\|")


def _accuracies(
    predictions: Sequence[Mapping[str, Any]], groups: Sequence[str]
) -> list[tuple[str, int, float]]:
    """Return number and accuracy of all texts, then of each group that has some."""
    texts = {"all": list(predictions)}
    texts |= {group: [row for row in predictions if row["group"] == group] for group in groups}
    return [
        (name, len(rows), sum(row["predicted"] == row["label"] for row in rows) / len(rows))
        for name, rows in texts.items()
        if rows
    ]
