"""The words of the dashboard, a table for each language."""
