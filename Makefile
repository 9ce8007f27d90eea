# stint: one non-recursive Makefile.
#
#   sudo make demo      installs what is missing, builds, runs the whole loop on an example
#   sudo make check     installs what is missing, builds, runs every test
#   make static         $(BUILD)/static/stint-guard, one file for any Linux
#   make fuzz           every parser under libFuzzer, for FUZZ_SECONDS each
#   sudo make faults    every system call of a run fails once, and kills its caller once; what each came to is in $(BUILD)/log/faults
#
# BUILD names the tree of a build; SAN=1 builds with ASan and UBSan, FUZZ=1 (with clang) for the fuzz targets as well.

prefix      ?= /usr/local
bindir      ?= $(prefix)/bin
libexecdir  ?= $(prefix)/libexec/stint
datadir     ?= $(prefix)/share/stint
mandir      ?= $(prefix)/share/man
libdir      ?= $(prefix)/lib
includedir  ?= $(prefix)/include
DESTDIR     ?=
LDCONFIG    ?= ldconfig
BUILD       ?= build
CC          ?= cc
VERSION     := 0.1.0

# ---------------------------------------------------------------------- what is missing
DEPS_BUILD := gcc make pkg-config libc6-dev linux-libc-dev libacl1-dev libseccomp-dev libcmark-dev \
              libgit2-dev libyaml-dev libjansson-dev libpcre2-dev libssl-dev ca-certificates
DEPS_CHECK := clang libclang-rt-dev libcmocka-dev acl git python3 shellcheck cppcheck universal-ctags procps sqlite3 busybox-static
# What tests/daily/ runs in the guard.
DEPS_WORK  := node:nodejs npm:npm java:openjdk-17-jdk-headless javac:openjdk-17-jdk-headless go:golang-go cargo:cargo gcc cmake \
              ninja-build ccache gdb strace python3-venv sqlite3 tmux
DEPS_DEMO  := git acl

Q := $(if $(V),,@)
WARN := -Wall -Wextra -Wshadow -Wconversion -Wformat=2 -Wvla -Wswitch-enum -Wstrict-prototypes -Wmissing-prototypes
WERROR ?=
HARDEN := -fstack-protector-strong -fPIE -D_FORTIFY_SOURCE=2
LDHARDEN := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
OPT    := -O2 -g
ifeq ($(SAN),1)
OPT    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HARDEN := -fPIE
LDHARDEN := -pie -fsanitize=address,undefined
endif
ifeq ($(FUZZ),1)
OPT    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HARDEN := -fPIE
LDHARDEN := -pie -fsanitize=address,undefined
endif
CPPFLAGS += -D_GNU_SOURCE -DSTINT_VERSION='"$(VERSION)"' -I. -I$(BUILD)/gen
CFLAGS   += -std=gnu11 $(OPT) $(WARN) $(WERROR) $(HARDEN) -MMD -MP
LDFLAGS  += $(LDHARDEN)

# ---------------------------------------------------------------------- who is made of what
BASE   := base/err.c base/fd.c base/str.c base/log.c
WIRE   := protocol/frames.c protocol/policy.c roles/role.c roles/path.c
# Root code: everything the warden links. libc only: ACLs are handled raw, so that they come back byte for byte.
WARDEN := $(BASE) $(WIRE) sandbox/warden_main.c sandbox/warden_loop.c sandbox/prove.c \
          sandbox/users.c sandbox/zones.c sandbox/acl.c sandbox/inode.c sandbox/xattr.c sandbox/walk.c \
          sandbox/links.c sandbox/linked.c sandbox/ids.c sandbox/changes.c sandbox/flip.c sandbox/reclaim.c sandbox/compare.c \
          sandbox/snapshot.c sandbox/journal.c \
          sandbox/restore.c sandbox/start.c sandbox/sweep.c sandbox/tree.c \
          sandbox/spawn.c sandbox/view.c sandbox/newroot.c sandbox/place.c sandbox/mnt.c sandbox/cover.c sandbox/turn_dirs.c \
          sandbox/command.c sandbox/init.c sandbox/agent_side.c sandbox/identity.c sandbox/cgroup.c sandbox/killall.c
