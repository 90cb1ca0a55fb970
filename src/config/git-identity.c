/* SPDX-License-Identifier: MIT */
#include "config/git-identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "config/workspace.h"

enum { FILE_MAX = 1 << 20 };

#define BLANKS " \t\r"

/* The value after `=`: quotes taken off, comments and outer blanks dropped. */
static int read_value(const char *text, size_t len, struct str *ret)
{
	bool quoted = false;
	size_t end = 0; /* of what counts: blanks at the end do not */
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++) {
		char c = text[i];

		if (!quoted && (c == '#' || c == ';'))
			break;
		if (c == '"') {
			quoted = !quoted;
			end = ret->len;
			continue;
		}
		if (c == '\\' && i + 1 < len && strchr("\"\\", text[i + 1]))
			c = text[++i];
		r = str_append_char(ret, c);
		if (quoted || !strchr(BLANKS, c))
			end = ret->len;
	}
	str_truncate(ret, end);
	return r;
}

/* A name that would change the meaning of a line is no name. */
static bool is_plain(const struct str *text)
{
	for (size_t i = 0; i < text->len; i++)
		if ((unsigned char)text->data[i] < 0x20 || text->data[i] == 0x7f)
			return false;
	return text->len > 0;
}

static int take_key(const char *line, size_t len, const char *key, char **ret)
{
	size_t key_len = strlen(key), at;
	_cleanup_(str_release) struct str value = {0};

	if (len < key_len || strncasecmp(line, key, key_len) != 0)
		return 0;
	at = key_len + strspn(line + key_len, BLANKS);
	if (at >= len || line[at] != '=')
		return 0;
	at += 1 + strspn(line + at + 1, BLANKS);
	if (at < len && read_value(line + at, len - at, &value) < 0)
		return -ENOMEM;
	if (!is_plain(&value))
		return 0;
	free(*ret);
	*ret = take_ptr(value.data);
	return 0;
}

int git_identity_parse(const char *text, struct git_identity *identity)
{
	bool in_user = false;
	int r = 0;

	while (*text && r == 0) {
		size_t len = strcspn(text, "\n");
		size_t skip = strspn(text, BLANKS);
		const char *line = text + skip;
		size_t rest = len - (skip < len ? skip : len);

		if (rest > 0 && line[0] == '[') {
			in_user = rest >= 6 && strncasecmp(line, "[user]", 6) == 0;
		} else if (in_user) {
			r = take_key(line, rest, "name", &identity->name);
			if (r == 0)
				r = take_key(line, rest, "email", &identity->email);
		}
		text += len + (text[len] == '\n');
	}
	return r;
}

static int read_file(const char *dir, const char *name, struct git_identity *identity)
{
	_cleanup_(freep) char *path = NULL;
	_cleanup_(str_release) struct str text = {0};

	if (!dir)
		return 0;
	if (path_normalize(dir, name, &path) < 0)
		return -ENOMEM;
	if (file_read(AT_FDCWD, path, FILE_MAX, &text, NULL) < 0)
		return 0;
	return git_identity_parse(str_text(&text), identity);
}

int git_identity_read(const struct user *user, struct git_identity *ret)
{
	struct git_identity identity = {0};
	/* Beside pale's own folder, whether that exists or not. */
	int r = read_file(user->config_dir, "../git/config", &identity);

	if (r == 0)
		r = read_file(user->home, ".gitconfig", &identity);
	if (r < 0) {
		git_identity_release(&identity);
		return r;
	}
	*ret = identity;
	return 0;
}

void git_identity_release(struct git_identity *identity)
{
	free(identity->name);
	free(identity->email);
	*identity = (struct git_identity){0};
}
