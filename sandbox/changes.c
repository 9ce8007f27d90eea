/* The change list: records in the format of protocol/frames.h, bounded. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <string.h>

void tree_changes_done(struct tree_changes *c)
{
	buf_done(&c->records);
	*c = (struct tree_changes){0};
}

/* True when one more record of this size is to be kept. The first that does not fit is replaced by a sentence. */
static bool has_room(struct tree_changes *c, size_t n, int *ret_rc)
{
	static const char full[] = "!the list of changes is cut here: it would be too long";

	*ret_rc = 0;
	if (c == NULL || c->cut)
		return false;
	if (c->records.len + n <= TREE_RECORDS_MAX)
		return true;
	c->cut = true;
	c->n_anomalies++;
	*ret_rc = buf_add(&c->records, full, sizeof(full));
	return false;
}

int changes_add(struct tree_changes *c, char kind, const struct buf *dir, const char *name)
{
	int rc;

	if (!has_room(c, dir->len + strlen(name) + 3, &rc))
		return rc;
	c->n_changes++;
	rc = buf_add(&c->records, &kind, 1);
	if (rc == 0)
		rc = walk_path(&c->records, dir, name);
	return rc != 0 ? rc : buf_add(&c->records, "", 1);
}

int changes_note(struct tree_changes *c, const struct buf *dir, const char *name, const char *why)
{
	char shown[512];
	int rc;

	if (!has_room(c, sizeof(shown) + strlen(why) + 4, &rc))
		return rc;
	walk_name(shown, sizeof(shown), dir, name);
	c->n_anomalies++;
	rc = buf_addf(&c->records, "!%s: %s", shown, why);
	return rc != 0 ? rc : buf_add(&c->records, "", 1);
}

int changes_move(struct tree_changes *to, struct tree_changes *from)
{
	int rc = buf_add(&to->records, from->records.data, from->records.len);

	if (rc == 0) {
		to->n_changes += from->n_changes;
		to->n_anomalies += from->n_anomalies;
		to->cut = to->cut || from->cut;
	}
	tree_changes_done(from);
	return rc;
}
