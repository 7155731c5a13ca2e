# Two commands on a fresh machine: `make run` and `make test`. Each installs what is missing.
.DEFAULT_GOAL := help
.PHONY: help run test build worker deps python check unit traces smoke clients browser crashes faults hostile mutations fuzz audit check-metrics bench bench-peers bench-accuracy bench-serving bench-pages bench-uploads clean image test-docker test-spark spark reproduce

# Where rustup puts cargo, for shells that have not heard of it yet.
export PATH := $(HOME)/.cargo/bin:$(PATH)

BINARY  := target/release/bochner
TESTED  := target/debug/bochner

# How much `make faults`, `make hostile`, `make mutations` and `make fuzz` do.
ROUNDS   ?= 1000
REQUESTS ?= 1000000
FILES    ?= 10000
SECONDS  ?= 20

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build and start the service on 127.0.0.1:8080, keeping its data in ./data
	@exec $(BINARY) serve --welcome

test: deps check unit traces smoke clients browser crashes spark test-docker ## Run every test: formatting, lints, unit, numerics, HTTP, hostile requests, curl, other people's clients, a browser, crashes, the container

build: deps ## Build the release binary, target/release/bochner
	cargo build --release --locked --bin bochner

worker: deps ## Build target/release/bochner-worker, which executors of a cluster run: one static file without BLAS
	@sh scripts/build-worker.sh release

image: deps ## Build the container image bochner:local, and target/docker/bochner.debug, the symbols of its binary
	@sh scripts/build-image.sh bochner:local

deps: ## Install the system packages and the Rust toolchain that are missing
	@sh scripts/install-deps.sh

# What only the tests of clients need, so that running the service does without.
python: deps
	@sh scripts/install-deps.sh python

check: deps
	cargo fmt --check
	cargo clippy --locked --all-targets -- --deny warnings

unit: deps
	cargo test --locked

traces: deps ## Check that spans reach a collector, with the feature otlp
	cargo clippy --locked --features otlp --lib --test otlp -- --deny warnings
	cargo test --locked --features otlp --test otlp

smoke: deps
	cargo test --locked --no-run --quiet # the binary as the tests built it: nothing is compiled twice
	tests/smoke.sh $(TESTED)

clients: deps target/clients/installed
	cargo test --locked --no-run --quiet
	BOCHNER_BINARY=$(TESTED) target/clients/bin/python -m pytest --quiet -p no:cacheprovider tests/clients

browser: deps target/browser/installed
	@sh scripts/install-deps.sh browser
	cargo test --locked --no-run --quiet
	BOCHNER_BINARY=$(TESTED) target/browser/bin/python -B -m pytest --quiet -rs -p no:cacheprovider tests/browser

crashes: deps target/clients/installed
	@sh scripts/install-deps.sh faults
	cargo test --locked --no-run --quiet
	BOCHNER_BINARY=$(TESTED) target/clients/bin/python -B -m pytest --quiet -rs -p no:cacheprovider tests/faults

faults: deps ## Kill a service ROUNDS times (1000) at random moments, and cut its power a tenth as often; counts are printed
	@sh scripts/install-deps.sh faults
	cargo build --locked
	BOCHNER_BINARY=$(TESTED) python3 -B tests/faults/walk.py --rounds $(ROUNDS)
	BOCHNER_BINARY=$(TESTED) python3 -B tests/faults/walk.py --rounds $$(($(ROUNDS) / 10)) --power-cuts

hostile: deps ## Send REQUESTS (1000000) hostile requests to a service on this machine; answers, memory and descriptors are printed
	BOCHNER_HOSTILE_REQUESTS=$(REQUESTS) cargo test --locked --test hostile -- --nocapture

mutations: deps target/clients/installed ## Upload FILES (10000) damaged Parquet and Arrow files; answers are counted, and the memory of the service is checked
	cargo test --locked --no-run --quiet
	BOCHNER_BINARY=$(TESTED) BOCHNER_MUTATIONS=$(FILES) target/clients/bin/python -B -m pytest -rP -p no:cacheprovider tests/clients/test_uploads.py -k damaged

