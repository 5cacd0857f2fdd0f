"""The section of an analysis on the page."""

from exparity.artefacts.analyses import ANALYSES
from exparity.report.context import section_of
from exparity.report.render import template_of
from exparity.report.templating import html_environment


def page_of(id, found, study):
    """Return the HTML of what an analysis found, with plain blanks."""
    template = template_of(html_environment(), section_of(ANALYSES.get(id)))
    text = template.render(study=study, **found.values)
    return text.replace("\u00a0", " ").replace("&nbsp;", " ")
