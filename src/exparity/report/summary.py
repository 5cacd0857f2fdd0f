"""One printed page: what a study says, for those who will not open its report."""

from __future__ import annotations

from importlib.metadata import version

from markupsafe import Markup

from exparity.report.conclusions import conclusions_of
from exparity.report.context import Context
from exparity.report.levels import level_panels
from exparity.report.paragraph import how_measured
from exparity.report.picture import measured
from exparity.report.provenance import versions
from exparity.report.render import policy_of
from exparity.report.templating import asset, html_environment

_MOST_PANELS = 2
"""Pictures of levels that a page has room for."""


def render_summary(context: Context) -> str:
    """Return the summary as HTML: self-contained, without scripts, for one page of A4."""
    study = context.study
    style = asset("page.css") + asset("summary.css")
    used = versions(context.origins)
    panels = level_panels(study)
    return (
        html_environment()
        .get_template("summary.html.j2")
        .render(
            study=study,
            version=version("exparity"),
            policy=policy_of(style),
            style=Markup(style),
            measured=measured(study),
            conclusions=conclusions_of(context),
            panels=panels[:_MOST_PANELS],
            left_out=max(0, len(panels) - _MOST_PANELS),
            how=how_measured(study),
            commits=[commit[:12] for commit, _ in used.get("commit", [])],
        )
    )
