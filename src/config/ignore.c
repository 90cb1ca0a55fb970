/* SPDX-License-Identifier: MIT */
#include "config/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "config/ignore-impl.h"

/* Blanks at the end do not count, unless the last one is escaped. */
static size_t trimmed(const char *line, size_t len)
{
	size_t end = 0;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\\')
			i++;
		else if (line[i] == ' ')
			continue;
		end = i + 1;
	}
	return end < len ? end : len;
}

/* Git takes them for a part of the name, which nobody can see. */
static bool ends_in_odd_blank(const char *line, size_t len)
{
	return strchr("\t\r\v\f", line[len - 1]) && (len == 1 || line[len - 2] != '\\');
}

static int reserve_one(struct ignore *ignore)
{
	size_t cap = ignore->cap ? ignore->cap * 2 : 16;
	struct ignore_rule *grown;

	if (ignore->len < ignore->cap)
		return 0;
	grown = reallocarray(ignore->rules, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	ignore->rules = grown;
	ignore->cap = cap;
	return 0;
}

static int refuse(const char *name, size_t number, const char *why, struct err *err)
{
	return err_hint(err, err_set(err, ERR_CONFIG, -EINVAL, "%s:%zu: %s", name, number, why),
			"the syntax is that of gitignore(5); put a \\ before a character that "
			"stands for itself");
}

static int add_line(struct ignore *ignore, const char *line, size_t len, const char **ret_why)
{
	struct ignore_rule *rule;
	int r;

	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (len == 0 || line[0] == '#')
		return 0;
	len = trimmed(line, len);
	if (len == 0)
		return 0;
	*ret_why = len > IGNORE_LINE_MAX             ? "this line is too long"
		   : ends_in_odd_blank(line, len)    ? "a tab or another blank at its end"
		   : ignore->len == IGNORE_RULES_MAX ? "more than 4096 rules"
						     : NULL;
	_Static_assert(IGNORE_RULES_MAX == 4096, "the message says another number");
	if (*ret_why)
		return -EINVAL;
	if (reserve_one(ignore) < 0)
		return -ENOMEM;
	rule = &ignore->rules[ignore->len];
	*rule = (struct ignore_rule){0};
	r = ignore_rule_compile(line, len, rule, ret_why);
	if (r < 0)
		ignore_rule_release(rule);
	else
		ignore->len++;
	return r;
}

int ignore_parse(const char *name, const char *text, size_t len, struct ignore *ret,
		 struct err *err)
{
	_cleanup_(ignore_release) struct ignore ignore = {0};
	const char *end = text + len;
	const char *why = NULL;

	if (len > IGNORE_SIZE_MAX)
		return err_set(err, ERR_CONFIG, -EFBIG, "%s is larger than 1 MiB", name);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	for (size_t number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line = (size_t)((newline ? newline : end) - text);
		int r = memchr(text, '\0', line) ? -EINVAL : add_line(&ignore, text, line, &why);

		if (r == -EINVAL)
			return refuse(name, number, why ? why : "a NUL byte", err);
		if (r < 0)
			return err_oom(err);
		text += line + 1;
	}
	*ret = ignore;
	ignore = (struct ignore){0};
	return 0;
}

int ignore_parse_loosely(const char *text, size_t len, struct ignore *ret)
{
	_cleanup_(ignore_release) struct ignore ignore = {0};
	const char *end = text + (len < IGNORE_SIZE_MAX ? len : IGNORE_SIZE_MAX);
	const char *why;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line = (size_t)((newline ? newline : end) - text);

		if (!memchr(text, '\0', line) && add_line(&ignore, text, line, &why) == -ENOMEM)
			return -ENOMEM;
		text += line + 1;
	}
	*ret = ignore;
	ignore = (struct ignore){0};
	return 0;
}

void ignore_release(struct ignore *ignore)
{
	for (size_t i = 0; i < ignore->len; i++)
		ignore_rule_release(&ignore->rules[i]);
	free(ignore->rules);
	*ignore = (struct ignore){0};
}

static int no_rules(const char *path, const char *what, int r, struct err *err)
{
	return err_hint(
		err, err_set(err, ERR_CONFIG, r, "%s %s", path, what),
		"make it a file that you can read, or remove it: what it hides must be known");
}

int ignore_load(const char *workspace, struct ignore *ret, struct err *err)
{
	_cleanup_(freep) char *path = path_join(workspace, IGNORE_FILE);
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	if (!path)
		return err_oom(err);
	fd = fd_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return no_rules(path, "is a symbolic link", -ELOOP, err);
	if (fd < 0)
		return no_rules(path, "cannot be read", -errno, err);
	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "stat %s", path);
	if (!S_ISREG(st.st_mode))
		return no_rules(path, S_ISDIR(st.st_mode) ? "is a folder" : "is no regular file",
				-EINVAL, err);
	r = fd_read_all(fd, IGNORE_SIZE_MAX, &text);
	if (r == -EFBIG)
		return err_set(err, ERR_CONFIG, r, "%s is larger than 1 MiB", path);
	if (r < 0)
		return err_sys(err, r, "read %s", path);
	r = ignore_parse(path, str_text(&text), text.len, ret, err);
	return r < 0 ? r : 1;
}

int ignore_judge_entry(const struct ignore *ignore, const char *path, const char *name, bool is_dir)
{
	size_t name_len = strlen(name);
	size_t path_len = (size_t)(name - path) + name_len;

	for (size_t i = ignore->len; i-- > 0;) {
		const struct ignore_rule *rule = &ignore->rules[i];

		if (rule->only_dirs && !is_dir)
			continue;
		if (rule->by_name ? ignore_rule_matches(rule, name, name_len)
				  : ignore_rule_matches(rule, path, path_len))
			return rule->negated ? -1 : 1;
	}
	return 0;
}

bool ignore_hides_entry(const struct ignore *ignore, const char *path, const char *name,
			bool is_dir)
{
	return ignore_judge_entry(ignore, path, name, is_dir) > 0;
}

bool ignore_hides(const struct ignore *ignore, const char *path, bool is_dir)
{
	_cleanup_(freep) char *part = strdup(path);
	char *name = part;

	if (!part)
		return true;
	for (char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		*slash = '\0';
		if (ignore_hides_entry(ignore, part, name, true))
			return true;
		*slash = '/';
	}
	return ignore_hides_entry(ignore, part, name, is_dir);
}
