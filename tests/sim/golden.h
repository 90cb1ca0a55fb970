/* SPDX-License-Identifier: MIT */
/*
 * golden - compare a text with tests/sim/golden/NAME.txt.
 *
 * PALE_UPDATE_GOLDEN=1 writes the files instead: read the diff before it is
 * committed, it is the review of what a change does to every plan.
 */
#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "tests/tap.h"

#define GOLDEN_DIR "tests/sim/golden/"

static inline bool golden_is_updating(void)
{
	return str_eq(getenv("PALE_UPDATE_GOLDEN"), "1");
}

/* The first line that differs, for the report. */
static inline void golden_note(const char *got, const char *want)
{
	unsigned line = 1;

	while (*got && *want) {
		size_t a = strcspn(got, "\n"), b = strcspn(want, "\n");

		if (a != b || strncmp(got, want, a) != 0)
			break;
		got += a + (got[a] == '\n');
		want += b + (want[b] == '\n');
		line++;
	}
	tap_note("line %u\n     got: %.*s\nexpected: %.*s", line, (int)strcspn(got, "\n"), got,
		 (int)strcspn(want, "\n"), want);
}

static inline void golden_check(const char *name, const struct str *text)
{
	_cleanup_(freep) char *path = str_printf(GOLDEN_DIR "%s.txt", name);
	_cleanup_(str_release) struct str want = {0};

	if (!path)
		abort();
	if (golden_is_updating()) {
		_cleanup_(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
						   0644);

		tap_ok(fd >= 0 && fd_write_all(fd, text->data, text->len) == 0, "%s: written",
		       name);
		return;
	}
	if (file_read(AT_FDCWD, path, 1 << 20, &want, NULL) < 0) {
		tap_ok(false, "%s: no %s", name, path);
		return;
	}
	if (!tap_ok(str_eq(str_text(&want), str_text(text)), "%s", name))
		golden_note(str_text(text), str_text(&want));
}
