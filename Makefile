# Start with `make run` and `make test`; the other targets are for development.

SNAPSHOTS ?= target/sample-snapshots
LISTEN ?= 127.0.0.1:8080
OUTPUTS ?= 1000000
LIST_OUTPUTS ?= 10000000
COLD_OUTPUTS ?= 1000000,5000000,20000000
NAMES ?= 5000000
REQUESTS ?= 10000000
SECONDS ?= 60
# Most tests wait for child processes, so more threads than cores run faster.
TEST_THREADS ?= $(shell expr 4 \* $$(nproc))
FUZZ_TARGETS ?= path query filter forwarded head proxy limits_file line table container parquet manifest
SOAK_PARTS := attack requests crashes switches schemathesis sizes random nights
# Skipped tests are named at once.
SOAK := PINAKES_SKIPS=/dev/stderr tests/scratch cargo test --profile soak --locked --workspace
FUZZ := target/fuzz
# Where tests say that they are skipped.
SKIPS := $(CURDIR)/target/skips.txt
BUILD_BENCH := cargo build --release --locked -p pinakes-compiler -p pinakes-server && \
	cargo build --release --locked --manifest-path tests/bench/Cargo.toml --target-dir target

.PHONY: run build test lint bench soak soak-build $(addprefix soak-,$(SOAK_PARTS)) fuzz bless site wheel-test archive-test packages packages-twice packages-test

run: ## Build both programs, compile the sample and serve it
	@cargo build --profile quick --locked -p pinakes-compiler -p pinakes-server
	@target/quick/pinakes-compiler build data/sample data/side --out $(SNAPSHOTS)
	@echo "try: http://$(LISTEN)/outputs/HX_W2900000096"
	@echo "     http://$(LISTEN)/authors?per_page=10"
	@echo "     http://$(LISTEN)/references/institution-types"
	@target/quick/pinakes-server --snapshots $(SNAPSHOTS) --listen $(LISTEN)

build: ## Build both programs and all tests
	@cargo build --locked --workspace --all-targets

test: build ## Build everything, run all tests, and list those that were skipped
	@rm -f $(SKIPS)
	@PINAKES_SKIPS=$(SKIPS) tests/scratch cargo test --locked --workspace -- --test-threads $(TEST_THREADS); code=$$?; \
		if test -s $(SKIPS); then echo "skipped tests:"; sort -u $(SKIPS); fi; exit $$code

lint: ## Check formatting and lints, also of benchmarks and fuzz targets
	@cargo fmt --all --check
	@cargo fmt --manifest-path tests/bench/Cargo.toml --check
	@cargo fmt --manifest-path tests/fuzz/Cargo.toml --check
	@cargo fmt --manifest-path server/python/Cargo.toml --check
	@cargo fmt --manifest-path server/site/Cargo.toml --check
	@cargo clippy --locked --workspace --all-targets -- -D warnings
	@cargo clippy --locked --manifest-path tests/bench/Cargo.toml --target-dir target --all-targets -- -D warnings
	@cargo clippy --locked --manifest-path tests/fuzz/Cargo.toml --target-dir target -- -D warnings
	@cargo clippy --locked --manifest-path server/python/Cargo.toml --target-dir target -- -D warnings

