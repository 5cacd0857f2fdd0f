"""A study as a dataset of the Hugging Face Hub: a card and its tables, in a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import yaml

from exparity.artefacts.columns import Export
from exparity.artefacts.files import atomic_path
from exparity.core.errors import InputError
from exparity.report.conclusions import conclusions_of, in_lines
from exparity.report.context import Context
from exparity.report.downloads import part_of
from exparity.report.templating import text_environment

_CARD = "README.md"
_FIRST = "verdicts"
"""The table that opens by itself."""
_OURS = "exparity"
"""Tag by which a card of an earlier time is known."""
_TAGS = ("text-classification", "explainability", "fairness", "evaluation", _OURS)


def write_dataset(context: Context, folder: Path) -> list[str]:
    """Write README.md and Parquet tables into a folder, and return the names of the tables.

    Tables have no texts where the context has none. Other files of the folder are left as they are.

    Raises:
        InputError: the folder has a README.md that is no card of exparity.
    """
    card_path = folder / _CARD
    if card_path.exists() and f"\n- {_OURS}\n" not in card_path.read_text("utf-8", "replace"):
        raise InputError(
            f"{card_path}: was not written by `exparity share`, which would overwrite it; name "
            "another folder"
        )
    exports = [export for export in context.exports if export.folder == "tables"]
    exports.sort(key=lambda export: (export.name != _FIRST, export.name))
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for export in exports:
        path = folder / _file_of(export)
        with context.failures.caught(part_of(export)), atomic_path(path) as temporary:
            # Without the schema's metadata, which other programs would try to read.
            pq.write_table(export.as_table().replace_schema_metadata(None), temporary)
    study = context.study
    card = text_environment().get_template("dataset_card.md.j2")
    text = card.render(
        front_matter=yaml.safe_dump(_front_matter(context, exports), sort_keys=False).rstrip(),
        study=study,
        exports=exports,
        lines=list(in_lines(conclusions_of(context))),
        paragraph=" ".join(context.paragraph),
    )
    with atomic_path(card_path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return [export.name for export in exports]


def _file_of(export: Export) -> str:
    return f"data/{export.name}.parquet"


def _front_matter(context: Context, exports: list[Export]) -> dict[str, object]:
    """Return what the Hub reads of a card; the license is left to its author."""
    configs = [
        {"config_name": export.name, "data_files": _file_of(export)}
        | ({"default": True} if export.name == _FIRST else {})
        for export in exports
    ]
    return {"pretty_name": context.study.title, "tags": list(_TAGS), "configs": configs}
