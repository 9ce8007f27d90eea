/* REVIEW.md: the reviewer's findings, and the coordinator's own.
 * Any open box at any depth, or text without any box, is an open finding; all boxes ticked, or nothing, is a pass.
 * What cannot be read (not UTF-8, too long, boxes swallowed by an unclosed fence) is an open finding, never a pass.
 * Source: docs/protocol.md, "REVIEW.md". */
#ifndef STINT_PROTOCOL_REVIEW_H
#define STINT_PROTOCOL_REVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define REVIEW_FILE "REVIEW.md"
#define REVIEW_MAX_BYTES (256u << 10)

/* While `open`, each text that is not "" belongs into its role's prompt, whatever the counts say: prose beside somebody
 * else's boxes is a finding too. */
struct review {
	bool open;               /* there is at least one open finding */
	size_t n_open;           /* open boxes; without any box: 1 for each of the two that has text */
	size_t n_developer;      /* of these: outside … */
	size_t n_tester;         /* … and under a heading "Tester" */
	char *developer_text;    /* everything outside the Tester sections, "" when only blank */
	char *tester_text;       /* the Tester sections, "" when none; a heading of the same or a higher level ends one */
	char *bytes;             /* the file, as read (at most REVIEW_MAX_BYTES), NUL-terminated */
	size_t n_bytes;
};

/* 0 or -ENOMEM: every content has a meaning. *ret is written only on success. */
int review_parse(struct review *ret, const char *bytes, size_t n, struct err *e) MUST_CHECK;

/* REVIEW.md beneath root_fd (borrowed); a missing file is an empty one. Not a regular file: -EINVAL, STOP_USAGE. */
int review_load(struct review *ret, int root_fd, struct err *e) MUST_CHECK;
void review_done(struct review *r);

/* Writes the coordinator's finding: in place where the file exists (inode, mode, ACL stay), else created 0644. fsynced.
 * text is stored as it is; the caller bounds it. STOP_RECORD. */
int review_write(int root_fd, const char *text, size_t n, struct err *e) MUST_CHECK;

/* Removes REVIEW.md; the caller has taken the text into the record first (review.bytes of review_load()). -ESTALE when the file's
 * bytes are no longer these. A missing file is done. STOP_RECORD. */
int review_remove(int root_fd, const struct review *r, struct err *e) MUST_CHECK;

#endif
