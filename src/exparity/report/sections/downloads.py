"""Downloads: every table and every figure."""

from __future__ import annotations

from exparity.report.context import Content, Context, Section

KINDS = ("csv", "tex", "parquet")


def _build(context: Context) -> Content:
    figures: dict[str, list[str]] = {}
    for path in sorted((context.folder / "figures").glob("**/*")):
        if path.suffix in (".svg", ".pdf"):
            name = path.relative_to(context.folder).with_suffix("").as_posix()
            figures.setdefault(name, []).append(path.suffix[1:])
    return Content(
        {
            "exports": context.exports,
            "kinds": KINDS,
            "figures": {name: sorted(kinds, reverse=True) for name, kinds in figures.items()},
        }
    )


SECTION = Section("downloads", "Downloads", _build)
