"""Skitter beside other crawlers on one web: ``python -m bench``; its memory: ``bench.memory``."""