fuzz: deps ## Fuzz every parser for SECONDS (20) each; the first run builds everything with coverage
	@sh scripts/install-deps.sh fuzz
	@sh fuzz/run.sh $(SECONDS)

# Without Java there is no Spark: what needs none is tested all the same.
spark: deps
	@sh tests/spark/run.sh $(TESTED) short

test-spark: deps ## Train on Apache Spark: the same bytes for any partition, after kills and for both readers; refusals by name
	@sh tests/spark/run.sh $(TESTED) all

test-docker: deps ## Build the container image, deploy it with compose, restart, kill and upgrade it; skipped without an engine
	@sh tests/docker/run.sh

# Installed again only when the list has changed.
target/clients/installed: tests/clients/requirements.txt | python
	python3 -m venv --clear target/clients
	target/clients/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

target/browser/installed: tests/browser/requirements.txt | python
	python3 -m venv --clear target/browser
	target/browser/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

check-metrics: deps ## Check names and help of all metrics, with promtool too where Debian's packages can be had
	cargo test --locked --quiet --test http -- metrics::names_and_help_follow_the_rules
	@sh scripts/prometheus.sh
	@if [ -x target/docker/prometheus/usr/bin/promtool ]; then sh scripts/check-metrics.sh target/tmp/metrics.txt; \
	else echo "SKIPPED: no promtool, so that only our own rules were checked"; fi

audit: target/audit/bin/cargo-deny ## Check licences, sources and known vulnerabilities of dependencies; deny.toml has the exceptions
	target/audit/bin/cargo-deny --locked check

target/audit/bin/cargo-deny: | deps
	cargo install --locked --quiet cargo-deny --version '^0.20' --root target/audit

bench: deps ## Print the measured tables behind our numerical choices; BOCHNER_DATA=folder for the search on cpusmall
	cargo bench --locked --bench precision --bench features --bench skinny --bench parts --bench training --bench scale

bench-serving: deps ## Requests per second, latency and memory of serving, against a bare handler; two cores, 15 minutes
	cargo bench --locked --bench serving

bench-pages: build ## Milliseconds of each page of the console with 1,000 models and 10,000 jobs
	python3 -B benches/pages/run.py --binary $(BINARY)

bench-uploads: build target/clients/installed ## Seconds and peak memory of the same 1,000,000 x 20 table uploaded as CSV, JSON lines, Arrow and Parquet
	target/clients/bin/python -B benches/uploads/run.py --binary $(BINARY)

bench-peers: deps ## Compare with scikit-learn, installed in target/peers; BOCHNER_DATA=folder for classifiers, exact solves and certificates
	test -x target/peers/bin/python || python3 -m venv target/peers
	target/peers/bin/pip install --quiet 'scikit-learn>=1.5' numpy
	BOCHNER_PYTHON=target/peers/bin/python cargo bench --locked --bench peers --bench classifiers --bench exact --bench certificates

bench-accuracy: build target/peers/accuracy ## Compare with boosted trees, forests and support vectors on public tables (BOCHNER_DATA=folder) and write docs/accuracy.md
	nice -n 10 target/peers/bin/python -B benches/accuracy/run.py --binary $(BINARY) --again 'bochner {}' 'bochner learner search' 'bochner thorough' 'bochner isotropic'
	target/peers/bin/python -B benches/accuracy/page.py

target/peers/accuracy: benches/accuracy/requirements.txt | python
	test -x target/peers/bin/python || python3 -m venv target/peers
	target/peers/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

reproduce: deps ## Repeat the experiments of the papers with the public tables in DATA; results in target/reproduction; REPEATS for fewer
	@test -n "$(DATA)" || { echo "say where the public tables are: make reproduce DATA=folder"; exit 2; }
	cargo run --locked --release -- reproduce all --data "$(DATA)" --out target/reproduction $(if $(REPEATS),--repeats $(REPEATS))

clean: ## Remove what was built (not ./data)
	cargo clean
