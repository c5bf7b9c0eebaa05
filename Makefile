# The commands of this repository. `make demo` and `make test` prepare the machine themselves.

SEEDS ?= 10000
DEMO_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-consumer test-containers lint lint-containers sim crash-drill limit-drill

help: ## print these lines
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## print what this machine lacks and install it (NO_INSTALL=1: only print)
	@deploy/setup.sh

build: setup ## build the binaries `tidings` and `tidings-judge`
	@cargo build -p tidings -p tidings-judge

demo: build ## run everything: 3,000 orders, a worker killed in the middle, the judge's verdict (DEMO_ARGS=...)
	@$${CARGO_TARGET_DIR:-target}/debug/tidings demo $(DEMO_ARGS)

test: setup ## run every test, on real PostgreSQL, Kafka and registry
	@cargo test --workspace

test-consumer: build ## run the end-to-end tests on the consumer group protocol instead of the classic one
	@TIDINGS_GROUP_PROTOCOL=consumer cargo test -p tidings-tests --test e2e

test-containers: ## install Docker, run tests on servers in containers and the demo through docker-compose.yml (ORDERS=1500)
	@deploy/containers/test.sh

lint: setup ## check formatting and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

lint-containers: ## check docker-compose.yml, and the lints of what only `make test-containers` builds
	@deploy/setup.sh compose
	docker-compose config --quiet
	cargo clippy -p tidings-stack --features containers --all-targets -- -D warnings

sim: setup ## simulate everything together, then the relay's cursor alone, each in SEEDS random worlds (default 10000)
	@TIDINGS_SIM_SEEDS=$(SEEDS) cargo test -p tidings-sim --test system -- --nocapture
	@TIDINGS_SIM_SEEDS=$(SEEDS) cargo test -p tidings-outbox --test simulation -- --nocapture

FAULTS ?= 50

crash-drill: build ## kill, freeze and terminate roles at FAULTS random moments under load, under both policies (default 50), then let workers come and go
	@$${CARGO_TARGET_DIR:-target}/debug/tidings drill crashes --faults $(FAULTS) --policy resend
	@$${CARGO_TARGET_DIR:-target}/debug/tidings drill crashes --faults $(FAULTS) --policy park
	@$${CARGO_TARGET_DIR:-target}/debug/tidings drill rebalances

LIMIT_DRILL_ARGS ?=

limit-drill: build ## share accounts' limits among workers, with each thing that may go wrong, about 25 minutes (LIMIT_DRILL_ARGS='--only kill')
	@deploy/setup.sh limit-drill
	@$${CARGO_TARGET_DIR:-target}/debug/tidings drill limit $(LIMIT_DRILL_ARGS)
