/* Answering held calls: see watch.h. */
#include "orchestrator/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "orchestrator/profile_file.h"
#include "orchestrator/profile_memfd.h"

#define CALLS_MAX 64
#define X32 0x40000000

/* ---- before */

/* --filter none: a program that allows everything. */
static int allow_all(struct watch *w, struct err *e)
{
	profile_begin(&w->profile, "none");
	w->program.insn = calloc(1, sizeof(*w->program.insn));
	if (w->program.insn == NULL)
		return err_errno(e, ENOMEM, "cannot supervise");
	w->program.insn[0] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	w->program.n = 1;
	return 0;
}

int watch_open(struct watch *w, const struct guard_options *o, const char *guard_path, struct err *e)
{
	bool net = o->net_unrestricted || o->connect.n > 0 || o->bind.n > 0;
	struct stat st;
	int rc;

	*w = (struct watch){.notify = {.listener = -1}, .audit = {.fd = -1}};
	if (getrandom(w->key, sizeof(w->key), 0) != (ssize_t)sizeof(w->key))
		return err_errno(e, errno, "cannot supervise: no random numbers");
	if (stat(guard_path, &st) != 0)
		return err_errno(e, errno, "cannot supervise: %s", guard_path);
	w->guard_dev = st.st_dev;
	w->guard_ino = st.st_ino;
	if (o->filter == NULL) {
		rc = allow_all(w, e);
	} else {
		rc = profile_load(&w->profile, o->filter, net, e);
		if (rc == 0)
			rc = profile_compile(&w->profile, &w->program, e);
		if (rc == 0)
			rc = profile_content(o->filter, &w->content, e);
	}
	if (rc == 0)
		rc = grants_open(&w->grants, o, e);
	if (rc == 0)
		audit_open(&w->audit, w->grants.handled.fs != 0 ? w->grants.abi : 0);
	return rc;
}

void watch_close(struct watch *w)
{
	notify_done(&w->notify);
	profile_done(&w->profile);
	profile_program_done(&w->program);
	grants_done(&w->grants);
	violations_done(&w->violations);
	audit_close(&w->audit);
}

int watch_profile(const struct watch *w, struct err *e)
{
	int numbers[CALLS_MAX];
	struct notify_calls calls = {.number = numbers};
	struct profile_program made = {0};
	int rc;
	int fd;

	for (size_t i = 0; access_call(i) != NULL && calls.n < CALLS_MAX; i++) {
		int nr = profile_call_number(access_call(i));

		if (nr >= 0) /* some architectures lack the old ones */
			numbers[calls.n++] = nr;
	}
	rc = notify_program(&w->program, &calls, w->key, &made, e);
	fd = rc == 0 ? profile_memfd_of(&w->profile, &made, w->content, w->key, e) : rc;
	profile_program_done(&made);
	return fd;
}

int watch_accept(struct watch *w, int socket, struct err *e)
{
	char tmp[PATH_MAX];
	int rc = notify_accept(&w->notify, socket, tmp, e);

	if (rc <= 0 || tmp[0] == '\0')
		return rc < 0 ? rc : 0;
	rc = grants_add(&w->grants, tmp, guard_tmp_grant(w->grants.o));
	return rc == -ENOMEM ? err_errno(e, ENOMEM, "cannot note the grants") : 0;
}

/* ---- one call */

/* Its numbers are this machine's; with X32 in them they are, too. */
static bool is_native(const struct seccomp_data *d)
{
	return d->arch == NOTIFY_ARCH;
}

static void name_call(const struct seccomp_data *d, char ret[PROFILE_CALL_MAX])
{
	int nr = d->nr & ~X32;
	char name[PROFILE_CALL_MAX];
	bool x32 = (d->nr & X32) != 0;
	bool native = is_native(d);

	profile_call_name(native ? nr : -1, name);
	if (native && name[0] != '\0')
		(void)snprintf(ret, PROFILE_CALL_MAX, "%.30s%s", name, x32 ? "_x32" : "");
	else
		(void)snprintf(ret, PROFILE_CALL_MAX, "%s%d", native ? "number_" : "foreign_number_", nr);
}

static bool holds(const struct profile_row *r, const struct seccomp_data *d)
{
	for (unsigned int i = 0; i < r->n_cond; i++) {
		uint64_t mask = r->cond[i].wide ? r->cond[i].mask : r->cond[i].mask & UINT32_MAX;

		if ((d->args[r->cond[i].arg] & mask) != (r->cond[i].value & mask))
			return false;
	}
	return true;
}