# Between a command and whoever wants its whole tree ended.
KEEPER := sandbox/keeper.c sandbox/descendants.c sandbox/cgroup.c
# Was a profile tried here?
CHECKED := sandbox/checked.c sandbox/guard_checked.c
# The guard: libc only.
GUARD  := $(BASE) sandbox/guard_main.c sandbox/guard_options.c sandbox/guard_prompt.c sandbox/guard_confine.c \
          sandbox/guard_env.c sandbox/guard_tmp.c sandbox/guard_sweep.c sandbox/guard_summary.c sandbox/guard_policy.c \
          sandbox/guard_compile.c $(CHECKED) sandbox/landlock.c sandbox/seccomp.c sandbox/probe.c $(KEEPER) sandbox/guard_keep.c
# The confinement and what it takes.
CONFINE := sandbox/guard_confine.c $(CHECKED) sandbox/guard_env.c sandbox/guard_tmp.c sandbox/guard_sweep.c sandbox/landlock.c \
           sandbox/seccomp.c
# Profiles and what compiles them: with libseccomp, so not the guard.
PROFILE := sandbox/profile.c sandbox/profile_arch.c sandbox/profile_sets.c sandbox/profiles.c sandbox/sets.c
# libstint: what the guard confines with, for programs; libc only.
LIB    := $(filter-out base/log.c,$(BASE)) $(sort $(wildcard sandbox/stint_*.c)) $(CONFINE)
FRONT  := $(BASE) orchestrator/front_main.c
# Everything that parses.
COORD  := $(BASE) $(WIRE) $(filter-out orchestrator/front_main.c,$(wildcard orchestrator/*.c)) \
          $(wildcard roles/*.c) $(filter-out $(WIRE),$(wildcard protocol/*.c)) sandbox/landlock.c sandbox/mnt.c $(PROFILE) \
          $(KEEPER) sandbox/guard_options.c $(CONFINE) # the supervisor reads the guard's command line
COORD  := $(sort $(COORD))
PROGRAMS := stint stint-coordinator stint-warden stint-guard

pc = $(shell pkg-config $(1) 2>/dev/null)
COORD_CFLAGS := $(call pc,--cflags libgit2 yaml-0.1 jansson libcmark libpcre2-8 libcrypto)
COORD_LIBS   := $(call pc,--libs libgit2 yaml-0.1 jansson libcmark libseccomp libpcre2-8 libcrypto)

objs = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

# What `stint profile check` runs: found beside the programs, installed or not.
CORPUS := $(wildcard sandbox/corpus/*.yaml)
CORPUS_BUILT := $(patsubst sandbox/%,$(BUILD)/share/stint/%,$(CORPUS))

all: $(addprefix $(BUILD)/bin/,$(PROGRAMS)) $(BUILD)/lib/libstint.so $(CORPUS_BUILT)

$(CORPUS_BUILT): $(BUILD)/share/stint/%: sandbox/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(BUILD)/obj/orchestrator/%.o $(BUILD)/obj/protocol/%.o: CPPFLAGS += $(COORD_CFLAGS)
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC  $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# What .incbin takes in (base/embed.h) is no header: make is told by name.
$(BUILD)/obj/roles/prompts.o: $(wildcard roles/prompts/*.md)
$(BUILD)/obj/orchestrator/templates.o: $(wildcard orchestrator/templates/*/*)

# What stands before every confined command starts faster without a dynamic loader (half a millisecond). They use nothing of libc that
# loads a library later (no name service). Where there is no static libc they are linked as the others.
STATIC ?= $(if $(SAN)$(FUZZ),,$(shell echo 'int main(void){return 0;}' | $(CC) -static-pie -fPIE -x c -o /dev/null - 2>/dev/null && echo -static-pie))
$(BUILD)/bin/stint $(BUILD)/bin/stint-guard: LDFLAGS := $(if $(STATIC),$(filter-out -pie,$(LDFLAGS)) $(STATIC),$(LDFLAGS))
GUARD_OBJ := $(call objs,$(GUARD)) $(BUILD)/obj/gen/filter_data.o
$(BUILD)/bin/stint: $(call objs,$(FRONT)) Makefile
$(BUILD)/bin/stint-guard: $(GUARD_OBJ) Makefile
$(BUILD)/bin/stint-warden: $(call objs,$(WARDEN))
$(BUILD)/bin/stint-coordinator: LDLIBS += $(COORD_LIBS)
$(BUILD)/bin/stint-coordinator: $(call objs,$(COORD)) $(BUILD)/obj/gen/filter_data.o
$(addprefix $(BUILD)/bin/,$(PROGRAMS)):
	@mkdir -p $(@D)
	@echo "  LD  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LDLIBS)

# The guard as one file for machines that have nothing of stint: static, or the link fails. Without the coordinator beside it, it
# takes the built-in profiles and those compiled before, but no YAML.
$(BUILD)/static/stint-guard: LDFLAGS := $(filter-out -pie,$(LDFLAGS)) $(or $(STATIC),-static)
$(BUILD)/static/stint-guard: $(GUARD_OBJ) Makefile
	@mkdir -p $(@D)
	@echo "  LD  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^)
static: $(BUILD)/static/stint-guard

# Position-independent objects of their own: the programs' are for executables. What is not in stint.map is not exported.
LIB_OBJ := $(patsubst %.c,$(BUILD)/pic/%.o,$(LIB) gen/filter_data.c)
$(BUILD)/obj/sandbox/stint_start.o $(BUILD)/pic/sandbox/stint_start.o: CPPFLAGS += -DSTINT_LIBEXECDIR='"$(libexecdir)"'
$(BUILD)/pic/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC  $< (library)"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -c -o $@ $<
$(BUILD)/pic/gen/filter_data.o: $(BUILD)/gen/filter_data.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -c -o $@ $<
$(BUILD)/lib/libstint.so.$(VERSION): $(LIB_OBJ) sandbox/stint.map Makefile
	@mkdir -p $(@D)
	@echo "  LD  $@"
	$(Q)$(CC) $(CFLAGS) -fPIC $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,libstint.so.0 -Wl,--version-script=sandbox/stint.map \
		-o $@ $(filter %.o,$^)
$(BUILD)/lib/libstint.so: $(BUILD)/lib/libstint.so.$(VERSION)
	$(Q)ln -sf $(<F) $(@D)/libstint.so.0 && ln -sf libstint.so.0 $@

# The built-in profiles are compiled once, here, from the tables in sandbox/sets.c and profiles.c; the guard only loads them.
$(BUILD)/gen_filter: $(call objs,sandbox/gen_filter.c $(PROFILE) $(BASE))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) -lseccomp
$(BUILD)/gen/filter_data.c: $(BUILD)/gen_filter
	@mkdir -p $(@D)
	$(Q)$(BUILD)/gen_filter > $@.new && mv $@.new $@
