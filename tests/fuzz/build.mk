# SPDX-License-Identifier: GPL-2.0-only
# build.mk - the fuzzers and what they exercise, built by clang with libFuzzer, ASan and UBSan into build/fuzz. Used by tests/fuzz/run.
# Warnings are the ordinary build's to find, so they are off here.

CLANG    ?= clang
B        := build/fuzz
CPPFLAGS := -D_GNU_SOURCE -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -Ikernel-headers -Ibpf -Iloader -Iuserspace -Ibuild $(shell pkg-config --cflags-only-I libnl-route-3.0 2>/dev/null || echo -I/usr/include/libnl3)
CFLAGS   := -std=gnu11 -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -w
LIBS     := -lsodium -ljansson -lseccomp -lldns -lcrypto -l:libbpf.a -lelf -lz -lnl-route-3 -lnl-3 -lpthread -lm

OBJECTS := $(patsubst %.c,$B/%.o,$(filter-out userspace/main.c,$(wildcard userspace/*.c)) $(wildcard loader/*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,$B/%,$(wildcard tests/fuzz/fuzz_*.c))

all: $(FUZZERS)
.PHONY: all
.DELETE_ON_ERROR:
.SECONDARY:

$B/%.o: %.c
	@mkdir -p $(@D)
	@$(CLANG) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

# An archive, so that a fuzzer takes only what it reaches.
$B/reached.a: $(OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

$B/fuzz_%: tests/fuzz/fuzz_%.c $B/reached.a
	@$(CLANG) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer -MMD -MP $< $B/reached.a $(LIBS) -o $@

-include $(wildcard $B/*.d $B/*/*.d)
