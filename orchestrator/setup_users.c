/* The record of agent accounts: see setup_users.h. Reads and writes text only; the accounts themselves are
 * setup_account.c's. */
#include "orchestrator/setup_users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"

#define USERS_BYTES_MAX 65536u
#define LINE_MAX_BYTES (SETUP_NAME_MAX + 48)

bool setup_name_ok(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return n > 0 && n < SETUP_NAME_MAX && name[n] == '\0' && name[0] >= 'a' && name[0] <= 'z';
}

struct setup_user *setup_users_find(struct setup_users *u, const char *name)
{
	for (size_t i = 0; i < u->n; i++)
		if (str_eq(u->v[i].name, name))
			return &u->v[i];
	return NULL;
}

int setup_users_set(struct setup_users *u, const struct setup_user *row, struct err *e)
{
	struct setup_user *old = setup_users_find(u, row->name);

	if (old == NULL) {
		if (u->n == SETUP_USERS_MAX)
			return err_set(e, E2BIG, "cannot record %s: %u accounts are recorded already: remove one with stint setup "
			               "--remove", row->name, SETUP_USERS_MAX);
		old = &u->v[u->n++];
	}
	*old = *row;
	return 0;
}

void setup_users_drop(struct setup_users *u, const char *name)
{
	struct setup_user *row = setup_users_find(u, name);

	if (row == NULL)
		return;
	*row = u->v[--u->n];
}

static int line_make(const struct setup_user *row, char *ret, size_t size)
{
	return row->writers == 0 ? snprintf(ret, size, "%s %u %u", row->name, row->uid, row->gid)
	                         : snprintf(ret, size, "%s %u %u %u", row->name, row->uid, row->gid, row->writers);
}

/* One line "NAME UID GID WRITERS", exactly: no other white space, no sign, ids that are neither root's nor (uid_t)-1. */
static bool line_parse(const char *line, struct setup_user *ret)
{
	struct setup_user row = {0};
	char again[LINE_MAX_BYTES];

	if (sscanf(line, "%31s %u %u %u", row.name, &row.uid, &row.gid, &row.writers) < 3)
		return false;
	(void)line_make(&row, again, sizeof(again));
	if (!str_eq(again, line) || !setup_name_ok(row.name) || row.uid == 0 || row.gid == 0 || row.uid == (uid_t)-1)
		return false;
	*ret = row;
	return true;
}

static int text_parse(char *text, struct setup_users *ret, struct err *e)
{
	struct setup_users u = {0};
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		struct setup_user row;
		int rc;

		if (!line_parse(line, &row))
			return err_set(e, EINVAL, "%s/%s: line %zu is not \"NAME UID GID WRITERS\": correct or delete that line",
			               SETUP_STATE_DIR, SETUP_USERS_FILE, u.n + 1);
		rc = setup_users_set(&u, &row, e);
		if (rc != 0)
			return rc;
	}
	*ret = u;
	return 0;
}

int setup_users_read(int state_fd, struct setup_users *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	AUTO_FD fd = fd_open_beneath(state_fd, SETUP_USERS_FILE, O_RDONLY | O_NONBLOCK, 0, false);
	struct stat st;
	size_t len = 0;
	int rc;

	if (fd == -ENOENT) {
		*ret = (struct setup_users){0};
		return 0;
	}
	if (fd < 0)
		return err_errno(e, -fd, "cannot read %s/%s", SETUP_STATE_DIR, SETUP_USERS_FILE);
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot read %s/%s", SETUP_STATE_DIR, SETUP_USERS_FILE);
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return err_set(e, EPERM, "%s/%s is not trusted: others than root could have written it: check its lines, then "
		               "chown root and chmod 0644", SETUP_STATE_DIR, SETUP_USERS_FILE);
	rc = fd_read_all(fd, USERS_BYTES_MAX, &text, &len);
	if (rc != 0)
		return err_errno(e, -rc, "cannot read %s/%s", SETUP_STATE_DIR, SETUP_USERS_FILE);
	return text_parse(text, ret, e);
}

int setup_users_write(int state_fd, const struct setup_users *u, struct err *e)
{
	AUTO_BUF struct buf text = {0};

	char line[LINE_MAX_BYTES];

	for (size_t i = 0; i < u->n; i++)
		if (line_make(&u->v[i], line, sizeof(line)) < 0 || buf_addf(&text, "%s\n", line) != 0)
			return err_errno(e, ENOMEM, "cannot write %s/%s", SETUP_STATE_DIR, SETUP_USERS_FILE);
	return fd_replace_file(state_fd, SETUP_USERS_FILE, text.data, text.len, 0644, e);
}
