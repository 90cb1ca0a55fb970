/* SPDX-License-Identifier: MIT */
#include "policy/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/size.h"
#include "policy/rule-set.h"

/* The type of a field follows from the type of its key. */
static const size_t fields[DIM_COUNT_] = {
	[DIM_NETWORK] = offsetof(struct spec, network),
	[DIM_HOSTS] = offsetof(struct spec, hosts),
	[DIM_PORTS] = offsetof(struct spec, ports),
	[DIM_EXPOSE] = offsetof(struct spec, expose),
	[DIM_SOCKETS] = offsetof(struct spec, sockets),
	[DIM_FILESYSTEM] = offsetof(struct spec, filesystem),
	[DIM_PATHS_READABLE] = offsetof(struct spec, paths_readable),
	[DIM_PATHS_WRITABLE] = offsetof(struct spec, paths_writable),
	[DIM_PATHS_HIDDEN] = offsetof(struct spec, paths_hidden),
	[DIM_EPHEMERAL] = offsetof(struct spec, ephemeral),
	[DIM_CACHES] = offsetof(struct spec, caches),
	[DIM_TMPFS] = offsetof(struct spec, tmpfs),
	[DIM_PROCESSES] = offsetof(struct spec, processes),
	[DIM_ENV] = offsetof(struct spec, env),
	[DIM_ENV_PASS] = offsetof(struct spec, env_pass),
	[DIM_TIMEOUT] = offsetof(struct spec, timeout),
	[DIM_CPU] = offsetof(struct spec, cpu),
	[DIM_MEMORY] = offsetof(struct spec, memory),
	[DIM_PIDS] = offsetof(struct spec, pids),
	[DIM_DISK] = offsetof(struct spec, disk),
	[DIM_MAX_OUTPUT] = offsetof(struct spec, max_output),
	[DIM_NESTED] = offsetof(struct spec, nested),
	[DIM_CONNECTIONS] = offsetof(struct spec, connections),
	[DIM_CONNECT_RATE] = offsetof(struct spec, connect_rate),
	[DIM_NET_SENT] = offsetof(struct spec, net_sent),
	[DIM_NET_RECEIVED] = offsetof(struct spec, net_received),
};

static const void *field(const struct spec *spec, enum dim dim)
{
	return (const char *)spec + fields[dim];
}

static bool is_limit(enum dim dim)
{
	enum key_type type = spec_keys[dim].type;

	return type == KEY_UINT || type == KEY_SIZE || type == KEY_DURATION;
}

static bool is_list(enum dim dim)
{
	enum key_type type = spec_keys[dim].type;

	return type == KEY_PATHS || type == KEY_PORTS || type == KEY_HOSTS || type == KEY_VARS;
}

const uint64_t *spec_limit_const(const struct spec *spec, enum dim dim)
{
	return is_limit(dim) ? field(spec, dim) : NULL;
}

uint64_t *spec_limit(struct spec *spec, enum dim dim)
{
	return is_limit(dim) ? (uint64_t *)((char *)spec + fields[dim]) : NULL;
}

const struct strv *spec_list_const(const struct spec *spec, enum dim dim)
{
	return is_list(dim) ? field(spec, dim) : NULL;
}

struct strv *spec_list(struct spec *spec, enum dim dim)
{
	return is_list(dim) ? (struct strv *)((char *)spec + fields[dim]) : NULL;
}

static void set_unlimited(struct spec *spec)
{
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (is_limit(dim))
			*spec_limit(spec, dim) = SPEC_UNLIMITED;
}

void spec_init_bottom(struct spec *spec)
{
	*spec = (struct spec){
		.network = NETWORK_NONE,
		.filesystem = FILESYSTEM_NONE,
		.processes = PROCESSES_ISOLATED,
		.env = ENV_CLEAN,
	};
	set_unlimited(spec);
}

void spec_init_top(struct spec *spec)
{
	*spec = (struct spec){
		.network = NETWORK_UNRESTRICTED,
		.filesystem = FILESYSTEM_UNRESTRICTED,
		.processes = PROCESSES_VISIBLE,
		.env = ENV_INHERIT,
		.nested = true,
	};
	set_unlimited(spec);
}

void spec_release(struct spec *spec)
{
	free(spec->workspace);
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (is_list(dim))
			strv_release(spec_list(spec, dim));
	*spec = (struct spec){0};
}

int spec_copy(struct spec *dst, const struct spec *src)
{
	struct spec copy = *src;
	int r = 0;

	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (is_list(dim))
			*spec_list(&copy, dim) = (struct strv){0};
	copy.workspace = src->workspace ? strdup(src->workspace) : NULL;
	if (src->workspace && !copy.workspace)
		r = -ENOMEM;
	for (int dim = 0; r == 0 && dim < DIM_COUNT_; dim++)
		if (is_list(dim))
			r = strv_copy(spec_list(&copy, dim), spec_list_const(src, dim));
	if (r < 0) {
		spec_release(&copy);
		return r;
	}
	spec_release(dst);
	*dst = copy;
	return 0;
}

bool spec_is_confined(const struct spec *spec)
{
	if (spec->network != NETWORK_UNRESTRICTED || spec->env != ENV_INHERIT ||
	    spec->filesystem != FILESYSTEM_UNRESTRICTED || spec->processes != PROCESSES_VISIBLE)
		return true;
	/* A private copy of a folder is a boundary, too. */
	if (!spec->nested || spec->ephemeral || spec->paths_hidden.len > 0 || spec->caches.len > 0)
		return true;
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (is_limit(dim) && dim != DIM_TIMEOUT &&
		    *spec_limit_const(spec, dim) != SPEC_UNLIMITED)
			return true;
	return false;
}

