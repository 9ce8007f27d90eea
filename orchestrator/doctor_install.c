/* `stint doctor`: the installation: stint's programs, and the libraries that they were built and are loaded with. */
#include <cmark.h>
#include <git2.h>
#include <jansson.h>
#include <limits.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/doctor_report.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

static void program(struct doctor_report *r, const char *name)
{
	static const char reinstall[] = "run sudo make install";
	char path[PATH_MAX + 64];
	struct stat st;
	struct err e = {0};

	if (fd_sibling_path(name, path, sizeof(path), &e) != 0) {
		doctor_add(r, DOCTOR_FAIL, "program", "stint is four programs", reinstall, "%s", e.msg);
		return;
	}
	if (stat(path, &st) != 0 || access(path, X_OK) != 0)
		doctor_add(r, DOCTOR_FAIL, "program", "stint is four programs", reinstall, "%s cannot be executed", path);
	else if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		doctor_add(r, DOCTOR_WARN, "program", "root starts it: whoever can write it can become root", reinstall,
		           "%s can be written by others than root", path);
	else
		doctor_add(r, DOCTOR_OK, "program", NULL, NULL, "%s", path);
}

static void library(struct doctor_report *r, const char *id, const char *built, const char *loaded)
{
	if (str_eq(built, loaded))
		doctor_add(r, DOCTOR_OK, id, NULL, NULL, "%s", loaded);
	else
		doctor_add(r, DOCTOR_OK, id, NULL, NULL, "%s (built with %s)", loaded, built);
}

static void libraries(struct doctor_report *r)
{
	char git[32];
	char pcre2[64] = ""; /* "10.42 2022-12-11" */
	int a = 0;
	int b = 0;
	int c = 0;

	git_libgit2_version(&a, &b, &c);
	(void)snprintf(git, sizeof(git), "%d.%d.%d", a, b, c);
	(void)pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
	pcre2[strcspn(pcre2, " ")] = '\0';
	library(r, "libgit2", LIBGIT2_VERSION, git);
	library(r, "libyaml", yaml_get_version_string(), yaml_get_version_string());
	library(r, "jansson", JANSSON_VERSION, jansson_version_str());
	library(r, "libpcre2", TEXT(PCRE2_MAJOR) "." TEXT(PCRE2_MINOR), pcre2);
	library(r, "libcmark", CMARK_VERSION_STRING, cmark_version_string());
	doctor_add(r, DOCTOR_OK, "libseccomp", NULL, NULL, "%s at build time: the filters are ready-made",
	           TEXT(SCMP_VER_MAJOR) "." TEXT(SCMP_VER_MINOR) "." TEXT(SCMP_VER_MICRO));
}

void doctor_install(struct doctor_report *r)
{
	program(r, "stint");
	program(r, "stint-coordinator");
	program(r, "stint-warden");
	program(r, "stint-guard");
	libraries(r);
}