/* The row that refuses the call with this errno (of several libseccomp chose), or NULL: no row allows it. */
static const struct profile_row *refusing_row(const struct watch *w, const char *name, const struct seccomp_data *d, int error)
{
	const struct profile_row *any = NULL;

	for (size_t i = 0; i < w->profile.n; i++) {
		const struct profile_row *r = &w->profile.row[i];

		if (r->action == PROFILE_ALLOW || !str_eq(r->call, name) || !holds(r, d))
			continue;
		if (r->action == PROFILE_ERRNO && r->error == error)
			return r;
		any = r;
	}
	return any;
}

/* Sent while the call is held, so it is this process and no successor that ends. */
static void end_process(struct watch *w, const struct held *h)
{
	AUTO_FD fd = (int)syscall(SYS_pidfd_open, h->process, 0);

	if (fd < 0 || !notify_holds(&w->notify, h->n->id))
		return;
	(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	w->killed = h->process;
}

static int note_refusal(struct watch *w, const struct held *h, const char *name, const char *action, int error)
{
	const struct profile_row *row = refusing_row(w, name, &h->n->data, error);
	AUTO_BUF struct buf call = {0};
	char rule[PROFILE_NAME_MAX + PROFILE_FROM_MAX];
	struct refused_call r = {.name = name, .action = action, .rule = rule};

	if (!is_native(&h->n->data) || (h->n->data.nr & X32) != 0)
		(void)snprintf(rule, sizeof(rule), "%s, foreign entry", w->profile.name);
	else
		(void)snprintf(rule, sizeof(rule), "%s%s", row != NULL ? row->from : w->profile.name, row != NULL ? "" : ", default");
	/* A row that says ENOSYS is there for programs to fall back: clone3, openat2. */
	r.usual = row != NULL && row->error == ENOSYS;
	if (held_describe(h, name, &call) != 0)
		return -ENOMEM;
	r.call = buf_str(&call);
	if (r.call == NULL || !notify_holds(&w->notify, h->n->id))
		return r.call == NULL ? -ENOMEM : 0;
	return violations_add_call(&w->violations, h, &r);
}

static int refuse(struct watch *w, const struct held *h, const char *name, uint32_t verdict)
{
	int error = ENOSYS; /* of `notify`: nobody answers otherwise */
	const char *action = "notify";
	int rc;

	if ((verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO) {
		error = (int)(verdict & SECCOMP_RET_DATA);
		action = strerrorname_np(error);
	} else if ((verdict & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_USER_NOTIF) {
		error = EPERM;
		action = "kill";
	}
	rc = note_refusal(w, h, name, action != NULL ? action : "errno", error);
	if (error == EPERM && str_eq(action, "kill"))
		end_process(w, h);
	notify_answer(&w->notify, h->n->id, error);
	return rc;
}

static bool is_guard(const struct watch *w, const struct held *h)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)h->thread);
	return stat(path, &st) == 0 && st.st_dev == w->guard_dev && st.st_ino == w->guard_ino;
}

/* The call goes on; what it asks for and is not granted is noted. */
static int pass(struct watch *w, const struct held *h, const char *name)
{
	struct access *a = calloc(ACCESS_MAX, sizeof(*a));
	size_t n = a == NULL ? 0 : access_of(h, name, a);
	bool real = notify_holds(&w->notify, h->n->id);
	int rc = a == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && real && i < n; i++)
		rc = violations_add_access(&w->violations, h, name, &a[i], grants_lack(&w->grants, &a[i]));
	notify_answer(&w->notify, h->n->id, 0);
	free(a);
	return rc;
}

int watch_step(struct watch *w, struct err *e)
{
	struct seccomp_notif n;
	char name[PROFILE_CALL_MAX];
	struct held h;
	uint32_t verdict;
	int rc;

	if (notify_next(&w->notify, &n) == 0)
		return 0;
	held_open(&h, &n);
	name_call(&n.data, name);
	verdict = notify_evaluate(&w->program, &n.data);
	w->started = w->started || !is_guard(w, &h);
	if (!w->started && verdict == SECCOMP_RET_ALLOW && !str_starts(name, "execve")) {
		rc = 0;
		notify_answer(&w->notify, n.id, 0);
	} else if (verdict != SECCOMP_RET_ALLOW)
		rc = refuse(w, &h, name, verdict);
	else
		rc = pass(w, &h, name);
	held_done(&h);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot note what was refused");
}
