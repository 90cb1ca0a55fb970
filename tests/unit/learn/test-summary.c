/* SPDX-License-Identifier: MIT */
/* summary: a profile by folders. */
#include "learn/summary.h"

#include <string.h>

#include "base/cleanup.h"
#include "config/workspace.h"
#include "observe/profile.h"
#include "tap.h"

static bool is_there(const char *path)
{
	return strcmp(path, "/bin/cc") != 0;
}

static void check(const struct profile *profile, enum summary_kind kind, const char *want)
{
	static const struct user user = {.home = "/home/ann"};
	static const struct summary_facts facts = {
		.workspace = "/home/ann/w", .user = &user, .is_there = is_there};
	_cleanup_(str_release) struct str got = {0};
	struct summary_row *rows = NULL;
	size_t len = 0;

	tap_ok(summary_make(profile, kind, &facts, &rows, &len) == 0, "%s", summary_name(kind));
	for (size_t i = 0; i < len; i++)
		str_appendf(&got, "%s%s %zu", i ? "; " : "", rows[i].where, rows[i].count);
	tap_eq_str(str_text(&got), want, "%s: rows", summary_name(kind));
	summary_free(rows, len);
}

int main(void)
{
	static const char *const read[] = {
		"/home/ann/w",
		"/home/ann/w/Makefile",
		"/home/ann/w/src/a.c",
		"/home/ann/w/src/x/b.c",
		"/usr/lib/x86/libc.so",
		"/usr/lib/y",
		"/etc/passwd",
		"/",
		"/home/ann",
		"/home/ann/.cache/pip/x/y",
		"/home/ann/.netrc",
		"relative",
		"/etc/ld/x",
	};
	_cleanup_(profile_release) struct profile profile = {0}, empty = {0};

	for (size_t i = 0; i < array_len(read); i++)
		profile_add_path(&profile, read[i], PROFILE_READ);
	profile_add_path(&profile, "/bin/cc", PROFILE_EXECUTE);
	profile_add_path(&profile, "/usr/bin/cc", PROFILE_EXECUTE);
	profile_add_path(&profile, "/home/ann/w/obj/a.o", PROFILE_CREATE);
	profile_add_path(&profile, "/home/ann/w/obj/b.o", PROFILE_REMOVE);
	profile_add_connection(&profile, "127.0.0.1", 80);
	profile_add_connection(&profile, "::1", 80);
	profile_add_connection(&profile, "/run/x.sock", 0);
	check(&profile, SUMMARY_EXECUTED, "/usr/bin/cc 1");
	check(&profile, SUMMARY_READ,
	      ". 1; / 1; /etc/ld/ 1; /etc/passwd 1; /home/ann 1; /usr/lib/ 2; Makefile 1; relative "
	      "1; src/ 2; ~/.cache/pip/ 1; ~/.netrc 1");
	check(&profile, SUMMARY_WRITTEN, "obj/ 2");
	check(&profile, SUMMARY_CONNECTED, "/run/x.sock 1; 127.0.0.1:80 1; [::1]:80 1");
	check(&empty, SUMMARY_READ, "");
	return tap_done();
}
