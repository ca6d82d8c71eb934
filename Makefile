# `make help` lists the targets. Each calls one script below hack/.
DATA_DIR ?= /var/lib/orch
FLAGS ?=
EXAMPLE ?= web
FILE ?=

.PHONY: help up down test vm-test arm64-test check lint generate build images dist envtest-pack bench fuzz soak compatibility clean
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2 }' Makefile

up: ## Install what is missing, build, start a cluster and run an example: EXAMPLE=web or shop
	@EXAMPLE=$(EXAMPLE) hack/up.sh --data-dir $(DATA_DIR) $(FLAGS)

down: ## Stop the cluster; its state stays in DATA_DIR
	@bin/orch down --data-dir $(DATA_DIR)

build: ## Compile into dist/
	@hack/build.sh

images: ## Build the daemons' images, an OCI archive, without a container engine; ARCHS="amd64 arm64"
	@hack/images.sh

dist: ## Pack the programs and their Node.js into one archive that runs without npm; ARCHS="amd64 arm64"
	@hack/dist.sh

envtest-pack: ## Pack the programs for tests and use the archive as a KUBEBUILDER_ASSETS, also by envtest itself where there is Go
	@hack/envtest-pack.sh

test: ## Install what is missing, build, lint and run every test
	@hack/test.sh

arm64-test: ## Pack the programs for arm64 and run them under qemu's emulation
	@hack/arm64-test.sh

vm-test: ## Boot Debian 12 and 13 in qemu and try the cluster in them: systemd, cgroup v2, reboots; FLAGS="bookworm --only NAME"
	@hack/vm-test.sh $(FLAGS)

check: ## Compile what changed and run one test: FILE=pkg/scheduler/queue/queue.ts
	@hack/check.sh $(FILE)

lint: ## Check format, types, layers and cycles
	@hack/build.sh && hack/lint.sh

generate: ## Derive files from the schema declarations
	@hack/generate.sh

bench: ## Measure start-up, memory, throughput
	@hack/bench.sh

fuzz: ## Break bodies, addresses, rights and sizes of requests, SPDY's, HTTP/2's and etcd's frames, and schemas, ten minutes each
	@hack/fuzz.sh

soak: ## Let clients leave, and schedulers die, at random moments, ten minutes each; chaos on nodes, ten minutes in memory and half an hour for real; floods; etcd's members come and go; an hour of the dashboard
	@hack/soak.sh
	@hack/soak.sh --floods
	@hack/soak.sh --histories
	@hack/soak.sh --members
	@hack/soak.sh --faults
	@hack/soak.sh --chaos
	@hack/soak.sh --settle
	@hack/soak.sh --dashboard

compatibility: ## Run the tests on every version of etcd, kine, containerd, Node.js and kubectl that is here, an hour
	@hack/build.sh && hack/compatibility.sh

clean: ## Remove what was built
	@rm -rf dist .tap
