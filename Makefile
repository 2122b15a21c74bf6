# Targets a person needs. `make run` and `make test` are all a newcomer does.

SNAPSHOTS ?= target/sample-snapshots
LISTEN ?= 127.0.0.1:8080
OUTPUTS ?= 1000000
LIST_OUTPUTS ?= 10000000
NAMES ?= 5000000

.PHONY: run test lint bench bless

run: ## Build both programs, compile the sample and serve it
	@cargo build --release --locked -p pinakes-compiler -p pinakes-server
	@target/release/pinakes-compiler build data/sample --out $(SNAPSHOTS)
	@echo "try: http://$(LISTEN)/outputs/HX_W2900000096"
	@echo "     http://$(LISTEN)/authors?per_page=10"
	@echo "     http://$(LISTEN)/references/institution-types"
	@target/release/pinakes-server --snapshots $(SNAPSHOTS) --listen $(LISTEN)

test: ## Every test
	@cargo build --locked --workspace
	@cargo test --locked --workspace

lint: ## Formatting and lints
	@cargo fmt --all --check
	@cargo clippy --locked --workspace --all-targets -- -D warnings

bench: ## Figures against their ceilings, OUTPUTS=1000000 LIST_OUTPUTS=10000000 NAMES=5000000
	@cargo build --release --locked -p pinakes-compiler -p pinakes-server -p pinakes-bench
	@target/release/pinakes-bench all --outputs $(OUTPUTS)
	@target/release/pinakes-bench lists --outputs $(LIST_OUTPUTS)
	@target/release/pinakes-bench names --names $(NAMES)

bless: ## Record the generated blocks of FORMAT.md and other goldens anew
	@PINAKES_BLESS=1 cargo test --locked -p pinakes-format --tests
	@PINAKES_BLESS=1 cargo test --locked -p pinakes-tests --test readme
