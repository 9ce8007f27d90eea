/* Landlock's audit records: see audit.h. */
#include "orchestrator/audit.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

/* Since Linux 6.15; the system's header may lack them. */
#define LANDLOCK_ACCESS 1423u
#define LANDLOCK_DOMAIN 1424u

#define LOG_ABI 7
#define MESSAGE_MAX 16384
#define LAST_MS 60      /* no record for so long: there is none on its way */
#define LAST_ROUNDS 20

/* ---- the socket */

/* 1: records are made, 0: they are not, or a negative errno. */
static int is_switched_on(void)
{
	AUTO_FD fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
	struct nlmsghdr ask = {.nlmsg_len = NLMSG_LENGTH(0), .nlmsg_type = AUDIT_GET, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = 1};
	struct pollfd p = {.fd = fd, .events = POLLIN};
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} got;
	struct audit_status status;
	ssize_t n;
	size_t len;

	if (fd < 0 || send(fd, &ask, ask.nlmsg_len, 0) < 0)
		return -errno;
	if (poll(&p, 1, 1000) != 1)
		return -ETIMEDOUT;
	n = recv(fd, &got, sizeof(got), 0);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(int)))
		return n < 0 ? -errno : -EBADMSG;
	if (got.head.nlmsg_type != AUDIT_GET || n < (ssize_t)NLMSG_LENGTH(2 * sizeof(uint32_t)))
		return -EPERM;
	len = (size_t)n - NLMSG_LENGTH(0);
	memset(&status, 0, sizeof(status));
	memcpy(&status, NLMSG_DATA(&got.head), len < sizeof(status) ? len : sizeof(status));
	return status.enabled != 0 ? 1 : 0;
}

void audit_open(struct audit *ret, int abi)
{
	struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = 1u << (AUDIT_NLGRP_READLOG - 1)};
	int on;
	AUTO_FD fd = -1;

	*ret = (struct audit){.fd = -1};
	if (abi < LOG_ABI) {
		ret->why = "this kernel makes no records of what Landlock refuses (ABI 7)";
		return;
	}
	on = is_switched_on();
	if (on == -EPERM) {
		ret->why = "the kernel's audit records are for root (CAP_AUDIT_READ)";
		return;
	}
	if (on <= 0) {
		ret->why = on == 0 ? "the kernel makes no audit records: auditctl -e 1 switches them on" : "this kernel has no audit";
		return;
	}
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_AUDIT);
	if (fd < 0 || bind(fd, (struct sockaddr *)&all, sizeof(all)) != 0) {
		ret->why = "the kernel's audit records are for root (CAP_AUDIT_READ)";
		return;
	}
	ret->fd = fd_take(&fd);
}

void audit_close(struct audit *a)
{
	fd_close(&a->fd);
	for (unsigned int i = 0; i < a->n; i++)
		free(a->waiting[i].text);
	a->n = 0;
}

/* ---- records */

/* The value of " KEY=": up to the next blank, or in quotes, or in hexadecimal where it has bytes that quotes cannot hold. False
 * when there is none, or it is too long. */
static bool field(const char *text, const char *key, char *ret, size_t size)
{
	size_t len = strlen(key);
	const char *at = text;
	size_t n;

	while ((at = strstr(at, key)) != NULL && !(at[len] == '=' && (at == text || at[-1] == ' ')))
		at += len;
	if (at == NULL)
		return false;
	at += len + 1;
	if (*at == '"') {
		n = strcspn(++at, "\"");
	} else {
		n = strcspn(at, " \n");
	}
	if (n >= size)
		return false;
	memcpy(ret, at, n);
	ret[n] = '\0';
	return true;
}

static bool unhex(const char *text, char *ret, size_t size)
{
	size_t n = strlen(text);

	if (n == 0 || n % 2 != 0 || n / 2 >= size)
		return false;
	for (size_t i = 0; i < n / 2; i++) {
		const char two[3] = {text[2 * i], text[2 * i + 1], '\0'};

		if (!isxdigit((unsigned char)two[0]) || !isxdigit((unsigned char)two[1]))
			return false;
		ret[i] = (char)strtoul(two, NULL, 16);
	}
	ret[n / 2] = '\0';
	return true;
}

