# Thin targets: what they do stands in scripts/ and in Go.
.PHONY: help web serve build cluster-build run test containers cluster clients deps check race rest fuzz cross release packages bare size bench agentdojo obedient tasks pdfcorpus full soak pictures lighthouse live clean

comma := ,

# One set of flags, so that what is compiled once serves the program, its tests and the
# checks. Symbols for debuggers, which -s -w would drop, are not made: that is a seventh
# of the time. They are in what plain go build and go test make.
export GOFLAGS := $(shell go env GOFLAGS) -trimpath -gcflags=all=-dwarf=false
commit = -s -w -X main.commit=$(shell git rev-parse HEAD 2>/dev/null)

build: ## bin/openmanus
	CGO_ENABLED=0 go build -ldflags '$(commit)' -o bin/openmanus ./cmd/openmanus

help: ## this list
	@awk -F ':.* ## ' '/^[a-z-]+:.* ## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

run: build ## do TASK="…", or play the demo
	@scripts/run "$(TASK)"

cluster-build: ## bin/openmanus-cluster: the same, with an object store and Temporal
	CGO_ENABLED=0 go build -tags cluster -ldflags '$(commit)' -o bin/openmanus-cluster ./cmd/openmanus

serve: build ## the page, at the link that it prints
	bin/openmanus serve

web: deps ## server/web/dist, which is checked in
	@scripts/web

test: deps ## every test
	@scripts/test plain

race: deps ## the tests of what goroutines share, under the race detector; SAMPLE=N: a sample
	@scripts/test race

rest: deps ## the tests that race does not run; SAMPLE=N: with what that sample leaves out
	@scripts/test rest

containers: ## the sandboxes docker and gvisor, with a daemon of their own; as root
	@scripts/containers

cluster: deps ## servers, workers, PostgreSQL, an object store and Temporal on this machine, and everything breaks; TEST=Name: that one
	@scripts/cluster "$(TEST)"

clients: deps ## clients that others wrote, against the binary; CLIENTS="NAME.py …": these
	@scripts/clients $(CLIENTS)

deps: ## what the tests and tools need beside Go, git and make
	@scripts/deps $(if $(filter deps,$(MAKECMDGOALS)),all)

packages: ## a release made twice, and installed, updated and removed in a Debian of its own; as root
	@scripts/packages

bare: ## make run and make test as a new person has them, in a Debian that has Go, git and make and nothing else; as root
	@scripts/bare

size: ## how large each package is, and how many files know of an event, a tool, a key, a provider and a panel
	@go test -count=1 -v -run 'TestSize$$' ./internal/lawtest

check: ## formatting, vet, staticcheck, go.mod
	@scripts/check

fuzz: ## every fuzz target, FUZZTIME each (10s); SAMPLE=N: of what changed, and some others
	@scripts/fuzz "$(or $(FUZZTIME),10s)" $(SAMPLE)

cross: ## the systems that the binary is built for; SAMPLE=N: that many
	@scripts/cross $(SAMPLE)

bench: ## tables of speed and memory against peers
	cd bench && go run . $(BENCHFLAGS)

agentdojo: build ## AgentDojo's 97 tasks and 949 attacks; DOJOFLAGS="--sample 40": a part
	@scripts/agentdojo $(DOJOFLAGS)

obedient: ## every attack on an obedient model, and their harmless twins
	OBEDIENT=all go test -count=1 -timeout 30m ./internal/obedient

tasks: deps ## real tasks with the binary, and what each needs; TASK=name, SHOW=1, UPDATE=1
	@cd internal/tasks && go test -count=1 -timeout 30m -args $(if $(TASK),-task "$(TASK)") $(if $(SHOW),-show) $(if $(UPDATE),-update)

pdfcorpus: ## PDFs of every program that is here, against pdftotext; DIR keeps them
	@scripts/pdfcorpus "$(or $(DIR),$(shell mktemp -d))"

full: deps ## what .ci/run has no time for, whole; PART="NAME …": these parts
	@scripts/full $(PART)

soak: ## an hour for each fuzz target: FUZZTIME=60m
	@scripts/fuzz "$(or $(FUZZTIME),60m)"

release: ## dist/: archives, packages, images, checksums; VERSION=v1.2.3 KEY=FILE signs; IMAGES=none: no images
	@cd scripts/release && go run . -root ../.. -out "$(or $(OUT),$(CURDIR)/dist)" -version "$(VERSION)" -key "$(KEY)" -trust "$(TRUST)" -targets "$(TARGETS)" -images "$(or $(IMAGES),small$(comma)full)" -image-sources "$(IMAGE_SOURCES)"

pictures: deps build ## docs/pictures: every screen of the page and of the terminal, with nothing but realistic content
	@rm -f docs/pictures/*.png
	go test -count=1 -run 'TestScreens$$' ./cmd/openmanus -args -pictures
	scripts/terminal
	go test -count=1 -run 'TestPictures$$' ./cmd/openmanus -args -pictures

lighthouse: deps build ## what Lighthouse says of the page: all but the times must be 100
	@scripts/deps lighthouse && scripts/lighthouse

live: ## asks every search engine once, over the network
	go test -tags live -count=1 -v -run TestLive ./web

clean:
	rm -rf bin dist
