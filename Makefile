# netcordon: build, try, check, install. `make help` lists the targets.
#
# V=1 shows every command. Everything that is made goes to build/. DEBUG=1 builds with ASan and UBSan, into build/debug/.
# PREFIX, DESTDIR and each folder below may be set. As root on a fresh Debian machine `make demo` and `make check` install what they need.

PREFIX     ?= /usr/local
SBINDIR    ?= $(PREFIX)/sbin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DATADIR    ?= $(PREFIX)/share/netcordon
DOCDIR     ?= $(PREFIX)/share/doc/netcordon
DRIVERDIR  ?= $(PREFIX)/lib/netcordon/drivers
CLIENTDIR  ?= $(PREFIX)/lib/netcordon
COMPDIR    ?= $(PREFIX)/share/bash-completion/completions
UNITDIR    ?= $(PREFIX)/lib/systemd/system

CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
B       := build$(if $(DEBUG),/debug)

ifeq ($(V),1)
  Q :=
  say = @:
else
  Q := @
  say = @printf '  %-6s %s\n'
endif

# Another machine's: CC="aarch64-linux-gnu-gcc --sysroot=FOLDER", B=FOLDER, and a PROGRAM that runs here to write the manual (tests/vm/foreign).
TRIPLET  := $(or $(shell $(CC) -print-multiarch 2>/dev/null),$(shell $(CC) -dumpmachine))
SYSROOT  := $(filter-out /,$(shell $(CC) -print-sysroot 2>/dev/null))
ARCH     := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(firstword $(subst -, ,$(TRIPLET)))))
PROGRAM  ?= $B/netcordon
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla
HARDEN   := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
CPPFLAGS += -D_GNU_SOURCE -Ikernel-headers -Ibpf -Iloader -Iuserspace -I$B $(shell pkg-config --cflags-only-I libnl-3.0 2>/dev/null || echo -I/usr/include/libnl3)
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 $(WARN) $(if $(DEBUG),-O1 -fsanitize=address$(comma)undefined -fno-omit-frame-pointer -fno-sanitize-recover -Wno-format-truncation,$(HARDEN))
LDFLAGS  += $(if $(DEBUG),-fsanitize=address$(comma)undefined,-pie -Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now)
comma    := ,

# Static archives: a launch is a process start, and loading a dozen shared libraries costs more than everything else that it does.
# The supervisor is wholly static: nothing is looked up when it starts. It stays position independent (18 page faults of 64; a fixed address would save them,
# and cost what address randomization is there for). SHARED=1 links against the shared libraries, as a distribution would.
KERNEL_LIBS := bpf elf z nl-route-3 nl-3
USER_LIBS   := sodium jansson seccomp ldns crypto
archive      = $(if $(SHARED),-l$(1),-l:lib$(1).a)
STATIC      := $(if $(SHARED)$(DEBUG),,-static-pie -Wl$(comma)-z$(comma)pack-relative-relocs)
SUPERVISOR   = $(if $(STATIC),$(filter-out -pie,$(LDFLAGS)) $(STATIC),$(LDFLAGS))
DNS_LIBS     = $(call archive,ldns) $(call archive,crypto)
LIBS        := $(foreach l,$(KERNEL_LIBS) $(USER_LIBS),$(call archive,$l)) -lpthread -lm

