"""Formats of numbers for readers."""

from exparity.core.formats import unbroken
from exparity.report.templating import html_environment


def test_a_number_and_its_percent_stay_on_one_line():
    assert unbroken("from 5 % to 97.5 % (50 %); %, % and 5%") == (
        "from 5\u00a0% to 97.5\u00a0% (50\u00a0%); %, % and 5%"
    )


def test_the_page_breaks_no_line_before_a_percent_and_leaves_data_alone():
    template = html_environment().from_string("{{ text }}|{{ text|tojson }}")
    assert template.render(text="5 % & more") == '5\u00a0% &amp; more|"5 % \\u0026 more"'
