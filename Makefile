# What there is to do here; `make` alone lists it. Everything else is cargo.

# The profile of the demonstration.
PROFILE := demo

# The command with no feature of crates/cli/Cargo.toml: what the demonstration needs.
SMALL := --package hotset-cli --no-default-features

# An uncommitted change to Cargo.lock is an error in CI.
LOCKED := $(if $(CI),--locked)

.PHONY: help setup test lint unit demo compare counts truth soak gen dashboard dist deb try-packages experiments book audit sbom bpf miri header header-check c python wheels ray notebooks kernels servers
.DEFAULT_GOAL := help

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## Install what is missing, or name it in one line
	@sh xtask/setup.sh

test: lint unit ## Run every check

demo: setup ## Record a real program, replay it, and explain what came out
	cargo run $(LOCKED) --profile $(PROFILE) $(SMALL) --bin hotset -- demo

lint: setup ## Check format, lints, generated documents, licences and the layout rules
	cargo fmt --check --all
	cargo clippy $(LOCKED) --workspace --all-targets -- -D warnings
	cargo clippy $(LOCKED) $(SMALL) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(LOCKED) --workspace --no-deps --quiet
	cargo xtask gen --check
	cargo xtask experiments --check
	cargo xtask licences
	cargo xtask tidy
	sh xtask/bpf.sh --check

target/compare-venv: | setup
	python3 -m venv $@
	$@/bin/pip install --quiet libcachesim numpy

compare: counts ## Measure hotset beside libCacheSim: hit counts on public traces, then speed (fetches the Python package)
	target/compare-venv/bin/python benches/compare.py --out target/compare.md

counts: target/compare-venv ## Compare hit counts with libCacheSim on the public traces (fetches the Python package)
	cargo build $(LOCKED) --release --package hotset-cli
	target/compare-venv/bin/python benches/counts.py --out target/counts.md

truth: setup ## Run the long tests of the live cache (fetches fsx and pjdfstest; needs /dev/fuse)
	cargo build $(LOCKED) --release --package hotset-cli
	sh xtask/truth.sh

soak: setup ## Run mounts under everything at once for MINUTES (20) with SEED (1); memory must stay flat (needs /dev/fuse)
	HOTSET_SOAK_MINUTES=$(or $(MINUTES),20) HOTSET_SOAK_SEED=$(or $(SEED),1) \
		cargo test $(LOCKED) --package hotset-cli --test soak -- --nocapture

unit: setup ## Run the tests of the workspace
	cargo test $(LOCKED) --workspace
	cargo test $(LOCKED) --workspace --features hotset-cache/shuttle,hotset/shuttle \
		--test interleavings --test waiting --test orders

dashboard: ## Build the page of reports, compare it with the committed one and try it in a browser (needs npm and Chromium)
	@sh xtask/setup.sh page
	cargo xtask dashboard --check
	npm --prefix dashboard test

experiments: setup ## Run all experiments and write their pages, index and pictures (hours; needs the traces)
	cargo build $(LOCKED) --release --package hotset-cli
	sh xtask/experiments.sh
	cargo xtask experiments

