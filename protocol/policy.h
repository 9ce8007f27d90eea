/* The compiled policy: what the coordinator tells the warden once, before any agent has run.
 *
 * One sealed memfd: a fixed header, then a string pool. The warden maps it read-only, checks
 * it with policy_check() and then everything that needs the file system itself (beneath
 * the root, no symlink, the agent user), and never takes a path or an argv again.
 *
 * Strings are offsets into the pool; a list of n strings is n NUL-terminated strings one after
 * another. Offset 0 is the empty string. Host byte order: both ends are one build.
 * Source: docs/architecture.md, "The policy". */
#ifndef STINT_PROTOCOL_POLICY_H
#define STINT_PROTOCOL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "roles/role.h"

#define POLICY_MAGIC 0x70746e73u
#define POLICY_VERSION 1u
#define POLICY_MAX_BYTES (4u << 20)
#define POLICY_MAX_ENTRIES 1024u
#define POLICY_MAX_PORTS 16u
#define POLICY_MAX_LIST 256u      /* argv words, environment names, read paths, scratch folders */
#define POLICY_PROMPT_MAX (100u << 10) /* bytes of prompt that fit in an argument */
#define POLICY_PATH_MAX 255u      /* bytes of a zone's or scratch folder's path: fits struct prove_cell */
#define POLICY_READ_PATH_MAX 4095u

/* A file need not exist: the warden creates it for a role with rw. */
enum policy_kind { POLICY_FILE = 0, POLICY_DIR = 1 };

enum policy_entry_flag {
	ENTRY_NAMED = 1 << 0,   /* named in stint.yaml (not caught by "*") */
};

/* One zone: a path relative to the root, without trailing slash, and its level for each role.
 * The coordinator has expanded "*" into the root's entries. What no entry covers is none. */
struct policy_entry {
	uint32_t path;               /* pool offset */
	uint8_t kind;                /* enum policy_kind */
	uint8_t flags;               /* enum policy_entry_flag */
	uint8_t level[ROLE_MAX];     /* enum level, by role number */
	uint8_t pad[2];
};

enum policy_role_flag {
	ROLE_FRESH_HOME = 1 << 0,    /* HOME and scratch start empty at every spawn (the runner) */
	ROLE_STDIN_PROMPT = 1 << 1,  /* the prompt is also standard input; otherwise /dev/null */
	ROLE_SUITE_LOG = 1 << 2,     /* gets the suite log at SANDBOX_SUITE_LOG (the reviewer) */
};

struct policy_list {
	uint32_t off;
	uint32_t n;
};

struct policy_role {
	char name[ROLE_NAME_MAX];
	struct policy_list argv;     /* templates: {prompt} and {prompt_file} are replaced by the guard */
	struct policy_list env;      /* NAME=VALUE, complete: values of passed-on names are filled in */
	struct policy_list read;     /* absolute paths outside the project, read+execute */
	uint32_t flags;              /* enum policy_role_flag */
	uint32_t n_ports;            /* TCP connect; 0: no network */
	uint16_t ports[POLICY_MAX_PORTS];
	uint64_t deadline_ms;        /* 0: none */
};

struct policy_limits {
	uint64_t memory;             /* bytes; cgroup memory.max where usable, else RLIMIT_DATA */
	uint64_t file;               /* bytes; RLIMIT_FSIZE */
	uint32_t processes;          /* pids.max or RLIMIT_NPROC */
	uint32_t open_files;         /* RLIMIT_NOFILE */
};

struct policy {
	uint32_t magic;
	uint32_t version;
	uint32_t total;              /* bytes, header and pool */
	uint32_t agent_user;         /* pool offset of the account's name */
	uint32_t umask;              /* the caller's, for default ACLs */
	uint32_t layers;             /* enum layer bits in force for turns */
	uint32_t n_roles;
	uint32_t n_entries;
	struct policy_list scratch;  /* relative folders, each role sees its own */
	struct policy_limits limits;
	struct policy_role role[ROLE_MAX];
	struct policy_entry entry[POLICY_MAX_ENTRIES];
	char pool[];                 /* total - sizeof(struct policy) bytes; first and last byte are NUL */
};

/* Everything about a policy that can be checked without the file system: sizes, counts, offsets,
 * termination, role names unique and well-formed, levels, paths relative without "", ".", ".." or
 * double slashes, no zone inside another, .git and .stint none for every role, env names, ports not 0, read paths
 * absolute. len: bytes of p. 0 or -EINVAL. */
int policy_check(const struct policy *p, size_t len, struct err *e) MUST_CHECK;

/* An environment name ([A-Za-z_][A-Za-z0-9_]*) that is not one of the dynamic loader's (LD_*, GLIBC_TUNABLES): those
 * would run code in the guard before it has confined itself. */
bool policy_env_name_ok(const char *s, size_t n);

/* Maps a sealed memfd read-only and checks it. *ret stays mapped until policy_unmap(). */
int policy_map(int fd, const struct policy **ret, struct err *e) MUST_CHECK;
void policy_unmap(const struct policy *p);

/* String access after policy_check(). */
const char *policy_str(const struct policy *p, uint32_t off);
/* The i-th string of a list (i < list.n). Linear; lists are short. */
const char *policy_item(const struct policy *p, struct policy_list list, uint32_t i);
int policy_role_find(const struct policy *p, const char *name); /* role number or -1 */

/* Building (coordinator): a zeroed builder is empty; add fails with -E2BIG at a bound. */
struct policy_builder {
	struct policy *p;
	size_t pool_len;
	size_t pool_cap;
};
int policy_begin(struct policy_builder *b) MUST_CHECK;   /* allocates and zeroes; pool offset 0 is "" */
int policy_add_str(struct policy_builder *b, const char *s, uint32_t *ret_off) MUST_CHECK;
int policy_add_list(struct policy_builder *b, const char *const *v, uint32_t n, struct policy_list *ret) MUST_CHECK;
/* Seals it into a memfd after policy_check(); returns the descriptor. */
int policy_seal(struct policy_builder *b, struct err *e) MUST_CHECK;
void policy_done(struct policy_builder *b);

#endif
