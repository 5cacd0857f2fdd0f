"""What the report shows of the analyses, each from its artefact: one module an analysis."""
