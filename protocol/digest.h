/* SHA-256 by libcrypto, in one piece or as the bytes come. */
#ifndef STINT_PROTOCOL_DIGEST_H
#define STINT_PROTOCOL_DIGEST_H

#include <stddef.h>

#include "base/err.h"

#define DIGEST_HEX_MAX 65              /* 64 small hex digits and NUL */
#define DIGEST_MAX (7 + DIGEST_HEX_MAX) /* "sha256:" in front */

struct digest {
	void *state;                   /* EVP_MD_CTX, owned; NULL: not begun */
};

/* All return 0 or -ENOMEM: the only reason for which they fail. */
int digest_begin(struct digest *d) MUST_CHECK;
int digest_add(struct digest *d, const void *p, size_t n) MUST_CHECK;
/* "sha256:…" of all that was added; d is done afterwards. */
int digest_end(struct digest *d, char ret[DIGEST_MAX]) MUST_CHECK;
void digest_done(struct digest *d);

/* Of bytes that are there as a whole. */
int digest_of(const void *p, size_t n, char ret[DIGEST_MAX]) MUST_CHECK;

#endif
