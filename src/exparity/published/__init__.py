"""Results beside published numbers: studies as data, matching, agreement, claims counted again."""
