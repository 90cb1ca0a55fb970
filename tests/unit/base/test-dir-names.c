/* SPDX-License-Identifier: MIT */
#include "base/dir-names.h"
#include "scratch.h"
#include "tap.h"

static const char *const asked[] = {".envrc", "pale.toml", ".a", "x", "a-long-name.with.dots"};

static struct dir_names read_names(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dir_names names;

	if (fd < 0)
		abort();
	dir_names_read(fd, &names);
	close(fd);
	return names;
}

static size_t count(const struct dir_names *names)
{
	size_t found = 0;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		found += dir_names_may_have(names, asked[i]);
	return found;
}

static bool may_have(const char *dir, const char *name)
{
	struct dir_names names = read_names(dir);

	return dir_names_may_have(&names, name);
}

static void test_small(void)
{
	struct dir_names names;

	mkdir("small", 0755);
	names = read_names("small");
	tap_ok(names.is_known && count(&names) == 0, "an empty folder has none of the names");
	scratch_write("small/.ENVRC", "");
	scratch_write("small/Pale.toml", "");
	mkdir("small/X", 0755);
	names = read_names("small");
	tap_ok(names.is_known && count(&names) == 3, "those that differ by case may be there");
	tap_ok(dir_names_may_have(&names, "x/y/z") && !dir_names_may_have(&names, "y/x"),
	       "of a path the first name counts");
	tap_ok(dir_names_may_have(&names, "\303\274"), "what is not ASCII may always be there");
}

static void test_unknown(void)
{
	size_t n = 0;

	mkdir("other", 0755);
	scratch_write("other/k\314\210", "");
	tap_ok(may_have("other", "x"), "beside a name that is not ASCII each may be there");
	tap_ok(may_have("/proc/self", "x"), "on a filesystem that is not known, too");
	mkdir("many", 0755);
	for (bool is_known = true; n < 2000 && is_known; n++) {
		char name[64];

		snprintf(name, sizeof(name), "many/%zu-is-a-name-of-some-length", n);
		scratch_write(name, "");
		is_known = read_names("many").is_known;
	}
	tap_ok(n > 50 && n < 2000 && may_have("many", "x"), "in a big folder as well");
	tap_note("from %zu names on", n);
}

/* Each of many names that are there is found, at every size of the folder. */
static void test_never_absent(void)
{
	size_t lost = 0;

	mkdir("grows", 0755);
	for (unsigned i = 0; i < 400; i++) {
		struct dir_names names;
		char path[64];

		snprintf(path, sizeof(path), "grows/.%x%s", i * 2654435761u, i % 3 ? "rc" : "");
		scratch_write(path, "");
		names = read_names("grows");
		for (unsigned j = 0; j <= i; j++) {
			snprintf(path, sizeof(path), ".%X%s", j * 2654435761u, j % 3 ? "rc" : "");
			lost += !dir_names_may_have(&names, path);
		}
	}
	tap_ok(lost == 0, "a name that is there is never taken for absent");
}

int main(void)
{
	scratch_enter();
	test_small();
	test_unknown();
	test_never_absent();
	scratch_leave();
	return tap_done();
}
