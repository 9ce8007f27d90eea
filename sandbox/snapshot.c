/* The snapshot of writable zones: see snapshot.h.
 *
 * File: one folder after another, each a run of records that a zero length ends; then the index, sorted by inode;
 * then the trailer. */
#include "sandbox/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

#define SNAP_MAGIC 0x31504e53544e5453u /* "STNTSNP1" */
#define FLUSH_AT 65536u
#define MAP_FROM 65536u /* bytes of a folder's records from which it is mapped instead of read */
#define SEEN (1u << 31)

struct snap_index {
	uint64_t ino;
	uint64_t at;
	uint64_t len; /* bytes of the records, the end mark included */
};

struct snap_trailer {
	uint64_t index_at;
	uint64_t n_folders;
	uint64_t magic;
};

/* At least len bytes of room, content undefined. */
static int make_room(struct buf *b, size_t len)
{
	if (len > b->cap) {
		buf_done(b);
		b->data = malloc(len);
		b->cap = b->data == NULL ? 0 : len;
	}
	return b->data == NULL ? -ENOMEM : 0;
}

static int flush(struct snap_writer *w)
{
	int rc = fd_write_all(w->fd, w->buf.data, w->buf.len);

	if (rc == 0) {
		w->at += w->buf.len;
		w->buf.len = 0;
	}
	return rc;
}

static void temp_name(char ret[SNAP_NAME_MAX + 8], const char *name)
{
	(void)snprintf(ret, SNAP_NAME_MAX + 8, "%s.new", name);
}

