/* Hard links of one zone: an open-addressing table from inode to names seen. */
#include "sandbox/links.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_CAP 64u

static size_t slot_of(const struct links *l, ino_t ino)
{
	size_t at = (size_t)((uint64_t)ino * 0x9e3779b97f4a7c15u >> 20) & (l->cap - 1);

	while (l->slot[at].ino != 0 && l->slot[at].ino != ino)
		at = (at + 1) & (l->cap - 1);
	return at;
}

static int grow(struct links *l)
{
	struct links bigger = {.cap = l->cap == 0 ? FIRST_CAP : l->cap * 2, .n = l->n};

	bigger.slot = calloc(bigger.cap, sizeof(bigger.slot[0]));
	if (bigger.slot == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < l->cap; i++)
		if (l->slot[i].ino != 0)
			bigger.slot[slot_of(&bigger, l->slot[i].ino)] = l->slot[i];
	free(l->slot);
	*l = bigger;
	return 0;
}

int links_add(struct links *l, ino_t ino)
{
	size_t at;

	if ((l->n + 1) * 3 > l->cap * 2) {
		int rc = grow(l);

		if (rc != 0)
			return rc;
	}
	at = slot_of(l, ino);
	if (l->slot[at].ino == 0)
		l->n++;
	l->slot[at].ino = ino;
	l->slot[at].seen++;
	return 0;
}

nlink_t links_seen(const struct links *l, ino_t ino)
{
	return l->cap == 0 ? 0 : l->slot[slot_of(l, ino)].seen;
}

void links_done(struct links *l)
{
	free(l->slot);
	*l = (struct links){0};
}
