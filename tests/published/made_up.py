"""Rows of the disparity artefact that equal published numbers, or differ in a known way."""

from types import SimpleNamespace

from made_up import filled

from exparity.artefacts.columns import records
from exparity.artefacts.files import write_artefact
from exparity.artefacts.grid import Grid, grid_text
from exparity.published.cells import compare_results
from exparity.published.matches import CellMatch
from exparity.report.sections import SECTIONS
from exparity.report.templating import html_environment
from exparity.stats.seeds import SeedTest

GRID = Grid()


def compare(rows, grid=GRID, **settings):
    """Return the comparison of rows with the published study."""
    return compare_results(records(SeedTest, rows), grid, **settings)


def row(cell, seed, p, d, **changes):
    """One row of the disparity artefact."""
    dataset, model, method, metric = cell
    values = {
        "dataset": dataset, "model": model, "seed": seed, "method": method, "metric": metric,
        "quantity": "score", "group_a": "male", "group_b": "female", "p": p, "cohens_d": d,
        "significant": p <= 0.05,
        "n_examples": 20, "flags": [],
    }  # fmt: skip
    return filled("disparity", **{**values, **changes})


def cell_match(**changes):
    """A cell of ours beside a published one: significant runs of one sign in both."""
    ids = {"dataset": "geco_all", "model": "bert", "method": "lime", "metric": "gini"}
    columns = ids | {f"our_{kind}": name for kind, name in ids.items()}
    columns |= {"significant_ours": 5, "significant_published": 5}
    columns |= {"total_ours": 5, "total_published": 5}
    columns |= {"direction_ours": 1, "direction_published": 1}
    columns |= {"mean_d_ours": 0.5, "mean_d_published": 0.5, "sd_d_published": None}
    columns |= {"considerable_ours": True, "considerable_published": True}
    columns |= {"n_examples": 20, "flags": "", "table": "3"}
    columns |= {"effect_table": None, "effect_label": None}
    return CellMatch(**columns | changes)


def rows_like(published, **changes):
    """Rows of one cell that give the published count and mean d."""
    d = 0.5 if published.mean is None else published.mean
    return [
        row(published.key[:4], seed, 0.05 if seed < published.significant else 0.051, d, **changes)
        for seed in range(published.runs)
    ]


def write_report(results, rows, grid=GRID):
    """Write rows as the disparity artefact of a grid."""
    path = results / "disparity.parquet"
    write_artefact(path, "disparity", rows, {}, parameters={})
    (results / "grid.json").write_text(grid_text(grid))


def page_of(id, **comparisons):
    """Return the HTML of a section of the page on comparisons; None where it has nothing to say."""
    (section,) = (section for section in SECTIONS if section.id == id)
    content = section.build(SimpleNamespace(published=comparisons))
    template = html_environment().get_template(f"sections/{id}.html.j2")
    return content and template.render(content.values)
