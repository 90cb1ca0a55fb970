# SPDX-License-Identifier: MIT
#
# pale: two programs and a library out of one tree.
#
#   build/pale         the run path: musl, static, no library
#   build/pale-verbs   every other verb: glibc, static, jansson, zlib, SQLite
#   build/libpale.*    specs, and runs through `pale`, for programs
#
# Sources are found by folder, each flavour of objects has its own. `make help` lists the targets.

VERSION := 0.1.0
PREFIX  ?= /usr/local
FUZZ_SECONDS ?= 60

CC      := gcc
MUSL_CC := musl-gcc
CFLAGS  ?= -O2 -g
WERROR  ?= -Werror

# The layers of docs/ARCHITECTURE.md. `pale` takes of cli/ what a run needs.
RUN_LAYERS := base config policy plan result confine warden engine net observe stage backend files store view api session review posture
ALL_LAYERS := $(RUN_LAYERS) learn cli mcp
RUN_SRC  := $(filter-out %-zlib.c %-sqlite.c,$(wildcard $(RUN_LAYERS:%=src/%/*.c) $(addprefix src/cli/,main.c common*.c cmd-run.c cmd-exec*.c cmd-file*.c cmd-session*.c)))
LIB_SRC  := $(filter-out src/cli/%main.c,$(wildcard $(ALL_LAYERS:%=src/%/*.c)))
API_SRC  := $(wildcard src/base/*.c src/config/*.c src/policy/*.c src/result/*.c src/api/pale*.c)
UNIT_SRC := $(wildcard tests/unit/test-*.c tests/unit/*/test-*.c)
HOST_SRC := $(wildcard tests/sim/test-*.c tests/live/test-*.c tests/*/driver-*.c)
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

# musl has no kernel headers, and links no static PIE. Code that a run passes once is best short.
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
KERNEL_HEADERS := -idirafter /usr/include $(MULTIARCH:%=-idirafter /usr/include/%)

# Sanitizers make gcc warn of paths that cannot be taken: no errors there.
musl_cc  = $(MUSL_CC) $(COMMON) $(KERNEL_HEADERS) $(CFLAGS:-O2=-Os) $(HARDEN) $(SECTIONS) -fno-pie
glibc_cc = $(CC) $(COMMON) $(CFLAGS) $(HARDEN) $(FORTIFY) $(SECTIONS) -fPIE
asan_cc  = $(CC) $(COMMON) -Wno-error -O1 -g $(SANITIZE)
pic_cc   = $(CC) $(COMMON) $(CFLAGS) $(HARDEN) $(FORTIFY) $(SECTIONS) -fPIC
fuzz_cc  = clang $(COMMON) -O1 -g $(SANITIZE) -fsanitize=fuzzer-no-link
TEST_FLAGS := -I. -Itests
VERB_LIBS  := -lsqlite3 -ljansson -lz -lm
# V=1 shows whole commands. Parallel, unless the caller chose a number of jobs.
q = $(if $(V),,@echo "  $(1)	$@";)
JOBS = --no-print-directory $(if $(V),,-s) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))

UNIT_BIN := $(UNIT_SRC:%.c=build/glibc/%)
HOST_BIN := $(HOST_SRC:%.c=build/glibc/%)
ASAN_BIN := $(UNIT_SRC:%.c=build/asan/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=build/fuzz/%)
BENCH    := $(addprefix build/bench/,bench exec library build broker nothing least)
LIBRARY  := build/libpale.a build/libpale.so build/pale.pc
MAN      := $(MAN_SRC:man/%.scd=build/man/%)
COMPLETIONS := $(addprefix build/completions/,pale.bash _pale pale.fish)
CHECKS   := check-unit check-asan check-valgrind
.PHONY: all try test lint format bench fuzz man completions install clean help run-tests test-vm sweep $(CHECKS) FORCE
.DELETE_ON_ERROR .SECONDARY .SUFFIXES:

all: build/pale build/pale-verbs $(LIBRARY) ## build both programs and the library (default)

build/pale: $(RUN_SRC:src/%.c=build/musl/%.o) src/cli/pale.ld
	$(call q,LD) $(musl_cc) -static -no-pie $(LINK) -o $@ $(filter %.o,$^) -Wl,-T,src/cli/pale.ld

build/pale-verbs: build/glibc/cli/verbs-main.o build/glibc/libpale.a
	$(call q,LD) $(glibc_cc) -static-pie $(LINK) -Wl,--wrap=dlopen -o $@ $^ $(VERB_LIBS)

# One object in which only pale_* can be seen from outside.
build/libpale.a: $(API_SRC:src/%.c=build/pic/%.o)
	$(call q,AR) rm -f $@; ld -r -o $(@:.a=.o) $^ && objcopy --localize-hidden $(@:.a=.o) && $(AR) rcs $@ $(@:.a=.o)

build/libpale.so: $(API_SRC:src/%.c=build/pic/%.o) src/api/libpale.map
	$(call q,LD) $(pic_cc) -shared $(LINK) -Wl,-soname,$(@F).0 \
		-Wl,--version-script=src/api/libpale.map -Wl,-z,defs -o $@ $(filter %.o,$^) -pthread

# Follows PREFIX: a change builds anew what knows where pale is.
build/gen/api/prefix.h: FORCE
	@mkdir -p $(@D); line='#define PALE_PREFIX "$(PREFIX)"'; \
		[ "$$line" = "$$(cat $@ 2>/dev/null)" ] || echo "$$line" >$@

build/pale.pc: src/api/pale.pc.in build/gen/api/prefix.h
	$(call q,GEN) sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $< >$@

# What is missing is listed before the first error, unless the compilers are somebody's own.
build/gen/has-%: tools/deps
	@$(if $(filter-out file,$(origin CC) $(origin MUSL_CC)),,tools/deps --check $* &&) mkdir -p $(@D) && touch $@

# In each flavour: objects, the archive of all that is no main(), programs of tests/.
define flavour
build/$(1)/%.o: src/%.c Makefile | build/gen/has-build
	@mkdir -p $$(@D)
	$$(call q,CC) $$($(1)_cc) -MMD -MP -c -o $$@ $$<

build/$(1)/libpale.a: $(LIB_SRC:src/%.c=build/$(1)/%.o)
	$$(call q,AR) rm -f $$@; $(AR) rcs $$@ $$^
build/$(1)/tests/%.o: tests/%.c Makefile | build/gen/has-build
	@mkdir -p $$(@D)
	$$(call q,CC) $$($(1)_cc) $$(TEST_FLAGS) -MMD -MP -c -o $$@ $$<

build/$(1)/tests/%: build/$(1)/tests/%.o build/$(1)/tests/tap.o build/$(1)/libpale.a
	$$(call q,LD) $$($(1)_cc) -o $$@ $$(filter %.o %.a,$$^) $(2) $(VERB_LIBS)
endef
$(foreach f,musl asan pic,$(eval $(call flavour,$(f))))
$(eval $(call flavour,glibc,-pie))
$(eval $(call flavour,fuzz,-fsanitize=fuzzer))

# The filters are made here, not in every run, and compared with those of libseccomp.
FILTERS := build/gen/confine/filters.h
build/gen/seccomp-gen: tools/seccomp-gen.c $(wildcard tools/seccomp-*.h) tests/unit/confine/bpf.h Makefile | build/gen/has-build
	@mkdir -p $(@D)/confine
	$(call q,CC) $(glibc_cc) -o $@ $< -pie -lseccomp
$(FILTERS): build/gen/seccomp-gen
	$(call q,GEN) $< >$@
$(foreach f,musl glibc asan fuzz,build/$(f)/confine/seccomp.o): $(FILTERS)
$(foreach f,musl glibc asan fuzz pic,build/$(f)/api/pale-events.o): build/gen/api/prefix.h

try: ## install what is missing, build, and show a small tour
	@tools/deps try
	@$(MAKE) $(JOBS) all
	@tools/try build/pale

test: ## install what is missing, build, and run every test (TESTS=pattern selects)
	@tools/deps test
	@$(MAKE) $(JOBS) run-tests

run-tests: all man $(UNIT_BIN) $(HOST_BIN) $(ASAN_BIN)
	@TESTS='$(TESTS)' tools/runtests unit asan valgrind sim cli live bwrap landlock

check-unit: $(UNIT_BIN) ## unit tests only
check-asan: $(ASAN_BIN) ## unit tests with AddressSanitizer and UBSan
check-valgrind: $(UNIT_BIN) ## unit tests under valgrind
test-vm: ## tests under systemd and cgroup v2, in a virtual machine (TESTS= too)
	@tools/deps build
	@$(MAKE) $(JOBS) all
	@TESTS='$(TESTS)' tools/test-vm
sweep: all $(HOST_BIN) ## tests in full size, some hours (SWEEPS="name ..."; tools/sweep list)
	@tools/sweep $(SWEEPS)
$(CHECKS):
	@TESTS='$(TESTS)' tools/runtests $(@:check-%=%)

lint: ## format, size, layers, banned functions, cppcheck, spelling
	@tools/deps lint && tools/lint

format: ## lay out every C file as .clang-format says
	@clang-format -i $(wildcard include/*.h src/*/*.[ch] tests/*.h tests/*/*.[ch] tests/*/*/*.[ch] tools/*.c bench/*.c examples/*.c)

bench: ## pale against bwrap and bare fork+exec (BENCH_FLAGS=--check to judge)
	@tools/deps bench
	@$(MAKE) $(JOBS) all $(BENCH)
	@for b in bench exec library build broker; do build/bench/$$b $(BENCH_FLAGS) build/pale build/bench/nothing build/bench/least || exit; done && bench/staged $(BENCH_FLAGS) build/pale build/bench/nothing build/bench/least && bench/observe $(BENCH_FLAGS) build/pale && bench/grep $(BENCH_FLAGS) build/pale

build/bench/nothing build/bench/least: bench_cc = $(musl_cc) -static -no-pie $(LINK)
build/bench/%: bench/%.c build/libpale.a Makefile bench/bwrap.h $(FILTERS)
	@mkdir -p $(@D)
	$(call q,CC) $(or $(bench_cc),$(glibc_cc)) -o $@ $(filter %.c %.a,$^)

fuzz: ## run every fuzzer for FUZZ_SECONDS (60)
	@tools/deps fuzz
	@$(MAKE) $(JOBS) $(FUZZ_BIN)
	@tools/runfuzz $(FUZZ_SECONDS) $(FUZZ_BIN)

man: $(MAN) ## manual pages, into build/man
build/man/%: man/%.scd | build/gen/has-man
	@mkdir -p $(@D)
	$(call q,MAN) scdoc <$< >$@
completions: $(COMPLETIONS) ## shell completions, into build/completions
$(COMPLETIONS): build/pale-verbs
	@mkdir -p $(@D)
	$(call q,GEN) build/pale-verbs completions $(or $(patsubst .%,%,$(suffix $@)),zsh) >$@

# FILE MODE PLACE, the place below PREFIX.
INSTALL := build/pale:755:bin/pale build/pale-verbs:755:libexec/pale/pale-verbs \
	build/libpale.so:755:lib/libpale.so.$(VERSION) build/libpale.a:644:lib/libpale.a \
	build/pale.pc:644:lib/pkgconfig/pale.pc include/pale.h:644:include/pale.h \
	build/completions/pale.bash:644:share/bash-completion/completions/pale \
	build/completions/_pale:644:share/zsh/site-functions/_pale \
	build/completions/pale.fish:644:share/fish/vendor_completions.d/pale.fish \
	$(foreach page,$(MAN),$(page):644:share/man/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))

install: all man completions ## into $(DESTDIR)$(PREFIX)
	set -e; IFS=' :'; list='$(INSTALL)'; set -- $$list; while [ $$# -gt 0 ]; do \
		install -Dm$$2 $$([ $$2 = 644 ] || echo -s) "$$1" "$(DESTDIR)$(PREFIX)/$$3"; shift 3; done
	cd "$(DESTDIR)$(PREFIX)" && ln -sf libpale.so.$(VERSION) lib/libpale.so.0 && ln -sf libpale.so.0 lib/libpale.so && ln -sf pale bin/pale-sh

clean: ## remove build/
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 16

-include $(shell find build -name '*.d' 2>/dev/null)
