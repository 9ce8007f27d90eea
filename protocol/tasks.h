/* TASKS.md: what is to be done, and the one byte that says that it is.
 * Only tasks at depth 0 are scheduled and ticked, in file order; nested boxes are their text.
 * Source: docs/protocol.md, "TASKS.md". */
#ifndef STINT_PROTOCOL_TASKS_H
#define STINT_PROTOCOL_TASKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define TASKS_FILE "TASKS.md"
#define TASKS_MAX_BYTES (4u << 20)

struct task {
	unsigned int line;       /* 1-based, where the box is */
	bool done;
	unsigned int depth;      /* enclosing tasks; 0 is scheduled */
	char *title;             /* first line as plain text, UTF-8; may hold control bytes: escape before a terminal */
	size_t box_offset;       /* of the byte between the brackets */
	size_t start, end;       /* the whole item, nested blocks included: bytes[start..end), whole lines */
};

struct tasks_warning {
	unsigned int line;
	bool fatal;              /* boxes were swallowed by something unclosed: `stint run` refuses the file */
	char *message;
};

struct tasks {
	struct task *v;          /* every task at every depth, in file order */
	size_t n;
	struct tasks_warning *warning;
	size_t n_warning;
	char *bytes;             /* the file as parsed, owned, NUL-terminated */
	size_t n_bytes;
};

/* Parses a copy of n bytes; name is for messages. 0, or a negative errno with STOP_USAGE: -EFBIG over TASKS_MAX_BYTES, -EILSEQ not
 * UTF-8 or a NUL byte (with the line), -E2BIG a line or the number of boxes. *ret is written only on success. */
int tasks_parse(struct tasks *ret, const char *name, const char *bytes, size_t n, struct err *e) MUST_CHECK;

/* The same from TASKS.md beneath root_fd (borrowed). -ENOENT with the remedy when there is none; -EINVAL when it is not a
 * regular file; -ELOOP for a link. STOP_USAGE. */
int tasks_load(struct tasks *ret, int root_fd, struct err *e) MUST_CHECK;
void tasks_done(struct tasks *t);

/* What `stint run` asks before it starts: at least one task at depth 0 and nothing swallowed. 0, or -EINVAL with
 * STOP_USAGE and the line. A file whose tasks are all done is runnable (there is nothing to do: exit 0). */
int tasks_check_runnable(const struct tasks *t, struct err *e) MUST_CHECK;

/* The first open task at depth 0, or NULL when all are done. */
const struct task *tasks_next(const struct tasks *t);

/* Counts at depth 0. */
size_t tasks_count(const struct tasks *t, size_t *ret_done);

/* A copy of the bytes with the task's box ticked (for the commit that is made before the file is ticked): malloc'ed, t->n_bytes
 * long, NUL after it. NULL when out of memory. */
char *tasks_ticked_bytes(const struct tasks *t, const struct task *task);

/* Ticks the box in TASKS.md: one byte, in place, fsynced. BOM, line ends, mode, inode and ACL stay.
 * -ESTALE when the file's bytes are no longer those that were parsed (a file in which only this box is already ticked
 * is done: 0). Errors carry STOP_RECORD and name the line. */
int tasks_tick(int root_fd, const struct tasks *t, const struct task *task, struct err *e) MUST_CHECK;

/* Puts these bytes into TASKS.md in place (inode, mode and ACL stay), fsynced; created 0644 when it is gone. STOP_RECORD. */
int tasks_write(int root_fd, const char *bytes, size_t n, struct err *e) MUST_CHECK;

/* What a role's edit of TASKS.md may become. */
struct tasks_guarded {
	char *bytes;             /* what TASKS.md has to hold, NUL-terminated */
	size_t n_bytes;
	bool changed;            /* differs from what the role left: write it back */
	bool restored;           /* the whole edit was refused: bytes are those from before */
	char **note;             /* one sentence for each thing that was put back, escaped for a terminal */
	size_t n_note;
};

/* A role may edit text and add open tasks; it may not tick, untick or remove a task. before: what was parsed
 * before the turn. after: what it left (NULL: the file is gone). Existing tasks are found again by title, then by place
 * between their neighbours; a box that changed is put back; a new task that is already ticked is unticked. When a task is gone,
 * or the bytes cannot be read as tasks any more, the whole file from before comes back. Nested boxes are text.
 * 0 or -ENOMEM. */
int tasks_guard(const struct tasks *before, const char *after, size_t n_after, struct tasks_guarded *ret,
                struct err *e) MUST_CHECK;
void tasks_guarded_done(struct tasks_guarded *g);

#endif
