/* SPDX-License-Identifier: MIT */
#include "stage/mounts.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

#define MOUNTINFO "/proc/self/mountinfo"
enum { TEXT_MAX = 16 << 20, POINT = 4 /* which word of a line it is */ };

static bool is_octal(const char *text)
{
	return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7';
}

/* Blanks, newlines and backslashes are \NNN there. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && is_octal(text + 1)) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

int mounts_parse(char *text, struct strv *ret)
{
	char *next = NULL;
	int r = 0;

	for (char *line = strtok_r(text, "\n", &next); line && r == 0;
	     line = strtok_r(NULL, "\n", &next)) {
		for (int i = 0; i < POINT && line; i++) {
			line = strchr(line, ' ');
			line += line ? 1 : 0;
		}
		if (!line)
			continue;
		line[strcspn(line, " ")] = '\0';
		unescape(line);
		r = strv_add(ret, line);
	}
	return r;
}

int mounts_read(struct strv *ret, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = file_read(AT_FDCWD, MOUNTINFO, TEXT_MAX, &text, err);

	if (r < 0)
		return r;
	return text.data && mounts_parse(text.data, ret) < 0 ? err_oom(err) : 0;
}
