# The menu. Every target sets up what it needs first; CMakeLists.txt knows how things are built.

BUILD := build
# Processes side by side; empty: as many as processors and memory allow.
JOBS ?=
PREFIX ?= /usr/local
SIZE ?= push
export BRAID_JOBS := $(JOBS)

# The packages of the one configuration that demo, bench and tests share: with them from the start,
# nothing is compiled a second time.
BUILD_SETUP := $(BUILD)/setup-build.stamp $(BUILD)/setup-peers.stamp
TEST_SETUP := $(BUILD_SETUP) $(BUILD)/setup-check.stamp $(BUILD)/setup-hadoop.stamp $(BUILD)/setup-python.stamp

.DEFAULT_GOAL := help
.PHONY: help setup build demo test fresh bench figures check format crash mutants porcupine porting asan tsan ubsan fuzz \
        coverage vm-test reliability java java-test python python-test hadoop-test hadoop-cluster hadoop-demo kafka-demo kafka-smoke kafka-stores kafka-suites rheakv-demo docs site install package clean

# Lines "##@ Group" and "target: ... ## what it does" make the help.
help: ## list the targets (this text)
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Try it
demo: $(BUILD_SETUP) ## see braid at work: load, read, kill, reopen, verify [4 min on a bare machine, then 15 s]
	@echo "demo: compiling the store, its command and the comparison"
	@bash scripts/build.sh --brief release braid_command braid_compare
	@bash scripts/demo.sh

hadoop-cluster: $(BUILD)/setup-hadoop.stamp ## start a small Hadoop cluster of real daemons (hadoop/README.md)
	@bash hadoop/cluster/cluster.sh start
	@echo "a first command: hadoop/cluster/cluster.sh run hdfs dfs -ls /    the end: hadoop/cluster/cluster.sh stop"

hadoop-demo: $(BUILD)/setup-hadoop.stamp ## compare ways of making input splits on a real cluster: SIZE=256M or quick, SKEW=node or data, ROUNDS=N
	@python3 hadoop/cluster/demo.py --size $(if $(filter push,$(SIZE)),256M,$(SIZE)) --skew $(or $(SKEW),none) \
	  $(if $(ROUNDS),--runs $(ROUNDS)) $(DEMO)

kafka-demo: $(BUILD_SETUP) $(BUILD)/setup-hadoop.stamp ## kill a Kafka Streams application that counts words, restart it, check every count: DEMO=--help
	@bash scripts/java.sh kafka-demo $(DEMO)

##@ Build
setup: ## install the Debian packages that are missing, or say which
	@bash scripts/setup.sh build check bench hadoop python

# One stamp a group of packages, so that a second run costs nothing.
$(BUILD)/setup-%.stamp: scripts/setup.sh
	@bash scripts/setup.sh $*
	@mkdir -p $(BUILD) && touch $@

# The stores to compare with are optional: what can't be had is said.
$(BUILD)/setup-peers.stamp: scripts/setup.sh
	@bash scripts/setup.sh --optional bench
	@mkdir -p $(BUILD) && touch $@

build: $(BUILD_SETUP) ## build the release: build/release/bin/braid, lib/libbraid.*
	@bash scripts/build.sh --brief release

java: $(BUILD_SETUP) $(BUILD)/setup-hadoop.stamp ## build the Java binding: bindings/java/core/target/*.jar [10 s, once the release is built]
	@bash scripts/java.sh build

python: $(BUILD_SETUP) $(BUILD)/setup-python.stamp ## build the Python wheel: build/python/wheel [10 s, once the release is built]
	@bash scripts/python.sh build

docs: build ## renew the pages of docs/ that the command makes of itself
	@bash scripts/docs.sh

site: $(BUILD)/setup-site.stamp ## build the pages of docs/ and the API references as a site: build/site/html; SITE=serve serves it
	@bash scripts/site.sh $(SITE)

clean: ## remove everything that was built
	@rm -rf $(BUILD)

##@ Test
test: $(TEST_SETUP) ## test what a push must pass; ends in "N passed, M failed"; SIZE=full: everything [40 min on a bare machine]
	@BRAID_TEST_SHARE=$(SIZE) bash scripts/test.sh

check: $(BUILD_SETUP) $(BUILD)/setup-check.stamp ## layout, clang-tidy, layers, limits, links, names of tests, as errors
	@bash scripts/check.sh

format: $(BUILD)/setup-check.stamp ## lay out all C and C++ files with clang-format
	@bash scripts/check.sh --fix-format

crash: $(BUILD_SETUP) ## run the crash simulator (BRAID_TEST_SIZE=push or night)
	@BRAID_TEST_SHARE=full bash scripts/test.sh crash

