/* SPDX-License-Identifier: MIT */
#include "files/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "files/pattern-impl.h"

void pattern_release(struct pattern *pattern)
{
	for (size_t i = 0; i < pattern->len; i++) {
		for (size_t k = 0; k < pattern->branches[i].len; k++)
			free(pattern->branches[i].parts[k].text);
		free(pattern->branches[i].parts);
	}
	free(pattern->branches);
	*pattern = (struct pattern){0};
}

/* Is the set that begins at TEXT closed, and well-formed? Its length, or 0. */
static size_t set_length(const char *text)
{
	size_t i = 1;

	i += text[i] == '!' || text[i] == '^';
	i += text[i] == ']';
	for (; text[i] && text[i] != ']'; i++)
		if (text[i] == '\\' && !text[++i])
			return 0;
	return text[i] ? i + 1 : 0;
}

static const char *check_part(const char *text, bool *ret_plain)
{
	*ret_plain = true;
	for (size_t i = 0; text[i]; i++) {
		size_t set = text[i] == '[' ? set_length(text + i) : 0;

		if (text[i] == '[' && set == 0)
			return "a [ without its ]";
		if (text[i] == '\\' && !text[++i])
			return "a \\ with nothing behind it";
		*ret_plain &= !strchr("*?[\\", text[i]) && (i == 0 || text[i - 1] != '\\');
		i += set ? set - 1 : 0;
	}
	return NULL;
}

static int add_part(struct pattern_branch *branch, const char *text, size_t len,
		    const char **ret_why)
{
	struct pattern_part *part = &branch->parts[branch->len];

	if ((len == 1 && text[0] == '.') || (len == 2 && memcmp(text, "..", 2) == 0)) {
		*ret_why = "a . or .. in it: it begins at the folder that is searched";
		return -EINVAL;
	}
	if (branch->len == PATTERN_PARTS_MAX) {
		*ret_why = "too many slashes";
		return -EINVAL;
	}
	part->deep = len == 2 && memcmp(text, "**", 2) == 0;
	/* once is enough */
	if (part->deep && branch->len > 0 && part[-1].deep)
		return 0;
	part->text = strndup(text, len);
	if (!part->text)
		return -ENOMEM;
	branch->len++;
	*ret_why = check_part(part->text, &part->plain);
	return *ret_why ? -EINVAL : 0;
}

/* TEXT has no braces any more. */
static int add_branch(struct pattern *pattern, const char *text, bool anywhere,
		      const char **ret_why)
{
	struct pattern_branch *branch = &pattern->branches[pattern->len];
	int r = 0;

	*branch = (struct pattern_branch){
		.parts = calloc(PATTERN_PARTS_MAX + 1, sizeof(*branch->parts))};
	if (!branch->parts)
		return -ENOMEM;
	pattern->len++;
	if (anywhere && !strchr(text, '/'))
		r = add_part(branch, "**", 2, ret_why);
	while (*text && r == 0) {
		size_t len = strcspn(text, "/");

		if (len > 0)
			r = add_part(branch, text, len, ret_why);
		text += len + strspn(text + len, "/");
	}
	if (r == 0 && branch->len == 0) {
		*ret_why = "there is nothing in it";
		return -EINVAL;
	}
	return r;
}

int pattern_compile(const char *text, bool anywhere, struct pattern *ret, const char **ret_why)
{
	_cleanup_(strv_release) struct strv texts = {0};
	size_t len = strlen(text);
	int r;

	*ret = (struct pattern){.only_dirs = len > 0 && text[len - 1] == '/'};
	*ret_why = NULL;
	if (text[0] == '/') {
		*ret_why = "it is absolute: name the folder that is searched by itself";
		return -EINVAL;
	}
	while (text[0] == '.' && text[1] == '/')
		text += 2;
	r = pattern_expand(text, &texts, ret_why);
	if (r < 0)
		return r;
	ret->branches = calloc(texts.len, sizeof(*ret->branches));
	if (!ret->branches)
		return -ENOMEM;
	for (size_t i = 0; i < texts.len && r == 0; i++)
		r = add_branch(ret, texts.items[i], anywhere, ret_why);
	return r;
}

/* "**" may also stand for no folder at all. */
static pattern_places with_none(const struct pattern_branch *branch, pattern_places at)
{
	for (size_t i = 0; i < branch->len; i++)
		if (at >> i & 1 && branch->parts[i].deep)
			at |= (pattern_places)1 << (i + 1);
	return at;
}

void pattern_start(const struct pattern *pattern, pattern_places *ret)
{
	for (size_t i = 0; i < pattern->len; i++)
		ret[i] = with_none(&pattern->branches[i], 1);
}

static bool part_matches(const struct pattern_part *part, const char *name)
{
	return part->plain ? str_eq(part->text, name) : pattern_matches_name(part->text, name);
}

void pattern_step(const struct pattern *pattern, const pattern_places *from, const char *name,
		  pattern_places *ret)
{
	for (size_t i = 0; i < pattern->len; i++) {
		const struct pattern_branch *branch = &pattern->branches[i];
		pattern_places at = from[i], next = 0;

		for (size_t k = 0; at >> k && k < branch->len; k++) {
			if (!(at >> k & 1))
				continue;
			if (branch->parts[k].deep)
				next |= (pattern_places)1 << k;
			else if (part_matches(&branch->parts[k], name))
				next |= (pattern_places)1 << (k + 1);
		}
		ret[i] = with_none(branch, next);
	}
}

bool pattern_is_match(const struct pattern *pattern, const pattern_places *at)
{
	for (size_t i = 0; i < pattern->len; i++)
		if (at[i] >> pattern->branches[i].len & 1)
			return true;
	return false;
}

bool pattern_can_go_on(const struct pattern *pattern, const pattern_places *at)
{
	for (size_t i = 0; i < pattern->len; i++)
		if (at[i] & (((pattern_places)1 << pattern->branches[i].len) - 1))
			return true;
	return false;
}

bool pattern_matches(const struct pattern *pattern, const char *path)
{
	_cleanup_(freep) pattern_places *at = calloc(pattern->len, sizeof(*at));
	_cleanup_(freep) char *copy = strdup(path);

	if (!at || !copy)
		return false;
	pattern_start(pattern, at);
	for (char *name = copy; name;) {
		char *slash = strchr(name, '/');

		if (slash)
			*slash = '\0';
		pattern_step(pattern, at, name, at);
		name = slash ? slash + 1 : NULL;
	}
	return pattern_is_match(pattern, at);
}