LOADER    := $(patsubst %.c,$B/%.o,$(wildcard loader/*.c))
USERSPACE := $(patsubst %.c,$B/%.o,$(filter-out userspace/main.c userspace/no_lookup.c userspace/edge_program.c,$(wildcard userspace/*.c)))
BPF_DEPS  := $(wildcard bpf/*.h bpf/*.bpf.c kernel-headers/*.h)
UNIT      := $(patsubst tests/unit/%.c,$B/tests/unit/%,$(wildcard tests/unit/test_*.c))
PACKET    := $(patsubst tests/packet/%.c,$B/tests/packet/%,$(wildcard tests/packet/test_*.c))
ATTEMPT   := $(wildcard tests/native/attempt*.c)
CLIENT    := $B/tests/native/attempt
TOOLS     := $(patsubst tests/native/%.c,$B/tests/native/%,$(filter-out $(ATTEMPT),$(wildcard tests/native/*.c))) $(CLIENT)
FUZZERS   := $(patsubst tests/fuzz/%.c,$B/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

DRIVERS := none guard run attach nftables proxy
all: $B/netcordon $B/libnetcordon.a $B/netcordon.8 $B/netcordon.bash $(DRIVERS:%=$B/drivers/%) $(CLIENT) ## build the program, the library, the matrix's drivers and its client
.PHONY: all deps demo check check-unit check-packet check-native check-vm vm-shell deb deb-both conform twice mutants fuzz bench soak install uninstall clean help format
.DELETE_ON_ERROR:
.SECONDARY:

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16

# ---- the kernel's side: one object, loaded everywhere (CO-RE), and its skeleton ------------------------------------------------------------

# The kernel ABI headers include asm/types.h, which a distribution keeps in a folder of the host architecture.
BPF_CFLAGS := -idirafter $(SYSROOT)/usr/include/$(TRIPLET) -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_$(ARCH) -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -Ikernel-headers -Ibpf

$B/netcordon.bpf.o: bpf/netcordon.bpf.c $(BPF_DEPS)
	$(say) BPF $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@.full
	$(Q)$(BPFTOOL) gen object $@ $@.full

$B/netcordon.skel.h: $B/netcordon.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name netcordon_bpf > $@

# What the programs are: the object and the tables that user space shares with it. It names the folder of the pins.
$B/manifest.h: $B/netcordon.bpf.o bpf/address.h $(wildcard loader/closure*.c)
	$(say) HASH $@
	$(Q)printf '/* made by the Makefile */\n#define NC_MANIFEST "%s"\n' "$$(cat $^ | sha256sum | cut -c1-64)" > $@

# ---- user space ------------------------------------------------------------------------------------------------------------------------------

$B/%.o: %.c | $B/netcordon.skel.h $B/manifest.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Two programs: the DNS library and what it draws in are in the edge alone, so that they cost a launch nothing and the supervisor cannot reach them.
MAIN := $B/userspace/main.o $(if $(STATIC),$B/userspace/no_lookup.o)
$B/netcordon: $(MAIN) $B/parts.a $B/netcordon-edge
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SUPERVISOR) $(filter-out $B/netcordon-edge,$^) $(filter-out $(DNS_LIBS),$(LIBS)) -o $@

$B/netcordon-edge: $B/userspace/edge_program.o $B/parts.a
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# The supervisor linked dynamically: for what is preloaded into it (tests/soak). Never installed.
$B/netcordon-dynamic: $B/userspace/main.o $B/parts.a | $B/netcordon-edge
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(filter-out $(DNS_LIBS),$(LIBS)) -o $@
	$(Q)cp $B/netcordon-edge $@-edge

# What a Runner links: library.c and whatever it needs of the rest, which is neither BPF nor netlink. One object, of which only nc_library_* is visible.
$B/libnetcordon.a: $B/userspace/library.o $B/parts.a
	$(say) AR $@
	$(Q)$$($(CC) -print-prog-name=ld) -r -o $B/libnetcordon.o $^
	$(Q)$$($(CC) -print-prog-name=objcopy) --wildcard --keep-global-symbol='nc_library_*' $B/libnetcordon.o
	$(Q)rm -f $@ && $(AR) rcs $@ $B/libnetcordon.o

# Made anew each time: what stands in it are folders that the command line chooses.
$B/netcordon.pc: userspace/netcordon.pc.in FORCE
	$(Q)mkdir -p $(@D)
	$(Q)version=$$(sed -n 's/^#define NC_VERSION "\(.*\)"/\1/p' userspace/revision.h); \
		sed "s|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$$version|" $< >$@
.PHONY: FORCE

# Provider drivers of the conformance matrix: programs of their own (docs/drivers.md).
DRIVER_SHARED := $B/drivers/verbs.o $(addprefix $B/userspace/,plain.o spawn.o driver.o json_read.o json_canonical.o json_memory.o place.o text.o) $B/loader/error.o
$B/drivers/guard: $B/drivers/guard_proxy.o
$B/drivers/run $B/drivers/attach: $B/drivers/netcordon.o
$B/drivers/%: $B/drivers/%.o $(DRIVER_SHARED)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(call archive,jansson) -o $@

# The program that the matrix starts for its mutants: the same but for the object, whose checks can be switched off. Never installed.
$B/mutant/netcordon.bpf.o: bpf/netcordon.bpf.c $(BPF_DEPS)
	$(say) BPF $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -DNC_MUTANTS -c $< -o $@.full
	$(Q)$(BPFTOOL) gen object $@ $@.full

# The same, with maps that programs may write: a map's flags are fixed when the object is made.
$B/mutant/writable.bpf.o: bpf/netcordon.bpf.c $(BPF_DEPS)
	$(say) BPF $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -DNC_MUTANTS -DNC_MUTANT_WRITABLE -c $< -o $@.full
	$(Q)$(BPFTOOL) gen object $@ $@.full

$B/mutant/%.o: %.c $B/netcordon.skel.h $B/manifest.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -DNC_MUTANTS -MMD -MP -c $< -o $@

# Its manifest is its own, so that what it installs is never taken for what netcordon installs.
$B/mutant/manifest.h: $B/mutant/netcordon.bpf.o bpf/address.h $(wildcard loader/closure*.c)
	$(say) HASH $@
	$(Q)printf '/* made by the Makefile */\n#define NC_MANIFEST "%s"\n' "$$(cat $^ | sha256sum | cut -c1-64)" > $@

$B/mutant/userspace/revision.o: userspace/revision.c $B/mutant/manifest.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -I$B/mutant $(CPPFLAGS) $(CFLAGS) -DNC_MUTANTS -c $< -o $@

# Every file that asks NC_MUTANT_OFF, and the two that hold what the program is.
WITH_SWITCHES := userspace/invocation.o userspace/revision.o $(patsubst %.c,%.o,$(shell grep -lw NC_MUTANT_OFF userspace/*.c))
$B/mutant/netcordon: $B/mutant/mutants/options.o $(WITH_SWITCHES:%=$B/mutant/%) $B/userspace/main.o $(filter-out $(WITH_SWITCHES:%=$B/%),$(USERSPACE)) $(LOADER) | $B/mutant/netcordon.bpf.o $B/mutant/writable.bpf.o $B/netcordon-edge
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@
	$(Q)cp $B/netcordon-edge $@-edge

# The program in which one call can be made to fail (tests/faults/faults.c). Never installed.
FAULT_CALLS := $(shell tests/faults/calls) execvp
$B/tests/faults/faults.o: CFLAGS += -fno-builtin -U_FORTIFY_SOURCE
$B/netcordon-faults: $B/tests/faults/faults.o $(MAIN) $B/parts.a | $B/netcordon-edge
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SUPERVISOR) $(FAULT_CALLS:%=-Wl,--wrap=%) $^ $(filter-out $(DNS_LIBS),$(LIBS)) -o $@
	$(Q)cp $B/netcordon-edge $@-edge

# The same program under another manifest: what an upgrade finds installed. Never installed.
$B/other/manifest.h: $B/manifest.h
	@mkdir -p $(@D)
	$(Q)sed 's/"[0-9a-f]\{12\}/"0123456789ab/' $< >$@

$B/other/revision.o: userspace/revision.c $B/other/manifest.h
	$(say) CC $@
	$(Q)$(CC) -I$B/other $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$B/other/netcordon: $B/userspace/main.o $B/other/revision.o $(filter-out $B/userspace/revision.o,$(USERSPACE)) $(LOADER) | $B/netcordon-edge
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@
	$(Q)cp $B/netcordon-edge $@-edge

# And with an object inside whose checks can be switched off, as a release that was built wrongly would be: it must refuse itself. Never installed.
$B/wrong/netcordon.skel.h: $B/mutant/netcordon.bpf.o
	$(say) SKEL $@
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name netcordon_bpf > $@

$B/wrong/object.o: loader/object.c $B/wrong/netcordon.skel.h
	$(say) CC $@
	$(Q)$(CC) -I$B/wrong $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$B/wrong/netcordon: $B/wrong/object.o $(MAIN) $(USERSPACE) $(filter-out $B/loader/object.o,$(LOADER)) | $B/netcordon-edge
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@
	$(Q)cp $B/netcordon-edge $@-edge

# ---- tests --------------------------------------------------------------------------------------------------------------------------------------

# Everything but main.c, so that a test links only what it calls.
$B/parts.a: $(USERSPACE) $(LOADER)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$B/tests/unit/%: $B/tests/unit/%.o $B/parts.a
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -lcmocka -o $@

$B/tests/packet/%: $B/tests/packet/%.o $B/parts.a
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -lcmocka -o $@

# Programs of packet tests' own, loaded from beside them.
$B/tests/packet/%.bpf.o: tests/packet/%.bpf.c $(BPF_DEPS)
	$(say) BPF $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@
$B/tests/packet/test_server_name_run: | $B/tests/packet/reads_name.bpf.o
$B/tests/packet/test_pages_run: | $B/tests/packet/sees_pages.bpf.o

# The tools that the native ring runs inside and outside the cordon: no part of the product in them. One of them is made of several files; it is the matrix's
# hostile client too, and installed for that.
$(CLIENT): $(ATTEMPT) tests/native/attempt.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -g $(WARN) $(ATTEMPT) -o $@ -lutil

# One that puts on the filter which is shipped, and nothing else of the product.
$B/tests/native/filtered: tests/native/filtered.c $B/parts.a
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $< $B/parts.a $(LDFLAGS) $(LIBS) -o $@

$B/tests/native/%: tests/native/%.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -g $(WARN) -MMD -MP $< -o $@ -lpthread

deps: ## install the packages that building and testing need (Debian, as root)
	$(Q)tests/deps

demo: deps ## see it work: an isolated network, real workloads, a table, verified evidence
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo/demo $B/netcordon

check: deps ## unit, packet and native rings; ends with `N passed, N failed`
	$(Q)tests/check unit packet native

check-unit check-packet check-native: check-%:
	$(Q)tests/check $*

# The same tests on every kernel that netcordon claims, in virtual machines (tests/vm/kernels.list, tests/vm/runs.list).
check-vm: deps ## the native ring on stock kernels in virtual machines: KERNELS="6.1" VM_RUNS=LINE VM_TESTS=PATTERN select
	$(Q)$(MAKE) --no-print-directory all tools-built
	$(Q)tests/vm/run

KERNEL ?= 6.1
vm-shell: ## a shell in a virtual machine: KERNEL=6.1
	$(Q)tests/vm/shell $(KERNEL)

$B/tests/vm/%: tests/vm/%.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -g $(WARN) -MMD -MP $< -o $@ $(foreach l,bpf elf z,$(call archive,$l))

unit-built: $(UNIT)
packet-built: $(PACKET)
tools-built: $(TOOLS) $B/netcordon-dynamic $B/tests/soak/shift.so $B/mutant/netcordon $B/netcordon-faults $B/other/netcordon $B/wrong/netcordon
tests-built: all unit-built packet-built tools-built
.PHONY: tests-built unit-built packet-built tools-built

$B/tests/bench/%.bpf.o: tests/bench/%.bpf.c tests/bench/empty.bpf.c
	$(say) BPF $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# What each of them is linked with; the others with nothing.
$B/tests/bench/empty_hooks $B/tests/bench/fill_maps: BENCH_LIBS := $(foreach l,bpf elf z,$(call archive,$l))
$B/tests/bench/sign_cost: BENCH_LIBS := $(call archive,sodium)
$B/tests/bench/%: tests/bench/%.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -g $(WARN) -Ikernel-headers -MMD -MP $< -o $@ $(BENCH_LIBS)

MINUTES ?= 10
$B/tests/soak/%.so: tests/soak/%.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -g $(WARN) -fPIC -shared $< -o $@ -ldl

soak: deps ## MINUTES=10 of launches, updates, kills, floods, full disks and stepped clocks at once; ends with what must be zero
	$(Q)$(MAKE) --no-print-directory all tools-built
	$(Q)tests/soak/soak $B $(MINUTES)

BENCH := $(addprefix $B/tests/bench/,call_cost launch_cost hook_cost named_cost empty_hooks fill_maps sign_cost empty.bpf.o lookup.bpf.o)
bench: deps ## what calls, packets, launches, names and crowds cost, beside nothing, empty hooks, nftables, a proxy, other sandboxes: $B/bench/report.md
	$(Q)tests/deps bench
	$(Q)$(MAKE) --no-print-directory all $(BENCH)
	$(Q)tests/bench/bench $B

# CONFORM passes options on: CONFORM="--fact default_deny".
conform: deps ## the whole conformance matrix on `run`, with mutants; CONFORM="--fact FACT" selects, DRIVER=attach another provider
	$(Q)$(MAKE) --no-print-directory all tools-built
	$(Q)tests/conform $(or $(DRIVER),run) $(CONFORM)

twice: deps ## the same matrix two times, compared case by case; DRIVER and CONFORM as for conform
	$(Q)$(MAKE) --no-print-directory all tools-built
	$(Q)tests/twice $(or $(DRIVER),run) $(CONFORM)

mutants: deps ## for every check a case that turns red when it is switched off
	$(Q)$(MAKE) --no-print-directory all tools-built
	$(Q)tests/mutants

FUZZ_SECONDS ?= 60
fuzz: ## every fuzzer for FUZZ_SECONDS (60)
	$(Q)tests/fuzz/run $(FUZZ_SECONDS)

format: ## clang-format everything
	$(Q)clang-format -i $(wildcard */*.[ch] tests/*/*.[ch])

# ---- install ------------------------------------------------------------------------------------------------------------------------------------

# The manual's tables and the completion are printed by the program that they describe.
$B/netcordon.8: docs/netcordon.8.in $B/netcordon
	$(say) MAN $@
	$(Q)while IFS= read -r line; do \
		case $$line in \
		'.\" table: '*) $(PROGRAM) help --roff "$${line##*: }" || exit 1 ;; \
		*) printf '%s\n' "$$line" ;; \
		esac; \
	done <$< >$@

$B/netcordon.bash: $B/netcordon
	$(say) COMPL $@
	$(Q)$(PROGRAM) help --completion >$@

$B/capability-%.json: $B/netcordon
	$(Q)$(PROGRAM) admit --capability $* --print >$@

# Made anew each time, as netcordon.pc is.
$B/netcordon-host.service: system/netcordon-host.service FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed 's|@SBINDIR@|$(SBINDIR)|' $< >$@

$B/hooks.d.json: examples/hooks.d.json.in FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed 's|@SBINDIR@|$(SBINDIR)|' $< >$@

# In DOCDIR, at the place that they have here, so that the links between them lead somewhere.
DOCS := README.md $(wildcard LICENSES/*.txt docs/*.md docs/schema/*.json docs/performance/*.svg) examples/netcordon.conf examples/allowlist.json examples/verify.c
DOCS_EXECUTABLE := $(wildcard docs/examples/* examples/runner.*)

# source:installed:mode
INSTALLED = \
	$B/netcordon:$(SBINDIR)/netcordon:755 \
	$B/netcordon-edge:$(SBINDIR)/netcordon-edge:755 \
	$B/netcordon.8:$(MANDIR)/man8/netcordon.8:644 \
	$B/netcordon.bash:$(COMPDIR)/netcordon:644 \
	$(foreach p,run attach oci-hook,$B/capability-$p.json:$(DATADIR)/capability/$p.json:644) \
	$(foreach f,$(notdir $(wildcard docs/schema/*.json)),docs/schema/$f:$(DATADIR)/schema/$f:644) \
	$B/libnetcordon.a:$(LIBDIR)/libnetcordon.a:644 \
	userspace/netcordon.h:$(INCLUDEDIR)/netcordon.h:644 \
	$B/netcordon.pc:$(LIBDIR)/pkgconfig/netcordon.pc:644 \
	$(foreach d,$(DRIVERS),$B/drivers/$d:$(DRIVERDIR)/$d:755) \
	$(CLIENT):$(CLIENTDIR)/attempt:755 \
	$B/netcordon-host.service:$(UNITDIR)/netcordon-host.service:644 \
	system/netcordon.slice:$(UNITDIR)/netcordon.slice:644 \
	$(foreach f,$(DOCS),$f:$(DOCDIR)/$f:644) \
	$(foreach f,$(DOCS_EXECUTABLE),$f:$(DOCDIR)/$f:755) \
	$B/hooks.d.json:$(DOCDIR)/examples/hooks.d.json:644

install: $(foreach row,$(INSTALLED),$(firstword $(subst :, ,$(row)))) ## install below PREFIX (/usr/local); DESTDIR is put before it
	$(Q)set -e; for row in $(INSTALLED); do \
		rest=$${row#*:}; \
		install -D -m "$${rest##*:}" "$${row%%:*}" "$(DESTDIR)$${rest%:*}"; \
	done

uninstall: ## remove what install put there, and the folders that are netcordon's alone
	$(Q)for row in $(INSTALLED); do \
		rest=$${row#*:}; \
		rm -f "$(DESTDIR)$${rest%:*}"; \
	done
	$(Q)for folder in $(DRIVERDIR) $(CLIENTDIR) $(dir $(DRIVERDIR)) $(DATADIR)/capability $(DATADIR)/schema $(DATADIR) \
		$(addprefix $(DOCDIR)/,docs/performance docs/schema docs/examples docs examples LICENSES) $(DOCDIR); do \
		[ ! -d "$(DESTDIR)$$folder" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$folder"; \
	done

deb: ## Debian packages into build/deb/, built from a copy of what is committed, without a network; checked by lintian
	$(Q)system/build-deb

# And another build of it, which an upgrade is tried with.
deb-both:
	$(Q)system/build-deb build/deb build/deb-next

clean: ## remove build/
	$(Q)rm -rf build

-include $(shell find $B -name '*.d' 2>/dev/null)
