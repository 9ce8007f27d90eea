/* An error for people: one sentence that says what failed, why, and what to do.
 *
 * Functions that can fail return 0 or a negative errno and take a `struct err *`
 * as their last argument. The callee that sees the failure sets it; callers on the
 * way up may put context in front. A NULL `struct err *` is accepted and ignored. */
#ifndef STINT_BASE_ERR_H
#define STINT_BASE_ERR_H

#define ERR_MSG_MAX 1024

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

struct err {
	int code;               /* positive errno, 0 when unset */
	int exit;               /* enum stop that this error asks for, 0 when unset */
	int located;            /* msg begins with FILE:LINE:COL: printed without "stint: " in front */
	char msg[ERR_MSG_MAX];  /* "what failed: why: what to do", no newline */
};

/* Sets the message and code (a positive errno) and returns -code. Overlong text is cut. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As err_set(), and appends ": " and strerror(code). */
int err_errno(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "context: " in front of the message; returns -e->code (or -EINVAL when e is unset). */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Says which exit status this error asks for, unless one is set already or rc is 0. Returns rc unchanged. */
int err_stop(struct err *e, int stop, int rc);

#endif
