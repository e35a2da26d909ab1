# The menu. Every target sets up what it needs first; CMakeLists.txt knows how things are built.

BUILD := build
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
SIZE ?= push
export BRAID_JOBS := $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help setup build demo test bench figures check format crash mutants porcupine porting asan tsan ubsan fuzz \
        coverage vm-test reliability java java-test python python-test hadoop-test hadoop-cluster hadoop-demo docs install package clean

help: ## list the targets (this text)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing, or say which
	@bash scripts/setup.sh build check bench hadoop

# One stamp a group of packages, so that a second run costs nothing.
$(BUILD)/setup-%.stamp: scripts/setup.sh
	@bash scripts/setup.sh $*
	@mkdir -p $(BUILD) && touch $@

build: $(BUILD)/setup-build.stamp ## build the release: build/release/bin/braid, lib/libbraid.*
	@bash scripts/build.sh release

demo: build ## see braid at work: load, read, kill, reopen, verify
	@bash scripts/demo.sh

test: $(BUILD)/setup-build.stamp $(BUILD)/setup-check.stamp $(BUILD)/setup-bench.stamp $(BUILD)/setup-hadoop.stamp $(BUILD)/setup-python.stamp ## run every test; ends in "N passed, M failed"
	@bash scripts/test.sh

bench: $(BUILD)/setup-bench.stamp build ## measure braid beside other stores; SIZE=medium or full renews the tables
	@bash scripts/bench.sh

figures: $(BUILD)/setup-bench.stamp $(BUILD)/setup-figures.stamp build ## run and draw the papers' figures, about ten minutes: FIGURE=listdb-29 SCALE=0.1
	@bash scripts/figures.sh

check: $(BUILD)/setup-build.stamp $(BUILD)/setup-check.stamp ## layout, clang-tidy, layers, limits, links, names of tests, as errors
	@bash scripts/check.sh

format: $(BUILD)/setup-check.stamp ## lay out all C and C++ files with clang-format
	@bash scripts/check.sh --fix-format

docs: build ## renew the pages of docs/ that the command makes of itself
	@bash scripts/docs.sh

crash: $(BUILD)/setup-build.stamp ## run the crash simulator (BRAID_TEST_SIZE=push or night)
	@bash scripts/test.sh crash

mutants: $(BUILD)/setup-build.stamp ## break the store on purpose; every fault must be found
	@bash scripts/mutants.sh

vm-test: $(BUILD)/setup-build.stamp ## run braid on emulated persistent memory in QEMU, and cut its power
	@bash scripts/vm-test.sh

porcupine: $(BUILD)/setup-build.stamp ## have a checker in Go judge concurrent histories (skipped without Go)
	@bash scripts/porcupine.sh

porting: $(BUILD)/setup-build.stamp ## port a Go binding of LevelDB, fetched for that, and run its tests (skipped without Go)
	@bash scripts/porting.sh

asan: $(BUILD)/setup-build.stamp ## run all tests under AddressSanitizer and UBSan
	@bash scripts/test.sh asan

tsan: $(BUILD)/setup-build.stamp ## run all tests under ThreadSanitizer
	@bash scripts/test.sh tsan

ubsan: $(BUILD)/setup-build.stamp ## run all tests under UBSan alone
	@bash scripts/test.sh ubsan

reliability: $(BUILD)/setup-build.stamp $(BUILD)/setup-check.stamp ## run the long tests: SIZE=push, night or release; goes on where it was stopped
	@python3 scripts/reliability.py $(SIZE)

java: $(BUILD)/setup-build.stamp $(BUILD)/setup-hadoop.stamp ## build the Java binding: bindings/java/core/target/*.jar
	@bash scripts/java.sh build

java-test: $(BUILD)/setup-build.stamp $(BUILD)/setup-hadoop.stamp ## test the Java binding
	@bash scripts/test.sh java

python: $(BUILD)/setup-build.stamp $(BUILD)/setup-python.stamp ## build the Python wheel: build/python/wheel
	@bash scripts/python.sh build

python-test: $(BUILD)/setup-build.stamp $(BUILD)/setup-python.stamp ## test the Python binding, with plyvel's tests too
	@bash scripts/test.sh python

hadoop-test: $(BUILD)/setup-hadoop.stamp ## test braid-hadoop (BRAID_TEST_SIZE=push or night)
	@bash scripts/test.sh hadoop

hadoop-cluster: $(BUILD)/setup-hadoop.stamp ## start a small Hadoop cluster of real daemons (hadoop/README.md)
	@bash hadoop/cluster/cluster.sh start
	@echo "a first command: hadoop/cluster/cluster.sh run hdfs dfs -ls /    the end: hadoop/cluster/cluster.sh stop"

hadoop-demo: $(BUILD)/setup-hadoop.stamp ## compare ways of making input splits on a real cluster: SIZE=256M or quick
	@python3 hadoop/cluster/demo.py --size $(if $(filter push,$(SIZE)),256M,$(SIZE)) $(DEMO)

fuzz: $(BUILD)/setup-check.stamp ## build the fuzzers into build/fuzz/bin (clang)
	@bash scripts/build.sh fuzz

coverage: $(BUILD)/setup-check.stamp ## measure which lines the tests reach (clang, llvm-cov)
	@bash scripts/coverage.sh

install: build ## install to PREFIX (default /usr/local)
	@cmake --install $(BUILD)/release --prefix $(PREFIX)

package: $(BUILD)/setup-build.stamp $(BUILD)/setup-package.stamp ## make Debian packages and a bill of materials in build/package/packages
	@bash scripts/package.sh

clean: ## remove everything that was built
	@rm -rf $(BUILD)
