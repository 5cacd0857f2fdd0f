"""The report: tables in the published form, and one static page."""