$(BUILD)/obj/gen/filter_data.o: $(BUILD)/gen/filter_data.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# ---------------------------------------------------------------------- tests
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT     := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(UNIT_SRC))
TEST_OBJ := $(call objs,$(filter-out %_main.c orchestrator/main.c,$(sort $(WARDEN) $(GUARD) $(COORD) $(LIB)))) $(BUILD)/obj/gen/filter_data.o
HELPERS_SRC := $(wildcard tests/attack/*.c tests/e2e/*.c tests/faults/*.c tests/kernels/*.c) tests/bench/getpid.c
HELPERS  := $(patsubst tests/%.c,$(BUILD)/tests/%,$(HELPERS_SRC))

$(BUILD)/obj/tests/unit/%.o: CPPFLAGS += $(COORD_CFLAGS)
# An archive, so that a test links what it uses.
$(BUILD)/tests/all.a: $(TEST_OBJ)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^
$(BUILD)/tests/test_%: $(BUILD)/obj/tests/unit/test_%.o $(BUILD)/tests/all.a
	@echo "  LD  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -lacl $(COORD_LIBS)
$(HELPERS): $(BUILD)/tests/%: tests/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -I. -std=gnu11 -O1 -g -Wall -Wextra -MMD -MP -pthread -o $@ $<

$(BUILD)/tests/bench/cycle: $(BUILD)/obj/tests/bench/cycle.o $(BUILD)/tests/all.a
	@mkdir -p $(@D)
	@echo "  LD  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(COORD_LIBS)

tests-built: all $(UNIT) $(HELPERS) $(BUILD)/tests/bench/cycle

# Fuzz targets: with FUZZ=1 CC=clang and a BUILD of their own, of the files that they can reach.
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN  := $(patsubst tests/fuzz/%.c,$(BUILD)/bin/%,$(FUZZ_SRC))
FUZZ_PART := $(BASE) $(WIRE) $(filter protocol/% roles/% orchestrator/agent% orchestrator/config% orchestrator/compile% \
             orchestrator/git_guard.c orchestrator/verdict% orchestrator/view% orchestrator/show.c orchestrator/report.c orchestrator/scorer% \
             orchestrator/cmd.c orchestrator/cmd_status.c orchestrator/cmd_log.c orchestrator/cmd_view.c,$(COORD)) \
             sandbox/zones.c sandbox/command.c \
             $(PROFILE) $(filter orchestrator/profile_%,$(COORD)) $(filter-out %_main.c,$(GUARD))
$(BUILD)/obj/tests/fuzz/%.o: CPPFLAGS += $(COORD_CFLAGS)
$(BUILD)/fuzz.a: $(call objs,$(sort $(FUZZ_PART))) $(BUILD)/obj/gen/filter_data.o
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^
$(FUZZ_BIN): $(BUILD)/bin/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/fuzz.a
	@mkdir -p $(@D)
	@echo "  LD  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(COORD_LIBS)
fuzz-built: $(FUZZ_BIN)

# ---------------------------------------------------------------------- what people call
deps-build:
	@tests/deps $(DEPS_BUILD)
deps-check:
	@tests/deps $(DEPS_BUILD) $(DEPS_CHECK)
# One call: apt takes them together.
deps-check-work:
	@tests/deps $(DEPS_BUILD) $(DEPS_CHECK) $(DEPS_WORK)
deps-demo:
	@tests/deps $(DEPS_BUILD) $(DEPS_DEMO)

# A second make, because pkg-config answers only after its packages are there.
demo: deps-demo
	@$(MAKE) --no-print-directory -s all
	@examples/hands-off/demo $(CURDIR)/$(BUILD)/bin

check: deps-check-work
	@$(MAKE) --no-print-directory -s lint check-layers WERROR=-Werror
	@$(MAKE) --no-print-directory -s tests-built WERROR=-Werror
	@$(MAKE) --no-print-directory -s tests-built SAN=1 BUILD=$(BUILD)/san WERROR=-Werror
	@$(MAKE) --no-print-directory -s fuzz-built FUZZ=1 CC=clang BUILD=$(BUILD)/fuzz WERROR=-Werror
	@BUILD=$(BUILD) tests/run

check-agents: deps-check
	@$(MAKE) --no-print-directory -s all
	@BUILD=$(BUILD) tests/agents/run

# Each parser under libFuzzer, FUZZ_SECONDS each. What it finds stands in $(BUILD)/fuzz/found/.
FUZZ_SECONDS ?= 1800
exact: deps-check tests-built
	@STINT_BIN=$(CURDIR)/$(BUILD)/bin tests/exact/run.sh $${TREES:-100} $${TURNS:-10} 0

# Hours. FAULTS='--sample 40 --seed 7': at most so many cases of each program's each kind of call; more in tests/faults/.
faults: deps-check
	@$(MAKE) --no-print-directory -s tests-built
	@mkdir -p $(BUILD)/log
	@BUILD=$(BUILD) tests/faults/run.sh --log $(CURDIR)/$(BUILD)/log/faults $(FAULTS)

fuzz: deps-check
	@$(MAKE) --no-print-directory -s fuzz-built FUZZ=1 CC=clang BUILD=$(BUILD)/fuzz
	@BUILD=$(BUILD) tests/fuzz/run --keep --seconds $(FUZZ_SECONDS)

check-layers:
	@BUILD=$(BUILD) tests/check-layers

lint:
	@$(MAKE) --no-print-directory -s all CC=clang BUILD=$(BUILD)/clang WERROR=-Werror
	@tests/lint

bench: all $(BUILD)/tests/bench/cycle $(BUILD)/tests/bench/getpid
	@BUILD=$(BUILD) tests/bench/run

LIB_FILES := libstint.so libstint.so.0 libstint.so.$(VERSION)
MADE_DIRS := $(bindir) $(libexecdir) $(mandir)/man1 $(mandir)/man5 $(datadir)/python $(libdir)/pkgconfig $(includedir)
install: all
	install -d $(addprefix $(DESTDIR),$(MADE_DIRS))
	install -m 755 $(BUILD)/bin/stint $(DESTDIR)$(bindir)/stint
	install -m 755 $(addprefix $(BUILD)/bin/,stint-coordinator stint-warden stint-guard) $(DESTDIR)$(libexecdir)/
	install -m 644 $(BUILD)/lib/libstint.so.$(VERSION) $(DESTDIR)$(libdir)/
	ln -sf libstint.so.$(VERSION) $(DESTDIR)$(libdir)/libstint.so.0
	ln -sf libstint.so.0 $(DESTDIR)$(libdir)/libstint.so
	install -m 644 sandbox/stint.h $(DESTDIR)$(includedir)/stint.h
	sed -e 's,@prefix@,$(prefix),; s,@libdir@,$(libdir),; s,@includedir@,$(includedir),; s,@version@,$(VERSION),' sandbox/stint.pc.in \
		>$(DESTDIR)$(libdir)/pkgconfig/stint.pc
	install -m 644 sandbox/python/stint.py orchestrator/python/stint_adapter.py $(DESTDIR)$(datadir)/python/
	cp -R examples $(DESTDIR)$(datadir)/
	install -d $(DESTDIR)$(datadir)/corpus
	install -m 644 $(CORPUS) $(DESTDIR)$(datadir)/corpus/
	for m in $(wildcard man/*.1); do install -m 644 $$m $(DESTDIR)$(mandir)/man1/; done
	for m in $(wildcard man/*.5); do install -m 644 $$m $(DESTDIR)$(mandir)/man5/; done
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || $(LDCONFIG)

uninstall:
	rm -f $(DESTDIR)$(bindir)/stint $(addprefix $(DESTDIR)$(libexecdir)/,stint-coordinator stint-warden stint-guard)
	rm -f $(addprefix $(DESTDIR)$(mandir)/man1/,$(notdir $(wildcard man/*.1))) $(addprefix $(DESTDIR)$(mandir)/man5/,$(notdir $(wildcard man/*.5)))
	rm -f $(addprefix $(DESTDIR)$(libdir)/,$(LIB_FILES) pkgconfig/stint.pc) $(DESTDIR)$(includedir)/stint.h
	rm -rf $(DESTDIR)$(datadir)
	-rmdir $(DESTDIR)$(libexecdir)

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: exact static all demo check check-agents faults fuzz fuzz-built check-layers lint bench install uninstall clean tests-built deps-build deps-check deps-check-work deps-demo
.DELETE_ON_ERROR:
