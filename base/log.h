/* The log sink: lines for people on stderr, in the one form `stint: …`, control characters and invalid bytes escaped. The only
 * mutable global of the program is whether a live status line must be cleared first. Libraries do not call this; commands
 * and mains do. */
#ifndef STINT_BASE_LOG_H
#define STINT_BASE_LOG_H

#include "base/err.h"

/* Prints "stint: MSG" (or MSG alone when it is located) and returns the exit status that e asks for, or fallback. */
int log_err(const struct err *e, int fallback);
void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2); /* "stint: warning: …" */
void log_note(const char *fmt, ...) PRINTF_LIKE(1, 2); /* "stint: …" */

/* Called before every line with the sink's cookie, to clear a live line; NULL removes it. */
void log_set_before(void (*before)(void *), void *cookie);

#endif
