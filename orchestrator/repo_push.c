/* Pushing the branch: no force, no credential helper, no program, and never longer than the deadline. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

/* What a URL is for libgit2: a path, or one of these. Others (ext::, git-remote-*) would be programs of git, which
 * libgit2 does not know and would mistake for a host. */
static bool url_ok(const char *url)
{
	static const char *const schemes[] = {
		"file://", "ssh://", "git+ssh://", "ssh+git://", "https://", "http://", "git://",
	};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (str_starts(url, schemes[i]))
			return true;
	return strstr(url, "::") == NULL && strstr(url, "://") == NULL && url[0] != '-' && url[0] != '\0';
}

static int lookup(struct repo *r, const char *remote, git_remote **ret, struct err *e)
{
	int rc = git_remote_lookup(ret, r->git, remote);
	const char *url;

	if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC)
		return err_stop(e, STOP_USAGE, err_set(e, ENOENT, "commit.push names \"%s\", which is no remote of %s: "
		                "git remote add it, or correct commit.push", repo_show(remote).s, r->root_path));
	if (rc != 0)
		return repo_git_error(e, rc, STOP_USAGE, "cannot look up the remote %s", repo_show(remote).s);
	url = git_remote_pushurl(*ret) != NULL ? git_remote_pushurl(*ret) : git_remote_url(*ret);
	if (url == NULL || !url_ok(url)) {
		rc = err_set(e, EINVAL, "remote %s: stint cannot push to %s: it runs no remote helper: use a path, ssh or "
		             "https", repo_show(remote).s, url == NULL ? "a remote without URL" : repo_show(url).s);
		git_remote_free(*ret);
		*ret = NULL;
		return err_stop(e, STOP_USAGE, rc);
	}
	return 0;
}

int repo_check_remote(struct repo *r, const char *remote, struct err *e)
{
	git_remote *found = NULL;
	int rc = lookup(r, remote, &found, e);

	git_remote_free(found);
	return rc;
}

struct push {
	struct repo *r;
	const char *remote;
	char refused[160];       /* the remote's reason */
	bool asked;              /* credentials were asked for once */
};

static int on_reference(const char *refname, const char *status, void *data)
{
	struct push *p = data;

	(void)refname;
	if (status == NULL)
		return 0;
	(void)snprintf(p->refused, sizeof(p->refused), "%s", repo_show(status).s);
	return -1;
}

static int on_credentials(git_credential **out, const char *url, const char *user, unsigned int allowed, void *data)
{
	struct push *p = data;

	(void)url;
	/* Asked again means refused: a second try with the same key would never end. */
	if (p->asked || (allowed & GIT_CREDENTIAL_SSH_KEY) == 0)
		return GIT_PASSTHROUGH;
	p->asked = true;
	return git_credential_ssh_key_from_agent(out, user == NULL ? "git" : user);
}

static int push_branch(void *arg, struct err *e)
{
	struct push *p = arg;
	REPO_AUTO(reference, ref) = NULL;
	REPO_AUTO(commit, head) = NULL;
	AUTO_FREE char *spec = NULL;
	git_remote *remote = NULL;
	git_push_options options;
	git_strarray specs = {.strings = &spec, .count = 1};
	int rc = repo_head_commit(p->r, &ref, &head, STOP_RECORD, e);

	if (rc == 0)
		rc = lookup(p->r, p->remote, &remote, e);
	if (rc != 0)
		return rc;
	if (git_push_options_init(&options, GIT_PUSH_OPTIONS_VERSION) != 0 ||
	    asprintf(&spec, "%s:%s", git_reference_name(ref), git_reference_name(ref)) < 0) {
		spec = NULL;
		git_remote_free(remote);
		return err_errno(e, ENOMEM, "cannot push");
	}
	options.callbacks.push_update_reference = on_reference;
	options.callbacks.credentials = on_credentials;
	options.callbacks.payload = p;
	rc = git_remote_push(remote, &specs, &options);
	if (rc == GIT_ENONFASTFORWARD)
		rc = err_set(e, ESTALE, "the remote has commits that this branch has not: pull them, then push");
	else if (p->refused[0] != '\0')
		rc = err_set(e, EACCES, "the remote refused: %s", p->refused);
	else if (rc != 0)
		rc = repo_git_error(e, rc, STOP_RECORD, "libgit2 says");
	git_remote_free(remote);
	return rc;
}

int repo_push(struct repo *r, const char *remote, uint64_t deadline_ms, struct err *e)
{
	struct push p = {.r = r, .remote = remote};
	int rc = repo_in_child(push_branch, &p, deadline_ms, e);

	if (rc == 0)
		return 0;
	if (rc == -ETIMEDOUT)
		err_set(e, ETIMEDOUT, "no answer within %llu s", (unsigned long long)(deadline_ms / 1000));
	(void)err_wrap(e, "cannot push to %s (the commit is made; git push does it by hand)", repo_show(remote).s);
	return err_stop(e, STOP_RECORD, rc);
}