int snap_begin(struct snap_writer *w, int dir_fd, const char *name)
{
	char tmp[SNAP_NAME_MAX + 8];

	*w = (struct snap_writer){.dir_fd = dir_fd, .fd = -1};
	if (snprintf(w->name, sizeof(w->name), "%s", name) >= (int)sizeof(w->name))
		return -ENAMETOOLONG;
	temp_name(tmp, name);
	if (unlinkat(dir_fd, tmp, 0) != 0 && errno != ENOENT)
		return -errno;
	w->fd = openat(dir_fd, tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return w->fd < 0 ? -errno : 0;
}

int snap_folder(struct snap_writer *w, ino_t ino)
{
	struct snap_index x = {ino, w->at + w->buf.len, 0};

	return buf_add(&w->index, &x, sizeof(x));
}

static uint32_t raw_len(const struct acl *a)
{
	return a == NULL || a->n == 0 || acl_is_mode(a) ? 0 : (uint32_t)(4 + a->n * sizeof(a->e[0]));
}

static int add_acl(struct buf *b, const struct acl *a, uint32_t len)
{
	AUTO_FREE char *raw = NULL;

	if (len == 0)
		return 0;
	raw = malloc(ACL_RAW_MAX);
	return raw == NULL ? -ENOMEM : buf_add(b, raw, acl_encode(a, raw));
}

int snap_entry(struct snap_writer *w, const char *name, const struct stat *st, const struct acl *base,
               const struct acl *def, uint32_t user_hash, uint32_t granted)
{
	static const char zeros[8];
	struct snap_rec r = {.mode = st->st_mode, .ino = st->st_ino, .size = (uint64_t)st->st_size,
	                     .ctime_s = st->st_ctim.tv_sec, .ctime_ns = (uint32_t)st->st_ctim.tv_nsec,
	                     .gid = st->st_gid, .base_mode = st->st_mode & 07777, .user_hash = user_hash,
	                     .access_len = raw_len(base), .default_len = def == NULL || def->n == 0 ? 0 :
	                     (uint32_t)(4 + def->n * sizeof(def->e[0])), .name_len = (uint32_t)strlen(name), .granted = granted};
	size_t len = sizeof(r) + r.name_len + 1 + r.access_len + r.default_len;
	size_t padded = (len + 7) & ~(size_t)7;
	int rc;

	if (base != NULL)
		r.base_mode = (st->st_mode & 07000) | acl_to_mode(base);
	r.len = (uint32_t)padded;
	rc = buf_add(&w->buf, &r, sizeof(r));
	if (rc == 0)
		rc = buf_add(&w->buf, name, r.name_len + 1u);
	if (rc == 0)
		rc = add_acl(&w->buf, base, r.access_len);
	if (rc == 0)
		rc = add_acl(&w->buf, def, r.default_len);
	if (rc == 0)
		rc = buf_add(&w->buf, zeros, padded - len);
	return rc == 0 && w->buf.len >= FLUSH_AT ? flush(w) : rc;
}

int snap_copy(struct snap_writer *w, const struct snap_rec *rec)
{
	int rc = buf_add(&w->buf, rec, rec->len);

	return rc == 0 && w->buf.len >= FLUSH_AT ? flush(w) : rc;
}

int snap_folder_end(struct snap_writer *w)
{
	static const uint64_t end = 0;
	struct snap_index *x = (void *)(w->index.data + w->index.len - sizeof(*x));
	int rc = buf_add(&w->buf, &end, sizeof(end));

	x->len = w->at + w->buf.len - x->at;
	return rc;
}

int snap_mark(struct snap_writer *w, struct snap_mark *ret)
{
	int rc = flush(w);

	*ret = (struct snap_mark){w->at, w->index.len};
	return rc;
}

int snap_rewind(struct snap_writer *w, const struct snap_mark *to)
{
	w->buf.len = 0;
	w->at = to->at;
	w->index.len = to->index_len;
	if (ftruncate(w->fd, (off_t)to->at) != 0 || lseek(w->fd, (off_t)to->at, SEEK_SET) < 0)
		return -errno;
	return 0;
}

static int by_ino(const void *a, const void *b)
{
	const struct snap_index *x = a;
	const struct snap_index *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

int snap_commit(struct snap_writer *w)
{
	char tmp[SNAP_NAME_MAX + 8];
	struct snap_trailer t = {0, w->index.len / sizeof(struct snap_index), SNAP_MAGIC};
	int rc = flush(w);

	t.index_at = w->at;
	if (t.n_folders > 0)
		qsort(w->index.data, t.n_folders, sizeof(struct snap_index), by_ino);
	if (rc == 0)
		rc = fd_write_all(w->fd, w->index.data, w->index.len);
	if (rc == 0)
		rc = fd_write_all(w->fd, &t, sizeof(t));
	if (rc != 0)
		return rc;
	temp_name(tmp, w->name);
	if (fsync(w->fd) != 0 || renameat(w->dir_fd, tmp, w->dir_fd, w->name) != 0 || fsync(w->dir_fd) != 0)
		return -errno;
	fd_close(&w->fd);
	return 0;
}

void snap_writer_done(struct snap_writer *w)
{
	char tmp[SNAP_NAME_MAX + 8];

	if (w->name[0] != '\0' && w->fd >= 0) {
		fd_close(&w->fd);
		temp_name(tmp, w->name);
		(void)unlinkat(w->dir_fd, tmp, 0);
	}
	buf_done(&w->buf);
	buf_done(&w->index);
	*w = (struct snap_writer){.fd = -1};
}

/* Maps len bytes of the file at an offset that need not be a page's. *ret_map and *ret_len are what munmap takes. */
static const void *map_range(int fd, uint64_t at, uint64_t len, char **ret_map, size_t *ret_len)
{
	uint64_t start = at & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	void *map = mmap(NULL, at - start + len, PROT_READ, MAP_SHARED, fd, (off_t)start);

	if (map == MAP_FAILED)
		return NULL;
	*ret_map = map;
	*ret_len = at - start + len;
	return (const char *)map + (at - start);
}

int snap_open(struct snap_reader *ret, int dir_fd, const char *name)
{
	AUTO_FD fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct snap_trailer t;
	off_t end;

	*ret = (struct snap_reader){.fd = -1};
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	end = lseek(fd, 0, SEEK_END);
	if (end < (off_t)sizeof(t) || pread(fd, &t, sizeof(t), end - (off_t)sizeof(t)) != (ssize_t)sizeof(t) ||
	    t.magic != SNAP_MAGIC)
		return -EUCLEAN;
	if (t.n_folders > 0) {
		ret->index = map_range(fd, t.index_at, t.n_folders * sizeof(*ret->index), &ret->tail, &ret->tail_len);
		if (ret->index == NULL)
			return -errno;
	}
	ret->fd = fd_take(&fd);
	ret->open = true;
	ret->n_folders = t.n_folders;
	return 0;
}

static void unload(struct snap_reader *r)
{
	if (r->map != NULL)
		(void)munmap(r->map, r->map_len);
	r->map = NULL;
	r->first = NULL;
}

void snap_close(struct snap_reader *r)
{
	unload(r);
	if (r->tail != NULL)
		(void)munmap(r->tail, r->tail_len);
	if (r->open)
		fd_close(&r->fd);
	buf_done(&r->small);
	buf_done(&r->table);
	*r = (struct snap_reader){.fd = -1};
}

static const struct snap_index *find_folder(const struct snap_reader *r, uint64_t ino)
{
	const struct snap_index key = {.ino = ino};

	return r->n_folders == 0 ? NULL : bsearch(&key, r->index, r->n_folders, sizeof(key), by_ino);
}

bool snap_has(const struct snap_reader *r, uint64_t ino)
{
	return find_folder(r, ino) != NULL;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h ^ h >> 15;
}

static const struct snap_rec *rec_at(const struct snap_reader *r, uint32_t slot)
{
	return (const void *)((const char *)r->first + ((slot & ~SEEN) - 1) * 8u);
}

static uint32_t slot_value(const struct snap_reader *r, const struct snap_rec *rec)
{
	return (uint32_t)(((const char *)rec - (const char *)r->first) / 8) + 1;
}

/* The slot of a name, or the free one where it would go. */
static size_t slot_of(const struct snap_reader *r, const char *name)
{
	size_t at = hash_of(name) & (r->slots - 1);

	while (r->slot[at] != 0 && !str_eq(rec_at(r, r->slot[at])->name, name))
		at = (at + 1) & (r->slots - 1);
	return at;
}

static int build_slots(struct snap_reader *r)
{
	size_t n = 0;
	int rc;

	for (const struct snap_rec *rec = snap_next(r, NULL); rec != NULL; rec = snap_next(r, rec))
		n++;
	for (r->slots = 8; r->slots < n * 2; r->slots *= 2)
		;
	rc = make_room(&r->table, r->slots * sizeof(r->slot[0]));
	if (rc != 0)
		return rc;
	r->slot = (void *)r->table.data;
	memset(r->slot, 0, r->slots * sizeof(r->slot[0]));
	for (const struct snap_rec *rec = snap_next(r, NULL); rec != NULL; rec = snap_next(r, rec))
		r->slot[slot_of(r, rec->name)] = slot_value(r, rec);
	return 0;
}

int snap_load(struct snap_reader *r, uint64_t ino)
{
	const struct snap_index *x = ino == 0 ? NULL : find_folder(r, ino);
	int rc;

	unload(r);
	if (x == NULL)
		return 0;
	if (x->len > MAP_FROM) {
		r->first = map_range(r->fd, x->at, x->len, &r->map, &r->map_len);
		return r->first == NULL ? -errno : build_slots(r);
	}
	rc = make_room(&r->small, x->len);
	if (rc != 0)
		return rc;
	if (pread(r->fd, r->small.data, x->len, (off_t)x->at) != (ssize_t)x->len)
		return -EIO;
	r->first = (const void *)r->small.data;
	return build_slots(r);
}

const struct snap_rec *snap_find(struct snap_reader *r, const char *name)
{
	size_t at;

	if (r->first == NULL)
		return NULL;
	at = slot_of(r, name);
	if (r->slot[at] == 0)
		return NULL;
	r->slot[at] |= SEEN;
	return rec_at(r, r->slot[at]);
}

bool snap_seen(const struct snap_reader *r, const struct snap_rec *rec)
{
	return (r->slot[slot_of(r, rec->name)] & SEEN) != 0;
}

const struct snap_rec *snap_next(const struct snap_reader *r, const struct snap_rec *rec)
{
	const struct snap_rec *next = rec == NULL ? r->first : (const void *)((const char *)rec + rec->len);

	return next == NULL || next->len == 0 ? NULL : next;
}

bool snap_differs(const struct snap_rec *rec, const struct stat *st)
{
	return rec->ino != st->st_ino || rec->mode != st->st_mode || rec->size != (uint64_t)st->st_size ||
	       rec->ctime_s != st->st_ctim.tv_sec || rec->ctime_ns != (uint32_t)st->st_ctim.tv_nsec;
}

const void *snap_access(const struct snap_rec *rec)
{
	return rec->name + rec->name_len + 1;
}

const void *snap_default(const struct snap_rec *rec)
{
	return rec->name + rec->name_len + 1 + rec->access_len;
}