static int list_rules(const struct rule_set *set, struct strv *ret)
{
	_cleanup_(strv_release) struct strv rules = {0};
	int r = rule_set_list(set, &rules);

	if (r < 0)
		return r;
	*ret = rules;
	rules = (struct strv){0};
	return 0;
}

int spec_readable(const struct spec *spec, struct strv *ret)
{
	struct rule_set set = rules_readable(spec);

	return list_rules(&set, ret);
}

int spec_writable(const struct spec *spec, struct strv *ret)
{
	struct rule_set set = rules_writable(spec);

	return list_rules(&set, ret);
}

static const char *choice_text(const struct spec *spec, enum dim dim)
{
	return spec_keys[dim].choices[*(const unsigned *)field(spec, dim)];
}
_Static_assert(sizeof(enum network) == sizeof(unsigned), "choices are read as unsigned");

static bool is_unset(const struct spec *spec, enum dim dim)
{
	if (is_limit(dim))
		return *spec_limit_const(spec, dim) == SPEC_UNLIMITED;
	return dim == DIM_PORTS && !spec->ports_set;
}

static int print_string(struct str *out, const char *text)
{
	int r = str_append_char(out, '"');

	for (const char *p = text; r == 0 && *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c == 0x7f)
			r = str_appendf(out, "\\u%04X", c);
		else if (c == '"' || c == '\\')
			r = str_appendf(out, "\\%c", c);
		else
			r = str_append_char(out, (char)c);
	}
	return r < 0 ? r : str_append_char(out, '"');
}

static int print_list(struct str *out, const struct strv *list, bool numbers)
{
	int r = str_append_char(out, '[');

	for (size_t i = 0; r == 0 && i < list->len; i++) {
		if (i > 0)
			r = str_append(out, ", ");
		if (r == 0)
			r = numbers ? str_append(out, list->items[i])
				    : print_string(out, list->items[i]);
	}
	return r < 0 ? r : str_append_char(out, ']');
}

static const char *limit_text(const struct spec *spec, enum dim dim, char buf[SIZE_TEXT_MAX])
{
	uint64_t value = *spec_limit_const(spec, dim);

	return spec_keys[dim].type == KEY_DURATION ? duration_format(value, buf)
						   : size_format(value, buf);
}

static int print_dim(const struct spec *spec, enum dim dim, struct str *out)
{
	char buf[SIZE_TEXT_MAX];

	if (is_unset(spec, dim))
		return 0;
	if (is_list(dim))
		return print_list(out, field(spec, dim), spec_keys[dim].type == KEY_PORTS);
	if (spec_keys[dim].type == KEY_BOOL)
		return str_append(out, *(const bool *)field(spec, dim) ? "true" : "false");
	if (spec_keys[dim].type == KEY_CHOICE)
		return print_string(out, choice_text(spec, dim));
	if (spec_keys[dim].type == KEY_UINT)
		return str_appendf(out, "%llu", (unsigned long long)*spec_limit_const(spec, dim));
	return print_string(out, limit_text(spec, dim, buf));
}

int spec_print_dim(const struct spec *spec, enum dim dim, struct str *out)
{
	size_t before = out->len;
	int r = print_dim(spec, dim, out);

	if (r < 0)
		str_truncate(out, before);
	return r;
}

/* DEF is quoted, as it would be written. */
static bool is_quoted(const char *def, const char *text)
{
	size_t len = strlen(text);

	return def && strlen(def) == len + 2 && strncmp(def + 1, text, len) == 0;
}

bool spec_dim_is_default(const struct spec *spec, enum dim dim)
{
	if (is_limit(dim) || dim == DIM_PORTS)
		return is_unset(spec, dim);
	if (is_list(dim))
		return spec_list_const(spec, dim)->len == 0;
	if (spec_keys[dim].type == KEY_BOOL)
		return !*(const bool *)field(spec, dim);
	return is_quoted(spec_keys[dim].def, choice_text(spec, dim));
}

static void json_ports(struct json *json, const char *key, const struct strv *ports)
{
	json_begin_array(json, key);
	for (size_t i = 0; i < ports->len; i++)
		json_add_uint(json, NULL, strtoul(ports->items[i], NULL, 10));
	json_end_array(json);
}

static void json_dim(const struct spec *spec, enum dim dim, struct json *json)
{
	const char *key = dim_name(dim);
	enum key_type type = spec_keys[dim].type;
	char buf[SIZE_TEXT_MAX];

	if (is_unset(spec, dim))
		json_add_null(json, key);
	else if (type == KEY_PORTS)
		json_ports(json, key, field(spec, dim));
	else if (is_list(dim))
		json_add_strv(json, key, field(spec, dim));
	else if (type == KEY_BOOL)
		json_add_bool(json, key, *(const bool *)field(spec, dim));
	else if (type == KEY_CHOICE)
		json_add_string(json, key, choice_text(spec, dim));
	else if (type == KEY_UINT)
		json_add_uint(json, key, *spec_limit_const(spec, dim));
	else
		json_add_string(json, key, limit_text(spec, dim, buf));
}

void spec_json(const struct spec *spec, const char *key, struct json *json)
{
	json_begin_object(json, key);
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		json_dim(spec, dim, json);
	json_end_object(json);
}