/* A path that is not quoted is hexadecimal. */
static bool path_field(const char *text, char ret[PATH_MAX])
{
	char word[2 * PATH_MAX];

	if (!field(text, "path", word, sizeof(word)))
		return false;
	if (word[0] != '/')
		return unhex(word, ret, PATH_MAX);
	if (strlen(word) >= PATH_MAX)
		return false;
	memcpy(ret, word, strlen(word) + 1);
	return true;
}

static uint64_t domain_field(const char *text)
{
	char word[32];

	return field(text, "domain", word, sizeof(word)) ? strtoull(word, NULL, 16) : 0;
}

static int access_record(const char *text, struct violations *v)
{
	char blockers[512];
	char path[PATH_MAX];
	char port[16];
	bool has_path = path_field(text, path);
	bool has_port = field(text, "dest", port, sizeof(port)) || field(text, "src", port, sizeof(port));
	const char *object = strstr(text, "blockers=");
	char *save = NULL;
	int rc = 0;

	if (object == NULL || !field(text, "blockers", blockers, sizeof(blockers)))
		return 0;
	object += strcspn(object, " ");
	object += *object == ' ' ? 1 : 0;
	for (char *one = strtok_r(blockers, ",", &save); rc == 0 && one != NULL; one = strtok_r(NULL, ",", &save))
		rc = violations_add_audit(v, one, has_path ? path : NULL, has_port ? (uint16_t)strtoul(port, NULL, 10) : 0, object);
	return rc;
}

static int keep(struct audit *a, uint64_t domain, const char *text)
{
	if (a->n == AUDIT_WAITING) /* of other sandboxes of this machine */
		return 0;
	a->waiting[a->n].text = strdup(text);
	if (a->waiting[a->n].text == NULL)
		return -ENOMEM;
	a->waiting[a->n++].domain = domain;
	return 0;
}

/* The kernel names a domain once, after the first refusal in it: what waited is looked at again. */
static int name_domain(struct audit *a, uint64_t domain, bool is_ours, struct violations *v)
{
	unsigned int left = 0;
	int rc = 0;

	if (is_ours)
		a->domain = domain;
	for (unsigned int i = 0; i < a->n; i++) {
		if (a->waiting[i].domain != domain) {
			a->waiting[left++] = a->waiting[i];
			continue;
		}
		if (is_ours && rc == 0)
			rc = access_record(a->waiting[i].text, v);
		free(a->waiting[i].text);
	}
	a->n = left;
	return rc;
}

/* The command may confine itself further in the same process, but not as stint-guard. */
static bool made_by(const char *text, pid_t command)
{
	char pid[16];
	char comm[64];

	return field(text, "pid", pid, sizeof(pid)) && strtol(pid, NULL, 10) == command && field(text, "comm", comm, sizeof(comm)) &&
	       str_eq(comm, "stint-guard");
}

int audit_record(struct audit *a, unsigned int type, const char *text, pid_t command, struct violations *v)
{
	uint64_t domain = domain_field(text);

	if (type == LANDLOCK_DOMAIN && strstr(text, "status=allocated") != NULL)
		return name_domain(a, domain, a->domain == 0 && made_by(text, command), v);
	if (type != LANDLOCK_ACCESS || domain == 0)
		return 0;
	if (domain == a->domain)
		return access_record(text, v);
	return a->domain == 0 ? keep(a, domain, text) : 0;
}

int audit_take(struct audit *a, pid_t command, struct violations *v)
{
	union {
		struct nlmsghdr head;
		char bytes[MESSAGE_MAX];
	} got;
	int rc = 0;

	while (rc == 0) {
		ssize_t n = recv(a->fd, &got, sizeof(got) - 1, 0);

		if (n < 0 && (errno == EINTR || errno == ENOBUFS)) /* some were lost: the supervisor has seen its own */
			continue;
		if (n < (ssize_t)NLMSG_LENGTH(0))
			return 0;
		got.bytes[n] = '\0';
		rc = audit_record(a, got.head.nlmsg_type, NLMSG_DATA(&got.head), command, v);
	}
	return rc;
}

int audit_finish(struct audit *a, pid_t command, struct violations *v)
{
	int rc = 0;

	for (int i = 0; rc == 0 && a->fd >= 0 && i < LAST_ROUNDS; i++) {
		struct pollfd p = {.fd = a->fd, .events = POLLIN};

		if (poll(&p, 1, LAST_MS) <= 0)
			break;
		rc = audit_take(a, command, v);
	}
	return rc;
}
