"""Tool share: a run for others, as one file or as a dataset of the Hugging Face Hub."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from exparity.artefacts.files import atomic_path
from exparity.artefacts.grid import Grid, read_grid
from exparity.config.command_line import results_of
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import ConfigFiles, Folder, Output, Overrides
from exparity.report.context import Context
from exparity.report.dataset_card import write_dataset
from exparity.report.downloads import write_tables
from exparity.report.failures import Failures
from exparity.report.gather import gather
from exparity.report.pages import write_pages
from exparity.report.provenance import settings_of, versions

_AT = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the zip: the earliest that the format knows."""
_COPIED = ("figures", "published")
_PROVENANCE = "provenance.json"


def share(
    results: Folder | None = None,
    /,
    *,
    output: Output | None = None,
    with_texts: bool = False,
    hugging_face: Folder | None = None,
    configfile: ConfigFiles = (),
    config: Overrides = (),
) -> None:
    """Put page, summary, tables and provenance into one file to send, without any text of the data.

    The same results give the same bytes.

    Args:
        results: folder of results; if None, the config's, or ``results``.
        output: the zip to write; ``RESULTS.zip`` beside the results folder if None.
        with_texts: keep the sections and tables that show texts, or words of them.
        hugging_face: write a folder with a dataset card and tables as Parquet instead, without
            texts, which you can upload to the Hub.
        configfile: the experiment; its results folder is read.
        config: values over those of the config file.
    """
    results = results_of(results, configfile, config)
    grid = read_grid(results)
    if grid is None or not grid.pairs:
        raise InputError(f"{results}: there is no report yet; run the experiment first")
    page = results / "report" / "index.html"
    if hugging_face is not None:
        if output is not None or with_texts:
            raise InputError("--hugging-face: leave out --output and --with-texts beside it")
        context = Context(gather(results, grid), page.parent, with_texts=False)
        names = write_dataset(context, hugging_face)
        context.failures.require_none(hugging_face)
        say(f"{hugging_face}: README.md and {len(names)} tables, without texts; add a license")
        return
    output = output or results.parent / f"{results.resolve().name}.zip"
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in _COPIED:
            if (page.parent / name).is_dir():
                copytree(page.parent / name, folder / name)
        context = Context(gather(results, grid), folder, Failures(), with_texts)
        write_tables(context.exports, folder, {"version": version("exparity")}, context.failures)
        write_pages(context, folder / page.name)
        text = json.dumps(_provenance(context, grid), indent=2, sort_keys=True, ensure_ascii=False)
        (folder / _PROVENANCE).write_text(f"{text}\n", encoding="utf-8", newline="")
        context.failures.require_none(output)
        n_files = _write_zip(folder, output)
    texts = "with texts" if with_texts else "without any text of the data"
    size = output.stat().st_size / 1e6
    say(f"{output}: page, summary, tables and provenance, {n_files} files, {size:.1f} MB, {texts}")


def _provenance(context: Context, grid: Grid) -> dict[str, object]:
    """Return what was run, and with which versions."""
    kinds = ("model", "method", "metric")
    return {
        "title": context.study.title,
        "grid": grid.as_json(),
        "settings": {kind: settings_of(context.origins, kind) for kind in kinds},
        "versions": versions(context.origins),
    }


def _write_zip(folder: Path, output: Path) -> int:
    """Write the files of a folder into a zip whose bytes depend on them alone; return how many."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(output) as temporary, ZipFile(temporary, "w") as file:
        for path in paths:
            entry = ZipInfo(path.relative_to(folder).as_posix(), _AT)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # Unix, on every system
            file.writestr(entry, path.read_bytes(), ZIP_DEFLATED, 9)
    return len(paths)
