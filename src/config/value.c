/* SPDX-License-Identifier: MIT */
#include "config/value.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/size.h"
#include "base/str.h"
#include "config/keys.h"
#include "config/toml.h"

#define WORKSPACE_VAR "${WORKSPACE}"

bool key_is_list(const struct key *key)
{
	switch (key->type) {
	case KEY_TEXTS:
	case KEY_CHOICES:
	case KEY_PATHS:
	case KEY_PORTS:
	case KEY_HOSTS:
	case KEY_VARS:
		return true;
	case KEY_CHOICE:
	case KEY_BOOL:
	case KEY_UINT:
	case KEY_SIZE:
	case KEY_DURATION:
	case KEY_TEXT:
	case KEY_NAME:
	case KEY_TEXT_MAP:
	case KEY_SPEC:
	case KEY_SPEC_TABLE:
		break;
	}
	return false;
}

/* What a user calls the key: its last component. */
static const char *label(const struct key *key)
{
	const char *dot = strrchr(key->path, '.');

	return dot ? dot + 1 : key->path;
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool name_is_valid(const char *text)
{
	if (!is_alnum(text[0]))
		return false;
	for (const char *p = text; *p; p++)
		if (!is_alnum(*p) && !strchr("._-", *p))
			return false;
	return true;
}

static bool variable_is_valid_n(const char *text, size_t len)
{
	if (len == 0 || (text[0] >= '0' && text[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(text[i]) && text[i] != '_')
			return false;
	return true;
}

bool variable_is_valid(const char *text)
{
	return variable_is_valid_n(text, strlen(text));
}

static int parse_choice(const struct key *key, const char *text, uint64_t *ret, struct err *err)
{
	_cleanup_(str_release) struct str list = {0};
	const char *near;
	size_t n = 0;
	int index = key_choice(key, text);

	if (index >= 0) {
		*ret = (uint64_t)index;
		return 0;
	}
	for (; key->choices[n]; n++)
		if (str_appendf(&list, "%s\"%s\"", n ? ", " : "", key->choices[n]) < 0)
			return err_oom(err);
	err_set(err, ERR_CONFIG, -EINVAL, "%s cannot be \"%s\"", label(key), text);
	near = str_nearest(text, key->choices, n);
	if (near)
		return err_hint(err, -EINVAL, "did you mean \"%s\"?", near);
	return err_hint(err, -EINVAL, "it is one of %s", str_text(&list));
}

static int parse_uint(const struct key *key, const char *text, uint64_t *ret, struct err *err)
{
	uint64_t n = 0;

	if (!*text)
		goto bad;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			goto bad;
		if (n > (UINT64_MAX - 9) / 10)
			return err_set(err, ERR_CONFIG, -ERANGE, "%s: %s is too large", label(key),
				       text);
		n = n * 10 + (uint64_t)(*p - '0');
	}
	*ret = n;
	return 0;
bad:
	return err_set(err, ERR_CONFIG, -EINVAL, "%s must be a number, not \"%s\"", label(key),
		       text);
}

static const char *number_text(const struct key *key, uint64_t n, char buf[SIZE_TEXT_MAX])
{
	struct str s = {0};

	if (key->type == KEY_SIZE)
		return size_format(n, buf);
	if (key->type == KEY_DURATION)
		return duration_format(n, buf);
	if (str_appendf(&s, "%" PRIu64, n) == 0)
		memcpy(buf, s.data, s.len + 1);
	else
		buf[0] = '\0';
	str_release(&s);
	return buf;
}

/* Zero is no way to say "no limit"; not every number is one. */
static void hint_zero(const struct key *key, struct err *err)
{
	if (key >= spec_keys && key < spec_keys + DIM_COUNT_)
		err_hint(err, -ERANGE, "for no limit leave %s out", label(key));
	else
		err_hint(err, -ERANGE, "%s: %s", label(key), key->help);
}

static int check_range(const struct key *key, const char *text, uint64_t n, struct err *err)
{
	char low[SIZE_TEXT_MAX], high[SIZE_TEXT_MAX];

	if (n >= key->min && n <= key->max)
		return 0;
	err_set(err, ERR_CONFIG, -ERANGE, "%s = %s is out of range, %s to %s", label(key), text,
		number_text(key, key->min, low), number_text(key, key->max, high));
	if (n == 0 && !key_is_list(key))
		hint_zero(key, err);
	return -ERANGE;
}

static int parse_number(const struct key *key, const char *text, uint64_t *ret, struct err *err)
{
	char high[SIZE_TEXT_MAX];
	uint64_t n = 0;
	int r;

	if (key->type == KEY_SIZE)
		r = size_parse(text, &n, err);
	else if (key->type == KEY_DURATION)
		r = duration_parse(text, &n, err);
	else
		r = parse_uint(key, text, &n, err);
	if (r < 0 && (key->type == KEY_SIZE || key->type == KEY_DURATION)) {
		err_wrap(err, r, "%s", label(key));
		return err_hint(err, r, "write it like %s; at most %s",
				key->type == KEY_SIZE ? "\"512m\" or \"2g\""
						      : "\"90s\" or \"1h30m\"",
				number_text(key, key->max, high));
	}
	if (r < 0)
		return r;
	r = check_range(key, text, n, err);
	if (r < 0)
		return r;
	*ret = n;
	return 0;
}

static int check_variable(const struct key *key, const char *text, struct err *err)
{
	size_t len = strlen(text);

	if (strcmp(text, "*") == 0) {
		err_set(err, ERR_CONFIG, -EINVAL, "%s: \"*\" would pass everything", label(key));
		return err_hint(err, -EINVAL, "if that is meant: env = \"inherit\"");
	}
	if (len > 0 && text[len - 1] == '*')
		len--;
	if (variable_is_valid_n(text, len))
		return 0;
	return err_set(err, ERR_CONFIG, -EINVAL, "%s: \"%s\" is no name of a variable", label(key),
		       text);
}

static int check_path(const struct key *key, const char *text, struct err *err)
{
	_cleanup_(freep) char *path = NULL;
	int r = path_rule_expand(text, "/", "/", "/", &path, err);

	return r < 0 ? err_wrap(err, r, "%s", label(key)) : 0;
}

int key_parse(const struct key *key, const char *text, uint64_t *ret_number, struct err *err)
{
	*ret_number = 0;
	switch (key->type) {
	case KEY_CHOICE:
	case KEY_CHOICES:
		return parse_choice(key, text, ret_number, err);
	case KEY_BOOL:
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			return err_set(err, ERR_CONFIG, -EINVAL,
				       "%s must be true or false, not \"%s\"", label(key), text);
		*ret_number = text[0] == 't';
		return 0;
	case KEY_UINT:
	case KEY_SIZE:
	case KEY_DURATION:
	case KEY_PORTS:
		return parse_number(key, text, ret_number, err);
	case KEY_NAME:
	case KEY_SPEC:
		if (name_is_valid(text))
			return 0;
		err_set(err, ERR_CONFIG, -EINVAL, "%s: \"%s\" is no name", label(key), text);
		return err_hint(err, -EINVAL,
				"a letter or digit, then letters, digits, '.', '_' or '-'");
	case KEY_PATHS:
		return check_path(key, text, err);
	case KEY_VARS:
		return check_variable(key, text, err);
	case KEY_HOSTS:
		if (!*text)
			return err_set(err, ERR_CONFIG, -EINVAL, "%s: empty host", label(key));
		return 0;
	case KEY_TEXT:
	case KEY_TEXTS:
	case KEY_TEXT_MAP:
		return 0;
	case KEY_SPEC_TABLE:
		break;
	}
	BUG("a table is not parsed from text");
}

int key_check_count(const struct key *key, size_t entries, size_t most, struct err *err)
{
	if (key->most && (!most || key->most < most))
		most = key->most;
	if (!most || entries <= most)
		return 0;
	return err_set(err, ERR_CONFIG, -E2BIG, "%s has %zu entries, at most %zu are allowed",
		       label(key), entries, most);
}

/* Without slashes and double stars at the end: a rule covers what is below anyway. */
static size_t rule_length(const char *text)
{
	size_t len = strlen(text);

	for (;;) {
		if (len > 1 && text[len - 1] == '/')
			len--;
		else if (len >= 3 && memcmp(text + len - 3, "/**", 3) == 0)
			len -= len == 3 ? 2 : 3;
		else
			return len;
	}
}

static int refuse_variable(const char *text, const char *at, struct err *err)
{
	err_set(err, ERR_CONFIG, -EINVAL, "path \"%s\": variables are not expanded", text);
	if (str_starts(at, WORKSPACE_VAR))
		return err_hint(err, -EINVAL, WORKSPACE_VAR " can only stand at the beginning");
	return err_hint(err, -EINVAL, "only ~ and " WORKSPACE_VAR " are: write the path in full");
}

int path_rule_expand(const char *text, const char *base, const char *workspace, const char *home,
		     char **ret_path, struct err *err)
{
	_cleanup_(freep) char *rule = strndup(text, rule_length(text));
	const char *rest = rule, *dollar;
	int r;

	if (!rule)
		return err_oom(err);
	if (!*text)
		return err_set(err, ERR_CONFIG, -EINVAL, "empty path");
	if (str_starts(rule, WORKSPACE_VAR) &&
	    (rule[strlen(WORKSPACE_VAR)] == '/' || !rule[strlen(WORKSPACE_VAR)])) {
		base = workspace;
		rest = rule + strlen(WORKSPACE_VAR);
	} else if (rule[0] == '~') {
		if (rule[1] && rule[1] != '/') {
			err_set(err, ERR_CONFIG, -EINVAL, "path \"%s\": ~USER is not expanded",
				text);
			return err_hint(err, -EINVAL, "write the path in full, or ./%s", text);
		}
		if (!home) {
			err_set(err, ERR_CONFIG, -EINVAL, "path \"%s\": your home is not known",
				text);
			return err_hint(err, -EINVAL, "set HOME, or write the path in full");
		}
		base = home;
		rest = rule + 1;
	}
	/* a lone dollar is a character like others */
	for (dollar = strchr(rest, '$'); dollar; dollar = strchr(dollar + 1, '$'))
		if (dollar[1] == '{' || variable_is_valid_n(dollar + 1, 1))
			return refuse_variable(text, dollar, err);
	if (rest != rule)
		while (*rest == '/')
			rest++;
	r = path_normalize(base, *rest ? rest : ".", ret_path);
	return r < 0 ? err_sys(err, r, "path \"%s\"", text) : 0;
}

static int add_text(const struct toml_value *value, struct strv *ret)
{
	switch (value->type) {
	case TOML_STRING:
		return strv_addn(ret, value->string.bytes, value->string.len);
	case TOML_INTEGER:
		return strv_addf(ret, "%" PRId64, value->integer);
	case TOML_BOOL:
		return strv_add(ret, value->boolean ? "true" : "false");
	case TOML_FLOAT:
	case TOML_DATETIME:
	case TOML_DATETIME_LOCAL:
	case TOML_DATE_LOCAL:
	case TOML_TIME_LOCAL:
	case TOML_ARRAY:
	case TOML_TABLE:
		break;
	}
	BUG("a value that the check should have refused");
}

int toml_texts(const struct toml_value *value, struct strv *ret)
{
	int r = 0;

	if (value->type != TOML_ARRAY)
		return add_text(value, ret);
	for (size_t i = 0; i < value->array.len && r == 0; i++)
		r = add_text(value->array.items[i], ret);
	return r;
}
