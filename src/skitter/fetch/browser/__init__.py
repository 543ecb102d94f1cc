"""Pages as a browser shows them: what was fetched is put into Chromium, and its scripts run."""
