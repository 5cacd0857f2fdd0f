"""Stage show: headline, disparity tables and means of finished results, on the terminal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa

from exparity.artefacts import layout
from exparity.artefacts.files import facts_of, read_artefact, read_tables
from exparity.artefacts.schemas import IDS, check_schema, schema_of
from exparity.artefacts.seal import open_sealed, read_metadata
from exparity.core.errors import InputError, did_you_mean
from exparity.core.flags import ConfigFiles, Flag, Folder, Id, Overrides, Seed
from exparity.metrics import METRICS
from exparity.metrics.facts import Direction
from exparity.report.dependence import known_of_data
from exparity.report.means import NEEDED, MeanLine, MeanTable, ModelScores, mean_tables
from exparity.report.scores import read_columns
from exparity.report.terminal import ShownTests, render, terminal_here, write
from exparity.report.verdicts import is_random
from exparity.stats.informative import flagged, of_quantity
from exparity.stats.multiplicity import CELL_IDS
from exparity.tools.configured import results_of

CORRECTIONS = {"none": "significant", "holm": "significant_holm", "bh": "significant_bh"}
_File = tuple[dict[str, Any], Path]
"""A scores artefact with its ids."""
_Ids = Annotated[Sequence[Id], Flag(repeat=True)]
_MEASURED = ("p", "wilcoxon_p", "significant", "considerable", "cohens_d", "direction", "flags")
_PERMUTED = ("n_permutations", "permuted_rate", "permuted_wilcoxon_rate")
_COLUMNS = (*IDS, "quantity", "group_a", "group_b", *_MEASURED, *_PERMUTED)
_OF_REPORT = (
    *("metric_direction", "significant_holm", "significant_bh"),
    *("p_holm", "p_bh", "wilcoxon_p_holm", "wilcoxon_p_bh"),
)
_IDS_OF_RANDOM = ("dataset", "model", "seed", "metric")
_DRAWN = tuple(id for id in CELL_IDS if id != "method")
_OF_RANDOM = ("p", "wilcoxon_p", "flags")


def show(
    results: Folder | None = None,
    /,
    *,
    dataset: _Ids = (),
    model: _Ids = (),
    seed: Annotated[Sequence[Seed], Flag(repeat=True)] = (),
    method: _Ids = (),
    metric: _Ids = (),
    correction: Literal["none", "holm", "bh"] | None = None,
    configfile: ConfigFiles = (),
    config: Overrides = (),
) -> None:
    """Print verdicts and disparity tables of results, and what the data can show.

    Tests are read from the report's ``disparity.parquet``; without a report, from the tests that
    are there. Of data without groups the means of the scores are printed. On a terminal the tables
    are coloured and fitted to its width; elsewhere they are plain text, a line per row.

    Args:
        results: folder of results, or of the report; that of the config if None, or ``results``.
        dataset: show this dataset only.
        model: show this model only.
        seed: show this seed only.
        method: show this method only.
        metric: show this metric only.
        correction: count trainings with a significant difference instead of showing verdicts, by
            p-values as they are or corrected for many tests, with the share of such tests above.
            Some seeds are always counted.
        configfile: an experiment, whose results are shown.
        config: values over those of the config file.

    Raises:
        InputError: there is nothing to print, an id is unknown, or a correction needs the report.
    """
    results = results or results_of(configfile, config)
    if seed and correction is None:  # a verdict is over all seeds
        correction = "none"
    filters = zip(IDS, (dataset, model, seed, method, metric), strict=True)
    wanted: dict[str, Sequence[Any]] = {kind: list(ids) for kind, ids in filters if ids}
    scores = _scores_without_groups(results)
    table, facts, notes = _read(results, needed=not scores)
    if CORRECTIONS[correction or "none"] not in table.column_names:
        raise InputError(
            f"{results}: tests are corrected in the report, which has not been made; leave "
            "--correction out"
        )
    for kind, ids in wanted.items():
        _check_known(kind, ids, {*table[kind].to_pylist(), *(one[kind] for one, _ in scores)})
        table = table.filter(pa.array([id in ids for id in table[kind].to_pylist()], pa.bool_()))
        scores = [(one, path) for one, path in scores if one[kind] in ids]
    statistics = facts.get("statistics", {})
    tests = table.to_pylist()
    rows = of_quantity(tests, "score")
    cells = {tuple(row[id] for id in ids) for row in rows for ids in (CELL_IDS, _DRAWN)}
    collapsed = {tuple(row[id] for id in IDS[:3]) for row in rows if "collapsed" in row["flags"]}
    of_random = {kind: ids for kind, ids in wanted.items() if kind != "method"}
    selection = ShownTests(
        title=facts.get("title", ""),
        rows=rows,
        excess=of_quantity(tests, "excess"),
        random_rows=flagged(
            _rows_of("random_tests", (*_IDS_OF_RANDOM, *_OF_RANDOM), results, of_random), collapsed
        ),
        counted=CORRECTIONS[correction or "none"],
        correction=correction,
        alpha=statistics.get("alpha", 0.05),
        threshold=statistics.get("threshold", 0.2),
        order={
            kind: [id for id, _ in facts.get(f"{kind}s", ())]
            for kind in ("dataset", "method", "metric")
        },
        notes=notes,
        means=_means(scores, statistics.get("confidence", 0.95)),
        verdicts=[
            row
            for row in _verdicts(results)
            if tuple(row[id] for id in (_DRAWN if is_random(row) else CELL_IDS)) in cells
        ],
        dependence={
            dataset: known_of_data(results, dataset)[0]
            for dataset in dict.fromkeys(row["dataset"] for row in rows)
        },
    )
    console, terminal = terminal_here()
    write(console, render(selection, terminal))


def _scores_without_groups(results: Path) -> list[_File]:
    """Return the scores artefacts of the data without groups."""
    if not results.is_dir():
        raise InputError(f"{results}: no such folder; name the results folder of a run")
    datasets = [
        dataset
        for (dataset,), path in layout.files(results, "data")
        if facts_of(read_metadata(path).metadata).get("groups") == []
    ]
    return [
        ({**dict(zip(IDS, ids, strict=True)), "seed": int(ids[2])}, path)
        for ids, path in (layout.files(results, "scores") if datasets else ())
        if ids[0] in datasets
    ]


def _means(files: Sequence[_File], confidence: float) -> list[MeanTable]:
    """Return the tables of mean scores of each dataset."""
    lines: list[MeanLine] = []
    directions: dict[str, Direction] = {}
    for (dataset, model), part in groupby(
        files, lambda file: (file[0]["dataset"], file[0]["model"])
    ):
        scores = ModelScores()
        for ids, path in part:
            table = read_columns(path, *NEEDED)
            scores.add(ids["method"], ids["metric"], path, table)
            use = facts_of(table.schema.metadata).get("parameters", {}).get("use")
            if use in METRICS.ids():  # not where it is of a plug-in
                directions[ids["metric"]] = METRICS.get(use).facts.direction
        lines += scores.lines(dataset, model, confidence)
    return mean_tables(lines, directions)


def _read(results: Path, *, needed: bool) -> tuple[pa.Table, dict[str, Any], list[str]]:
    """Return the tests, what is known of the study, and what to know about the tests."""
    files = [path for _, path in layout.files(results, "tests")]
    made_by_report = results / layout.path_of("disparity", {})
    for path in (made_by_report, results / made_by_report.name):  # or the report's own folder
        if path.is_file():
            table, metadata = read_artefact(path, "disparity")
            if not table.num_rows and needed:
                raise InputError(
                    f"{results}: nothing was explained, so that there are no tests; open the report"
                )
            newer = _made_after(path, metadata.get("started", 0.0), files)
            notes = [f"{newer} tests were made after the report, and are not in it"]
            columns = table.select([*_COLUMNS, *_OF_REPORT])
            return columns, metadata.get("parameters", {}), notes if newer else []
    if not files and needed:
        raise InputError(f"{results}: there are no tests yet; run the experiment first")
    if not files:
        return schema_of("tests").empty_table().select(_COLUMNS), {}, []
    table = pa.concat_tables([_columns(path) for path in files])
    statistics = read_artefact(files[0], "tests")[1].get("parameters", {})
    note = f"there is no report yet: these are the {len(files)} tests made so far"
    return table, {"statistics": statistics}, [note]


def _verdicts(results: Path) -> list[dict[str, Any]]:
    """Return what may be concluded of the cells, as far as they have been judged."""
    of_report = (results / Path(layout.path_of("disparity", {})).name).is_file()
    path = (results.parent if of_report else results) / layout.path_of("verdicts", {})
    return list(read_artefact(path, "verdicts")[0].to_pylist()) if path.is_file() else []


def _made_after(report: Path, started: float, files: Sequence[Path]) -> int:
    """Return how many files were made after the report, as they say: copying changes times."""
    made = report.stat().st_mtime
    newer = (file for file in files if file.stat().st_mtime > made)
    return sum(
        facts_of(read_metadata(file).metadata).get("started", 0.0) > started for file in newer
    )


def _columns(path: Path) -> pa.Table:
    """Return what is needed of one file of tests; a run has thousands."""
    with open_sealed(path) as file:
        check_schema(path, "tests", file.schema_arrow)
        return file.read(columns=list(_COLUMNS), use_threads=False).replace_schema_metadata()


def _check_known(kind: str, ids: Sequence[Any], known: Collection[Any]) -> None:
    for id in ids:
        if id not in known:
            hint = did_you_mean(str(id), map(str, known))
            raise InputError(f"there is no {kind} '{id}' in the results shown; {hint}")


def _rows_of(
    artefact: str, columns: Sequence[str], results: Path, wanted: Mapping[str, Sequence[Any]]
) -> list[dict[str, Any]]:
    """Return the rows of a control that belong to the tests shown."""
    paths = [path for _, path in layout.files(results, artefact)]
    if not paths:
        return []
    rows: list[dict[str, Any]] = read_tables(paths, artefact).select(columns).to_pylist()
    return [row for row in rows if all(row[kind] in ids for kind, ids in wanted.items())]
