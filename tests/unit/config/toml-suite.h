/* SPDX-License-Identifier: MIT */
/*
 * toml-suite - the public conformance suite (toml-test), as a list of files.
 *
 * Found beside the repository, or where PALE_TOML_TEST says.
 */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const char *suite_dir(void)
{
	const char *dir = getenv("PALE_TOML_TEST");

	return dir && *dir ? dir : "../shared/toml-test/tests";
}

/* False: it cannot be read. */
static bool suite_read(const char *name, struct str *text)
{
	_cleanup_(freep) char *path = str_printf("%s/%s", suite_dir(), name);
	char buf[65536];
	FILE *file = path ? fopen(path, "re") : NULL;
	size_t n;

	str_truncate(text, 0);
	if (!file)
		return false;
	while ((n = fread(buf, 1, sizeof(buf), file)) > 0) {
		if (str_append_bytes(text, buf, n) < 0)
			abort();
	}
	fclose(file);
	return true;
}

/* Call CASE for every .toml file of the suite whose name begins with PREFIX;
 * how many there were. */
static unsigned suite_each(const char *prefix, void (*one_case)(const char *name))
{
	_cleanup_(str_release) struct str list = {0};
	unsigned count = 0;
	char *save = NULL;

	if (!suite_read("files-toml-1.0.0", &list) || list.len == 0)
		return 0;
	for (char *name = strtok_r(list.data, "\n", &save); name;
	     name = strtok_r(NULL, "\n", &save)) {
		if (!str_starts(name, prefix) || !str_ends(name, ".toml"))
			continue;
		one_case(name);
		count++;
	}
	return count;
}
