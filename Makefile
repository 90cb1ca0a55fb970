# SPDX-License-Identifier: MIT
#
# pale: two programs out of one tree.
#
#   build/pale         the run path: musl, static, no library
#   build/pale-verbs   every other verb: glibc, static, jansson
#
# Sources are found by folder, so a new file needs no line here. Each flavour of
# objects has its own folder: build/musl, build/glibc, build/asan, build/fuzz.
# `make help` lists the targets.

VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
SHARE    = $(DESTDIR)$(PREFIX)/share
TESTS   ?=
BENCH_FLAGS  ?=
FUZZ_SECONDS ?= 60

CC      := gcc
MUSL_CC := musl-gcc
CLANG   := clang
CFLAGS  ?= -O2 -g
WERROR  ?= -Werror

# The layers of docs/ARCHITECTURE.md. `pale` takes whole layers and, of cli/,
# the files that running a command needs.
RUN_LAYERS := base config policy plan result confine warden engine observe backend view api
ALL_LAYERS := $(RUN_LAYERS) stage files store cli mcp
RUN_CLI    := src/cli/main.c src/cli/cmd-run.c $(wildcard src/cli/common*.c)

MAINS    := src/cli/main.c src/cli/verbs-main.c
RUN_SRC  := $(wildcard $(RUN_LAYERS:%=src/%/*.c)) $(RUN_CLI)
LIB_SRC  := $(filter-out $(MAINS),$(wildcard $(ALL_LAYERS:%=src/%/*.c)))
UNIT_SRC := $(wildcard tests/unit/test-*.c tests/unit/*/test-*.c)
HOST_SRC := $(wildcard tests/sim/test-*.c tests/live/test-*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz-*.c)
MAN_SRC  := $(wildcard man/*.scd)

COMMON := -std=gnu17 -D_GNU_SOURCE -DPALE_VERSION='"$(VERSION)"' -Iinclude -Isrc -Ibuild/gen \
	-Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wmissing-prototypes -Wvla \
	-Wswitch-enum $(WERROR) -fvisibility=hidden -fno-common
HARDEN   := -fstack-protector-strong -fstack-clash-protection
FORTIFY  := -U_FORTIFY_SOURCE $(if $(filter -O0,$(CFLAGS)),,-D_FORTIFY_SOURCE=2)
SECTIONS := -ffunction-sections -fdata-sections
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LINK     := -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,noexecstack

# musl has no kernel headers of its own: take the system's, after everything
# else. musl-gcc cannot link a static PIE.
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
KERNEL_HEADERS := -idirafter /usr/include $(MULTIARCH:%=-idirafter /usr/include/%)

# Sanitizers make gcc warn of paths that cannot be taken: no errors there.
musl_cc  = $(MUSL_CC) $(COMMON) $(KERNEL_HEADERS) $(CFLAGS) $(HARDEN) $(SECTIONS) -fno-pie
glibc_cc = $(CC) $(COMMON) $(CFLAGS) $(HARDEN) $(FORTIFY) $(SECTIONS) -fPIE
asan_cc  = $(CC) $(COMMON) -Wno-error -O1 -g $(SANITIZE)
fuzz_cc  = $(CLANG) $(COMMON) -O1 -g $(SANITIZE) -fsanitize=fuzzer-no-link
TEST_FLAGS := -I. -Itests

# V=1 shows whole commands.
q = $(if $(V),,@echo "  $(1)	$@";)

NPROC := $(shell nproc 2>/dev/null || echo 1)
# Parallel, unless the caller chose a number of jobs.
JOBS = --no-print-directory $(if $(V),,-s) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(NPROC))

UNIT_BIN := $(UNIT_SRC:%.c=build/glibc/%)
HOST_BIN := $(HOST_SRC:%.c=build/glibc/%)
ASAN_BIN := $(UNIT_SRC:%.c=build/asan/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=build/fuzz/%)
BENCH    := build/bench/bench build/bench/nothing
MAN      := $(MAN_SRC:man/%.scd=build/man/%)
COMPLETIONS := $(addprefix build/completions/,pale.bash _pale pale.fish)

.PHONY: all try test test-vm lint format bench fuzz man completions install clean help \
	check-unit check-asan check-valgrind run-tests
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

all: build/pale build/pale-verbs ## build both programs (default)

build/pale: $(RUN_SRC:src/%.c=build/musl/%.o)
	$(call q,LD) $(musl_cc) -static -no-pie $(LINK) -o $@ $^

build/pale-verbs: build/glibc/cli/verbs-main.o build/glibc/libpale.a
	$(call q,LD) $(glibc_cc) -static-pie $(LINK) -o $@ $^ -ljansson

# One rule for objects, one for the archive of all that is not a main(), and
# one for the programs under tests/, in each flavour.
define flavour
build/$(1)/%.o: src/%.c Makefile
	@mkdir -p $$(@D)
	$$(call q,CC) $$($(1)_cc) -MMD -MP -c -o $$@ $$<

build/$(1)/libpale.a: $(LIB_SRC:src/%.c=build/$(1)/%.o)
	@rm -f $$@
	$$(call q,AR) $(AR) rcs $$@ $$^

build/$(1)/tests/%: tests/%.c tests/tap.c build/$(1)/libpale.a
	@mkdir -p $$(@D)
	$$(call q,CC) $$($(1)_cc) $$(TEST_FLAGS) -MMD -MP -MF $$@.d -o $$@ $$< tests/tap.c build/$(1)/libpale.a $(2) -ljansson
endef
$(eval $(call flavour,musl))
$(eval $(call flavour,glibc,-pie))
$(eval $(call flavour,asan))
$(eval $(call flavour,fuzz,-fsanitize=fuzzer))

# libseccomp compiles the filters here, not in every run.
FILTERS := build/gen/confine/filters.h
build/gen/seccomp-gen: tools/seccomp-gen.c Makefile
	@mkdir -p $(@D)
	$(call q,CC) $(glibc_cc) -o $@ $< -pie -lseccomp

$(FILTERS): build/gen/seccomp-gen
	@mkdir -p $(@D)
	$(call q,GEN) $< >$@
$(foreach f,musl glibc asan fuzz,build/$(f)/confine/seccomp.o): $(FILTERS)

try: ## install what is missing, build, and show a small tour
	@tools/deps try
	@$(MAKE) $(JOBS) all
	@tools/try build/pale

test: ## install what is missing, build, and run every test (TESTS=pattern selects)
	@tools/deps test
	@$(MAKE) $(JOBS) run-tests

run-tests: all man $(UNIT_BIN) $(HOST_BIN) $(ASAN_BIN)
	@TESTS='$(TESTS)' tools/runtests unit asan valgrind sim cli live bwrap

check-unit: $(UNIT_BIN) ## unit tests only
check-asan: $(ASAN_BIN) ## unit tests with AddressSanitizer and UBSan
check-valgrind: $(UNIT_BIN) ## unit tests under valgrind
check-unit check-asan check-valgrind:
	@TESTS='$(TESTS)' tools/runtests $(@:check-%=%)

test-vm: ## tests under systemd and cgroup v2, in a virtual machine (TESTS= too)
	@tools/deps build
	@$(MAKE) $(JOBS) all
	@TESTS='$(TESTS)' tools/test-vm

lint: ## format, size, layers, banned functions, cppcheck, spelling
	@tools/deps lint
	@tools/lint

format: ## lay out every C file as .clang-format says
	@clang-format -i $(wildcard include/*.h src/*/*.[ch] tests/*.h tests/*/*.[ch] tests/*/*/*.[ch] bench/*.c)

bench: ## pale against bwrap and bare fork+exec (BENCH_FLAGS=--check to judge)
	@tools/deps bench
	@$(MAKE) $(JOBS) all $(BENCH)
	@build/bench/bench $(BENCH_FLAGS) build/pale build/bench/nothing

build/bench/bench: bench/bench.c Makefile
	@mkdir -p $(@D)
	$(call q,CC) $(glibc_cc) -o $@ $<

build/bench/nothing: bench/nothing.c Makefile
	@mkdir -p $(@D)
	$(call q,CC) $(musl_cc) -static -no-pie $(LINK) -o $@ $<

fuzz: ## run every fuzzer for FUZZ_SECONDS (60)
	@tools/deps fuzz
	@$(MAKE) $(JOBS) $(FUZZ_BIN)
	@tools/runfuzz $(FUZZ_SECONDS) $(FUZZ_BIN)

man: $(MAN) ## manual pages, into build/man

build/man/%: man/%.scd
	@mkdir -p $(@D)
	$(call q,MAN) scdoc <$< >$@

completions: $(COMPLETIONS) ## shell completions, into build/completions

build/completions/pale.bash: dialect := bash
build/completions/_pale: dialect := zsh
build/completions/pale.fish: dialect := fish
$(COMPLETIONS): build/pale-verbs
	@mkdir -p $(@D)
	$(call q,GEN) build/pale-verbs completions $(dialect) >$@

install: all man completions ## into $(DESTDIR)$(PREFIX)
	install -Dm755 -s build/pale $(DESTDIR)$(PREFIX)/bin/pale
	install -Dm755 -s build/pale-verbs $(DESTDIR)$(PREFIX)/libexec/pale/pale-verbs
	for page in $(MAN); do \
		install -Dm644 "$$page" "$(SHARE)/man/man$${page##*.}/$${page##*/}" || exit 1; \
	done
	install -Dm644 build/completions/pale.bash $(SHARE)/bash-completion/completions/pale
	install -Dm644 build/completions/_pale $(SHARE)/zsh/site-functions/_pale
	install -Dm644 build/completions/pale.fish $(SHARE)/fish/vendor_completions.d/pale.fish

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 16

-include $(shell find build -name '*.d' 2>/dev/null)
