/* Errors: formatting and context. Writes only into the caller's object. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Text that did not fit ends with a whole character. */
static void end_whole(struct err *e)
{
	e->msg[str_cut(e->msg, strlen(e->msg))] = '\0';
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return -code;
	e->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	end_whole(e);
	return -code;
}

int err_errno(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (e == NULL)
		return -code;
	e->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	(void)snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", strerror(code));
	end_whole(e);
	return -code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char old[ERR_MSG_MAX];
	va_list ap;
	size_t n;

	if (e == NULL)
		return -EINVAL;
	memcpy(old, e->msg, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	(void)snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", old);
	end_whole(e);
	return e->code > 0 ? -e->code : -EINVAL;
}

int err_stop(struct err *e, int stop, int rc)
{
	if (rc != 0 && e != NULL && e->exit == 0)
		e->exit = stop;
	return rc;
}