dist: setup ## Build target/hotset-VERSION-ARCH-linux.tar.gz: command, completions, manual pages, systemd units, licences
	rm -rf target/package
	cargo build $(LOCKED) --profile dist --package hotset-cli
	cargo run $(LOCKED) --quiet --package hotset-reference -- --assets target/package/share
	install -D -t target/package/bin target/dist/hotset
	install -D -m 644 -t target/package/lib/hotset target/dist/deps/libhotset_preload.so
	install -D -m 644 -t target/package/lib/systemd/system packaging/systemd/*
	install -D -m 644 -t target/package/share/doc/hotset README.md CHANGELOG.md LICENSE-*
	sh xtask/dist.sh

deb: dist target/tools/bin/cargo-deb ## Build target/hotset.deb from the same files (fetches cargo-deb)
	target/tools/bin/cargo-deb --quiet --manifest-path crates/cli/Cargo.toml --no-build --no-strip --output target/hotset.deb

try-packages: deb ## Unpack the archive and install the .deb in fresh roots of Debian, and try them (needs root and debootstrap)
	sh xtask/dist.sh try target/hotset.deb

python: ## Build the package for Python and try it in a fresh virtual environment (fetches maturin and packages of Python)
	timeout 1800 sh xtask/python.sh release

wheels: ## Build the package for aarch64 Linux and try it under qemu (fetches a compiler, zig and a Python for that)
	timeout 3600 sh xtask/wheels.sh

ray: ## Try sweeps over a cluster of Ray, two nodes on loopback (after make python; fetches Ray)
	timeout 900 sh xtask/python.sh ray

notebooks: ## Run the notebooks of docs/notebooks (after make python; fetches Jupyter's parts that run them)
	timeout 900 sh xtask/notebooks.sh

gen: setup ## Write docs/reference from the code
	cargo xtask gen

book: target/tools/bin/mdbook ## Make the documents a site: target/book/index.html (fetches mdBook)
	$< build

header: target/tools/bin/cbindgen ## Write the header of the C library from its source (fetches cbindgen)
	cd crates/c && ../../$< --quiet --config cbindgen.toml --output include/hotset.h .

header-check: target/tools/bin/cbindgen ## Compare the header of the C library with its source (fetches cbindgen)
	cd crates/c && ../../$< --quiet --config cbindgen.toml --verify --output include/hotset.h .

# Where `make c` installs.
PREFIX := /usr/local

c: setup ## Install the C library, its header and manual below PREFIX (/usr/local), and the page cache of SQLite
	cargo build $(LOCKED) --release --package hotset-c --package hotset-sqlite
	install -D -m 644 target/release/libhotset_c.so $(DESTDIR)$(PREFIX)/lib/libhotset.so.0
	ln -sf libhotset.so.0 $(DESTDIR)$(PREFIX)/lib/libhotset.so
	install -D -m 644 target/release/libhotset_c.a $(DESTDIR)$(PREFIX)/lib/libhotset.a
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/hotset target/release/libhotset_sqlite.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include crates/c/include/hotset.h
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man3 crates/c/man/libhotset.3
	mkdir -p $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|'$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)'|' \
		crates/c/hotset.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/hotset.pc

# Tools that only these targets need, with the versions that were tried.
TOOLS := cbindgen@0.29.2 cargo-deb@3.8.0 cargo-deny@0.20.2 cargo-cyclonedx@0.5.9 mdbook@0.5.4

target/tools/bin/%: | setup
	cargo install --locked --root target/tools $(filter $*@%,$(TOOLS))

audit: target/tools/bin/cargo-deny ## Check the dependencies: licences, origins, known advisories (fetches them, or takes ADVISORIES=CLONE)
	sh xtask/audit.sh

sbom: target/tools/bin/cargo-cyclonedx ## Write what the command is built from, as CycloneDX, to target/hotset.cdx.json
	$< cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --describe binaries --target all --format json --spec-version 1.5
	rm xtask/xtask_bin.cdx.json xtask/reference/hotset-reference_bin.cdx.json
	mv crates/cli/hotset_bin.cdx.json target/hotset.cdx.json

bpf: ## Build the kernel's side of the feed (needs clang)
	@sh xtask/setup.sh bpf
	sh xtask/bpf.sh

kernels: setup ## Boot the kernels of SUITES in an emulator and try there what speaks with BPF (needs root, QEMU and debootstrap; fetches packages; an hour)
	sh xtask/kernels.sh $(SUITES)

servers: setup ## Try mounts of versitygw, Azurite, rclone, nginx and Apache, servers of other makers (needs root, /dev/fuse, Go and npm for the first two, which are fetched)
	timeout 900 sh xtask/servers.sh

miri: setup ## Run what Miri can of the code with unsafe (needs a nightly toolchain with Miri)
	cargo +nightly miri test $(LOCKED) --package hotset-core --lib parts::prefetch
	cargo +nightly miri test $(LOCKED) --package hotset-cache --lib arena::
