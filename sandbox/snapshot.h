/* What the writable zones held when a turn began: (folder, name) → inode, size, mode, ctime, and the mode and ACLs that an
 * inode has without us. A file in the journal, written once in walk order and fsynced before an agent runs; never
 * held in memory beyond one folder and, when read, the index (24 bytes a folder).
 *
 * Written by root, in a folder that only root may enter: its content is trusted.
 * Source: docs/threat-model.md, "Before a turn". */
#ifndef STINT_SANDBOX_SNAPSHOT_H
#define STINT_SANDBOX_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/str.h"
#include "sandbox/acl.h"

#define SNAP_NAME_MAX 64 /* of the file */

/* One entry of a folder. In the file it is followed by the name with NUL, the two raw ACLs, and padding to 8. */
struct snap_rec {
	uint32_t len;         /* of everything; 0 ends the folder */
	uint32_t mode;        /* st_mode as flipped: to see a change */
	uint64_t ino;
	uint64_t size;
	int64_t ctime_s;
	uint32_t ctime_ns;
	uint32_t gid;
	uint32_t base_mode;   /* permission and set-id bits without us */
	uint32_t user_hash;   /* inode_work.user_hash */
	uint32_t access_len;  /* raw ACL without us, 0 when it is only a mode */
	uint32_t default_len;
	uint32_t name_len;
	uint32_t granted;     /* the writer's word for what it set in the inode's ACLs; 0: nothing that it vouches for */
	char name[];
};

/* Writing. Zeroed is none. */
struct snap_writer {
	int dir_fd;           /* borrowed */
	int fd;
	uint64_t at;          /* file offset of buf's first byte */
	struct buf buf;
	struct buf index;     /* struct snap_index */
	char name[SNAP_NAME_MAX];
};

struct snap_mark {
	uint64_t at;
	size_t index_len;
};

int snap_begin(struct snap_writer *w, int dir_fd, const char *name) MUST_CHECK;
int snap_folder(struct snap_writer *w, ino_t ino) MUST_CHECK;       /* its entries follow */
/* base, def: the ACLs without us; NULL for what has none (a link). */
int snap_entry(struct snap_writer *w, const char *name, const struct stat *st, const struct acl *base,
               const struct acl *def, uint32_t user_hash, uint32_t granted) MUST_CHECK;
int snap_copy(struct snap_writer *w, const struct snap_rec *rec) MUST_CHECK; /* of an entry that has not changed since */
int snap_folder_end(struct snap_writer *w) MUST_CHECK;
int snap_mark(struct snap_writer *w, struct snap_mark *ret) MUST_CHECK;  /* between folders */
int snap_rewind(struct snap_writer *w, const struct snap_mark *to) MUST_CHECK;
int snap_commit(struct snap_writer *w) MUST_CHECK;                  /* fsynced, in place of the old one */
void snap_writer_done(struct snap_writer *w);

struct snap_index;

/* Reading: one folder is loaded at a time. Zeroed is a snapshot of nothing. */
struct snap_reader {
	int fd;               /* owned; 0 in a zeroed one means none */
	bool open;
	char *tail;           /* mapped: the index and what is before it on its first page */
	size_t tail_len;
	const struct snap_index *index;
	uint64_t n_folders;
	struct buf small;     /* a folder's records, */
	char *map;            /* or, of a large folder, its page range mapped */
	size_t map_len;
	const struct snap_rec *first;
	struct buf table;     /* uint32_t each: */
	uint32_t *slot;       /* hash table: record offset from first, +1; top bit: seen */
	size_t slots;
};

/* 0, also when there is no such file (then ret->open is false), or a negative errno. */
int snap_open(struct snap_reader *ret, int dir_fd, const char *name) MUST_CHECK;
void snap_close(struct snap_reader *r);

bool snap_has(const struct snap_reader *r, uint64_t ino);
/* Loads the folder; with ino 0 or an unknown one, an empty one. */
int snap_load(struct snap_reader *r, uint64_t ino) MUST_CHECK;
/* The record of a name in the loaded folder, marked as seen; NULL when there is none. */
const struct snap_rec *snap_find(struct snap_reader *r, const char *name);
bool snap_seen(const struct snap_reader *r, const struct snap_rec *rec);
/* The loaded folder's records in order; after NULL the first. NULL at the end. */
const struct snap_rec *snap_next(const struct snap_reader *r, const struct snap_rec *rec);

/* Whether the inode is another one by now, or was changed. */
bool snap_differs(const struct snap_rec *rec, const struct stat *st);

const void *snap_access(const struct snap_rec *rec);
const void *snap_default(const struct snap_rec *rec);

#endif