mutants: $(BUILD_SETUP) ## break the store on purpose; every fault must be found
	@BRAID_TEST_SHARE=full bash scripts/test.sh mutants

asan: $(BUILD_SETUP) ## run all tests under AddressSanitizer and UBSan
	@bash scripts/test.sh asan

tsan: $(BUILD_SETUP) ## run all tests under ThreadSanitizer
	@bash scripts/test.sh tsan

ubsan: $(BUILD_SETUP) ## run all tests under UBSan alone
	@bash scripts/test.sh ubsan

java-test: $(BUILD_SETUP) $(BUILD)/setup-hadoop.stamp ## test the Java binding: SIZE=night makes random, crash and cluster tests long
	@$(if $(filter night,$(SIZE)),BRAID_TEST_SIZE=night )bash scripts/test.sh java

kafka-smoke: $(BUILD_SETUP) $(BUILD)/setup-hadoop.stamp ## Kafka Streams' own smoke test on braid, processes killed every few seconds: ROUNDS=3, SIZE=night: 20 [1 min a round]
	@bash scripts/java.sh kafka-smoke $(or $(ROUNDS),$(if $(filter night,$(SIZE)),20,3))

kafka-stores: $(BUILD_SETUP) $(BUILD)/setup-hadoop.stamp ## memory of 144 stores of Kafka Streams, and latencies beside a restore, on braid and on RocksDB: STORES="--keys N --seconds N" [2 min]
	@bash scripts/java.sh kafka-stores $(STORES)

kafka-suites: $(BUILD_SETUP) $(BUILD)/setup-hadoop.stamp ## Kafka's own integration tests of Kafka Streams, unmodified, on braid's stores: PATTERN=Join: a part, CONTROL=1: on Kafka's own stores [2 h]
	@$(if $(CONTROL),BRAID_CONTROL=$(CONTROL) )bash scripts/java.sh kafka-suites $(if $(PATTERN),'$(PATTERN)')

rheakv-demo: $(BUILD_SETUP) $(BUILD)/setup-hadoop.stamp ## RheaKV on braid: three servers, the leader killed while clients write, histories and replicas checked: ROUNDS=3, SIZE=night: 30, RAFT_LOG=rocksdb [15 s a round]
	@RAFT_LOG='$(RAFT_LOG)' bash scripts/java.sh rheakv-demo $(or $(ROUNDS),$(if $(filter night,$(SIZE)),30,3))

python-test: $(BUILD_SETUP) $(BUILD)/setup-python.stamp ## test the Python binding, with plyvel's tests too
	@bash scripts/test.sh python

hadoop-test: $(BUILD)/setup-hadoop.stamp ## test braid-hadoop (BRAID_TEST_SIZE=push or night)
	@bash scripts/test.sh hadoop

fuzz: $(BUILD_SETUP) $(BUILD)/setup-check.stamp ## build the fuzzers into build/fuzz/bin (clang)
	@bash scripts/build.sh --brief fuzz

coverage: $(BUILD_SETUP) $(BUILD)/setup-check.stamp ## measure which lines the tests reach (clang, llvm-cov)
	@bash scripts/coverage.sh

vm-test: $(BUILD_SETUP) ## run braid on emulated persistent memory in QEMU, and cut its power
	@bash scripts/vm-test.sh

porcupine: $(BUILD_SETUP) ## have a checker in Go judge concurrent histories (skipped without Go)
	@bash scripts/porcupine.sh

porting: $(BUILD_SETUP) ## port a Go binding of LevelDB, fetched for that, and run its tests (skipped without Go)
	@bash scripts/porting.sh

reliability: $(BUILD_SETUP) $(BUILD)/setup-check.stamp ## run the long tests: SIZE=push, night or release; goes on where it was stopped
	@python3 scripts/reliability.py $(SIZE)

fresh: $(BUILD)/setup-fresh.stamp ## all of the above commands of a new user, in bare Debian roots; FRESH=demo: one step
	@python3 -B scripts/fresh.py $(FRESH)

##@ Measure
bench: $(BUILD)/setup-bench.stamp build ## measure braid beside other stores: SIZE=small, SCENARIO=sustained; SIZE=medium or full renews the tables
	@bash scripts/bench.sh

figures: $(BUILD)/setup-bench.stamp $(BUILD)/setup-figures.stamp build ## run and draw the papers' figures: FIGURE=listdb-29 SCALE=0.1
	@bash scripts/figures.sh

##@ Package
install: build ## install to PREFIX (default /usr/local)
	@cmake --install $(BUILD)/release --prefix $(PREFIX)

package: $(BUILD_SETUP) $(BUILD)/setup-package.stamp ## make Debian packages and a bill of materials in build/package/packages
	@bash scripts/package.sh
