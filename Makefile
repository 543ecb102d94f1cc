# install · run · test · check · bench · soak · docs. `make run ARGS="crawl https://example.com"` crawls that.
ARGS ?= demo
TEST_PACKAGES := chromium fonts-wqy-microhei openssl postgresql redis-server sqlite3
BENCH_PACKAGES := nginx-light redis-server wget2
.PHONY: install run test check bench soak docs lock

install:
	@bash scripts/setup-venv.sh

run: install
	@.venv/bin/skitter $(ARGS)

test: check
	@bash scripts/apt-install.sh $(TEST_PACKAGES)
	bash scripts/test.sh

check: install
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	.venv/bin/mypy

# Skitter beside Scrapy, scrapy-redis and wget2 on one web, what a URL takes in Redis, then the memory of a worker
# with ten million URLs, and of the service: look-ups, URLs resolved, listeners beside a crawl. Last what rules cost and,
# with ARTICLES=FOLDER, what the articles in saved pages do.
bench: install
	@bash scripts/apt-install.sh $(BENCH_PACKAGES)
	.venv/bin/python -m bench
	.venv/bin/python -m bench.store
	.venv/bin/python -m bench.memory
	.venv/bin/python -m bench.memory --seen bloom
	.venv/bin/python -m bench.start
	.venv/bin/python -m bench.lookups
	.venv/bin/python -m bench.listeners
	.venv/bin/python -m bench.resolve
	.venv/bin/python -m bench.resolve --crawl
	.venv/bin/python -m bench.rules
	$(if $(ARTICLES),.venv/bin/python -m bench.article $(ARTICLES))

# The fault and property tests for hours instead of minutes.
soak: install
	@bash scripts/apt-install.sh $(TEST_PACKAGES)
	SOAK=1 .venv/bin/python -m pytest -m fault --timeout 0 tests/faults
	SOAK=1 .venv/bin/python -m pytest --timeout 0 tests/contract/test_frontier_machine.py

docs: install
	.venv/bin/python scripts/make_docs.py

lock:
	bash scripts/lock.sh