bench: ## Measure both programs against their ceilings; OUTPUTS=1000000 LIST_OUTPUTS=10000000 NAMES=5000000
	@$(BUILD_BENCH)
	@target/release/pinakes-bench all --outputs $(OUTPUTS)
	@target/release/pinakes-bench parquet --outputs $(OUTPUTS)
	@target/release/pinakes-bench served --outputs $(OUTPUTS)
	@target/release/pinakes-bench cold --outputs $(COLD_OUTPUTS)
	@target/release/pinakes-bench mirror --outputs $(COLD_OUTPUTS)
	@target/release/pinakes-bench nightly --outputs $(OUTPUTS)
	@target/release/pinakes-bench lists --outputs $(LIST_OUTPUTS)
	@target/release/pinakes-bench sums --outputs $(LIST_OUTPUTS)
	@target/release/pinakes-bench export --outputs $(LIST_OUTPUTS)
	@target/release/pinakes-bench names --names $(NAMES)
	@target/release/pinakes-bench search speed --outputs $(OUTPUTS)
	@target/release/pinakes-bench search served --outputs $(OUTPUTS)
	@target/release/pinakes-bench search cold --outputs $(OUTPUTS)
	@target/release/pinakes-bench-graphql target/bench/snapshots-$(OUTPUTS)/current
	@.packages/wheel bench
	@python3 -m venv --clear target/wheel/bench
	@target/wheel/bench/bin/pip install --quiet target/wheel/dist/*.whl pyarrow==26.0.1
	@target/wheel/bench/bin/python tests/bench/python.py target/bench/snapshots-$(OUTPUTS)

# The parts follow one another; `make -k soak` goes on after one that fails.
soak: $(addprefix soak-,$(SOAK_PARTS)) ## Long tests: attackers of seven kinds at once, mutated requests (REQUESTS=10000000), crashes, random queries, Schemathesis, large dumps

soak-build:
	@cargo build --profile soak --locked --workspace --bins --tests

soak-attack:
	@$(BUILD_BENCH)
	@target/release/pinakes-bench attack

soak-requests: soak-build
	@PINAKES_MUTATED=$(REQUESTS) $(SOAK) --test http_fuzz -- --nocapture

soak-crashes: soak-build
	@PINAKES_CRASHES=all PINAKES_KILLS=1000 $(SOAK) --test builds crashes:: -- --nocapture

soak-switches: soak-build
	@PINAKES_SWAPS=100 $(SOAK) --test hosts http::swap -- --nocapture --test-threads 1

soak-schemathesis: soak-build
	@PINAKES_SCHEMATHESIS_SECONDS=1800 PINAKES_SCHEMATHESIS_EXAMPLES=200 \
		$(SOAK) --test hosts schemathesis_finds -- --nocapture

soak-sizes: soak-build
	@PINAKES_PARTS=100000 PINAKES_SAME_NAMES=1000000 PINAKES_LONG_NAMES=577000 PINAKES_CHAIN=1000000 \
		$(SOAK) --test builds -- many_files_take_few names_that_are_hardly many_names_stay long_chain

soak-random: soak-build
	@PINAKES_TIMES=50 $(SOAK) --test answers
	@PINAKES_TIMES=50 $(SOAK) --test builds -- legacy:: subset:: suppression::equal
	@PINAKES_TIMES=50 $(SOAK) --test hosts openalex::queries
	@PINAKES_TIMES=50 $(SOAK) --test mirrors integrity::

soak-nights: soak-build
	@PINAKES_NIGHTS_SEEDS=200 $(SOAK) --test builds nights::

fuzz: ## Run each of FUZZ_TARGETS for SECONDS=60; needs cargo-fuzz, but no nightly compiler
	@cargo build --locked -p pinakes-compiler
	@target/debug/pinakes-compiler build data/sample --out $(FUZZ)/snapshots --quiet
	@cargo fuzz build --fuzz-dir tests/fuzz --sanitizer none --target-dir $(FUZZ)
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p $(FUZZ)/corpus/$$target $(FUZZ)/artifacts/$$target; \
		echo "fuzzing $$target for $(SECONDS) s"; \
		PINAKES_SNAPSHOT=$(FUZZ)/snapshots/current \
			cargo fuzz run --fuzz-dir tests/fuzz --sanitizer none --target-dir $(FUZZ) $$target \
			$(FUZZ)/corpus/$$target tests/fuzz/seeds/$$target -- -max_total_time=$(SECONDS) \
			-artifact_prefix=$(FUZZ)/artifacts/$$target/ -timeout=10 -verbosity=0 -print_final_stats=1 || exit 1; \
	done

bless: build ## Regenerate the generated blocks of FORMAT.md and the other golden files
	@PINAKES_BLESS=1 cargo test --locked --workspace --test format_md
	@PINAKES_BLESS=1 cargo test --locked --workspace --test parquet_md
	@PINAKES_BLESS=1 cargo test --locked --workspace --test hosts -- \
		the_table the_schema_served the_document_served

site: ## Build the files of a website into target/site/files, for `pinakes-compiler publish --site`; needs clang, lld, brotli and a compiler for WebAssembly
	@server/site/build target/site/files

wheel-test: build ## Build the Python package with the programs of `make build`, and run its tests in a clean environment
	@.packages/wheel dev
	@tests/packages/wheel target/wheel/dist

archive-test: build ## Put the programs of `make build` into archives, and try them in a clean directory
	@rm -rf target/archives && mkdir -p target/archives
	@.packages/archive target/archives dev target/debug/pinakes-server target/debug/pinakes-compiler
	@tests/packages/archive target/archives

packages: site ## Write static programs, .deb, .rpm, an OCI image and the wheel for Python into target/packages, with sums, which PINAKES_RELEASE_KEY signs, and lists of crates; crates into target/package
	@.packages/build
	@.packages/wheel release
	@.packages/seal target/packages
	@cargo package --locked -p pinakes-format -p pinakes-answer

packages-twice: ## Make the packages of the last commit twice, and compare the bytes
	@tests/packages/twice

packages-test: ## Try the packages: wheel and archives here, the others each on a small Debian machine; needs root and debootstrap
	@tests/packages/wheel target/packages/wheel
	@tests/packages/archive target/packages
	@tests/packages/try
