"""``python -m bench``: Skitter beside others on one web; ``.store`` and ``.memory``: its sizes."""
