"""Stage raters: the words that each of several people marked in the texts of a dataset."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

from exparity.artefacts.analyses import ExperimentView, Table
from exparity.artefacts.ids import Ids
from exparity.artefacts.lineage import sha256_of
from exparity.artefacts.running import StageResult, analysis
from exparity.core.errors import InputError
from exparity.core.flags import DataDir, Download, Id, Params
from exparity.core.plain import as_mapping
from exparity.core.validation import read_settings
from exparity.data import DATASETS
from exparity.data.files import DataSource
from exparity.data.raters import RaterTable, checked_markings
from exparity.data.table import read_prepared
from exparity.quantities.raters import Rated

log = logging.getLogger(__name__)


def _job_options(experiment: ExperimentView, ids: Ids) -> dict[str, object] | None:
    """Take the options of a dataset whose texts several people marked."""
    instance = experiment.datasets[ids.dataset]
    facts = instance.entry.facts
    if not facts.has_raters(instance.params):
        return None
    call = instance.call(f"datasets.{instance.id}")
    if facts.rater_option is None:
        return {**call}
    path = Path(
        read_settings(RaterTable, as_mapping(instance.params[facts.rater_option]), "raters").path
    )
    content = sha256_of(path) if path.is_file() else ""
    return {**call, "digest": f"{call['digest']}{content}"}


@analysis(
    "raters",
    level="dataset",
    reads=("data",),
    writes={
        "raters": Table(
            "example_id rater: string",
            "groups: list<pair>",
            "rationale: list<int8>",
            "label: string?",
            keys=("example_id", "rater"),
        )
    },
    display="Raters",
    needs=("raters",),
    always=True,
    memory_mb=4000,
    job_options=_job_options,
)
def read_raters(
    data: Path,
    *,
    use: Id,
    params: Params,
    data_dir: DataDir = Path("data"),
    download: Download = True,
) -> StageResult:
    """Read what each of several people marked in the test texts of a dataset.

    Args:
        data: the data artefact.
        use: dataset, as registered.
        params: option of the dataset.
        data_dir: folder of raw files.
        download: download what is missing.

    Raises:
        InputError: nobody marked words of the dataset, or a row does not fit the data or the rows
            of its rater.
    """
    facts = DATASETS.get(use).facts
    if facts.markings is None or not facts.has_raters(params):
        raise InputError(f"{data}: dataset {use} has no rationales of several people")
    prepared = read_prepared(data)
    examples = {example.example_id: example for example in prepared.examples}
    source = DataSource(data_dir, download=download)
    markings = [
        marking
        for marking in checked_markings(facts.markings(source, examples, **params), examples)
        if examples[marking.example_id].split == "test"
    ]
    if not markings:
        raise InputError(f"{data}: raters marked no test text; is the column of ids the right one?")
    counts = Counter(" & ".join(marking.groups.values()) for marking in markings)
    for group, count in sorted(counts.items()):
        log.info("%s: %d rationales of raters who are %s", prepared.dataset, count, group)
    rows = [vars(Rated.of(marking)) for marking in markings]
    ids = {"dataset": prepared.dataset}
    return StageResult(rows, ids, {"labels": list(prepared.labels)}, {"use": use, "params": params})
