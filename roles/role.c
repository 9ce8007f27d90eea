/* Roles, levels and layers by name. */
#include "roles/role.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const char *const levels[] = {[LEVEL_NONE] = "none", [LEVEL_R] = "r", [LEVEL_RW] = "rw"};

static const struct {
	enum layer layer;
	const char *name;
} layers[] = {{LAYER_ACL, "acl"}, {LAYER_LANDLOCK, "landlock"}, {LAYER_SECCOMP, "seccomp"}};

#define N_LAYERS (sizeof(layers) / sizeof(layers[0]))

bool role_name_ok(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= ROLE_NAME_MAX || name[0] < 'a' || name[0] > 'z')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

const char *level_name(enum level level)
{
	return levels[level];
}

const char *layer_name(enum layer layer)
{
	for (size_t i = 0; i < N_LAYERS; i++)
		if (layers[i].layer == layer)
			return layers[i].name;
	return "all";
}

int layers_parse(const char *list, unsigned int *ret_layers, const char **ret_bad)
{
	unsigned int got = 0;

	for (const char *p = list;;) {
		size_t n = strcspn(p, ",");
		size_t i;

		for (i = 0; i < N_LAYERS; i++)
			if (strlen(layers[i].name) == n && strncmp(layers[i].name, p, n) == 0)
				break;
		if (i == N_LAYERS) {
			*ret_bad = p;
			return -EINVAL;
		}
		got |= (unsigned int)layers[i].layer;
		if (p[n] == '\0')
			break;
		p += n + 1;
	}
	*ret_layers = got;
	return 0;
}
