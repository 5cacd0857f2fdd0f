"""Stage prepare: raw data to the data artefact."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import chain
from pathlib import Path

from exparity.artefacts.running import StageResult, writes_result
from exparity.core.flags import DataDir, Download, Id, Params
from exparity.data import dropped_rows, load_with_facts
from exparity.data.files import DataSource
from exparity.quantities.inputs import key_of

log = logging.getLogger(__name__)


@writes_result("data")
def prepare(
    *,
    use: Id,
    params: Params,
    dataset_id: Id | None = None,
    data_dir: DataDir = Path("data"),
    download: Download = True,
) -> StageResult:
    """Make the data artefact of a dataset.

    Args:
        use: dataset, as registered; see ``exparity list``.
        params: option of the dataset.
        dataset_id: name of the instance; as ``use`` if None.
        data_dir: folder of raw files.
        download: download what is missing.

    Raises:
        InputError: unknown dataset or option, or bad data.
    """
    dataset_id = dataset_id or use
    source = DataSource(data_dir, download=download)
    examples, facts = load_with_facts(use, source, params, name=dataset_id)
    rows = [
        {
            **key_of(e),
            **{name: getattr(e, name) for name in ("split", "text", "label")},
            "words": e.words,
            "rationale": e.rationale,
            "attributes": [{"key": k, "value": v} for k, v in sorted(e.attributes.items())],
            "words_b": e.words_b,
            "text_b": e.written_b and e.written_b.string,
            "spans": e.written and [*chain(*e.written.spans)],
            "units": e.written and e.written.units,
            "spans_b": e.written_b and [*chain(*e.written_b.spans)],
        }
        for e in examples
    ]
    groups = f"{facts.attribute}: {', '.join(facts.groups)}" if facts.groups else "no groups"
    log.info("%s: %s, classes: %s", dataset_id, groups, ", ".join(facts.labels))
    for (split, group), count in sorted(Counter((e.split, e.group) for e in examples).items()):
        where = f" of group {group}" if group else ""
        log.info("%s: %d %s examples%s", dataset_id, count, split, where)
    if facts.dropped:
        log.info("%s: %s", dataset_id, dropped_rows(facts.dropped))
    declared = {
        "attribute": facts.attribute,
        "groups": list(facts.groups),
        "labels": list(facts.labels),
        "display": facts.display or dataset_id,
        **({"dropped": dict(facts.dropped)} if facts.dropped else {}),
        **({"labels_sorted": True} if facts.labels_sorted else {}),
    }
    return StageResult(rows, {"dataset": dataset_id}, declared, {"use": use, **params})
