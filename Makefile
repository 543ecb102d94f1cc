# install · run · test · check · bench · soak · docs. `make run ARGS="crawl https://example.com"` crawls that.
ARGS ?= demo
.PHONY: install run test check bench soak docs lock

install:
	@bash scripts/setup-venv.sh

run: install
	@.venv/bin/skitter $(ARGS)

test: install check
	.venv/bin/python -m pytest

check: install
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	.venv/bin/mypy

lock:
	bash scripts/lock.sh
