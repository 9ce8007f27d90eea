/* Hashes: see digest.h. */
#include "protocol/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define SHA256_BYTES 32u

int digest_begin(struct digest *d)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (c == NULL || EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(c);
		return -ENOMEM;
	}
	d->state = c;
	return 0;
}

int digest_add(struct digest *d, const void *p, size_t n)
{
	return EVP_DigestUpdate(d->state, p, n) == 1 ? 0 : -ENOMEM;
}

int digest_end(struct digest *d, char ret[DIGEST_MAX])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	int rc = EVP_DigestFinal_ex(d->state, bytes, &n) == 1 && n == SHA256_BYTES ? 0 : -ENOMEM;

	digest_done(d);
	if (rc != 0)
		return rc;
	memcpy(ret, "sha256:", 8);
	for (unsigned int i = 0; i < n; i++)
		(void)snprintf(ret + 7 + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

void digest_done(struct digest *d)
{
	EVP_MD_CTX_free(d->state);
	d->state = NULL;
}

int digest_of(const void *p, size_t n, char ret[DIGEST_MAX])
{
	struct digest d = {0};
	int rc = digest_begin(&d);

	if (rc == 0)
		rc = digest_add(&d, p, n);
	if (rc == 0)
		return digest_end(&d, ret);
	digest_done(&d);
	return rc;
}
