/* SPDX-License-Identifier: MIT */
#include "policy/draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "config/value.h"
#include "policy/host-group.h"
#include "policy/host-rule.h"

int draft_init(struct draft *draft, struct err *err)
{
	struct spec *spec = &draft->out->spec;

	draft->groups = draft->config;
	draft->groups_top = LAYER_USER;
	spec_init_bottom(spec);
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		draft->out->origins[dim] = (struct origin){.file = "built in"};
	spec->workspace = strdup(draft->root);
	return spec->workspace ? 0 : err_oom(err);
}

void draft_release(struct draft *draft)
{
	strv_release(&draft->chain);
}

void draft_mark(struct draft *draft, enum dim dim, struct origin origin)
{
	draft->out->origins[dim] = origin;
	draft->out->written |= DIM_BIT(dim);
	draft->own |= DIM_BIT(dim);
}

static void set_choice(struct spec *spec, enum dim dim, unsigned index)
{
	if (dim == DIM_NETWORK)
		spec->network = index;
	else if (dim == DIM_FILESYSTEM)
		spec->filesystem = index;
	else if (dim == DIM_PROCESSES)
		spec->processes = index;
	else if (dim == DIM_ENV)
		spec->env = index;
	else
		BUG("dimension without choices");
}

static void set_bool(struct spec *spec, enum dim dim, bool value)
{
	if (dim == DIM_EPHEMERAL)
		spec->ephemeral = value;
	else if (dim == DIM_NESTED)
		spec->nested = value;
	else
		BUG("dimension that is no boolean");
}

static int set_scalar(struct draft *draft, enum dim dim, const char *text, struct err *err)
{
	const struct key *key = &spec_keys[dim];
	struct spec *spec = &draft->out->spec;
	uint64_t n;
	int r = key_parse(key, text, &n, err);

	if (r < 0)
		return r;
	if (key->type == KEY_CHOICE)
		set_choice(spec, dim, (unsigned)n);
	else if (key->type == KEY_BOOL)
		set_bool(spec, dim, n != 0);
	else
		*spec_limit(spec, dim) = n;
	return 0;
}

/* A spec that comes as text alone has nobody who defined a group. */
static int add_group(struct draft *draft, const char *text, struct strv *list, struct err *err)
{
	struct setting from;
	char buf[ORIGIN_TEXT_MAX];
	int r = host_group_expand(draft->groups, draft->groups_top, text, list, &from, err);

	if (r < 0)
		return r;
	r = strv_addf(&draft->out->groups, "%s (%s)", text,
		      origin_text(&from.origin, buf, sizeof(buf)));
	if (r < 0)
		return err_oom(err);
	strv_sort_unique(&draft->out->groups);
	return 0;
}

static int add_item(struct draft *draft, enum dim dim, const char *text, const char *base,
		    struct strv *list, struct err *err)
{
	_cleanup_(freep) char *path = NULL;
	uint64_t n;
	int r = key_parse(&spec_keys[dim], text, &n, err);

	if (r < 0)
		return r;
	switch ((int)spec_keys[dim].type) {
	case KEY_HOSTS:
		return host_is_group(text) ? add_group(draft, text, list, err)
					   : host_rule_append(text, list, err);
	case KEY_PORTS:
		r = strv_addf(list, "%u", (unsigned)n);
		break;
	case KEY_PATHS:
		r = path_rule_expand(text, base, draft->root, draft->user->home, &path, err);
		if (r < 0)
			return err_wrap(err, r, "%s", dim_name(dim));
		r = strv_add(list, path);
		break;
	default:
		r = strv_add(list, text);
		break;
	}
	return r < 0 ? err_oom(err) : 0;
}

int draft_set(struct draft *draft, enum dim dim, const struct strv *texts, bool add,
	      const char *base, struct err *err)
{
	_cleanup_(strv_release) struct strv list = {0};
	struct strv *target = spec_list(&draft->out->spec, dim);
	int r;

	if (!target)
		return set_scalar(draft, dim, texts->items[0], err);
	if (add && strv_copy(&list, target) < 0)
		return err_oom(err);
	if (dim == DIM_HOSTS && !add)
		strv_release(&draft->out->groups);
	for (size_t i = 0; i < texts->len; i++) {
		r = add_item(draft, dim, texts->items[i], base, &list, err);
		if (r < 0)
			return r;
	}
	strv_sort_unique(&list);
	r = key_check_count(&spec_keys[dim], list.len, 0, err);
	if (r < 0)
		return r;
	strv_release(target);
	*target = list;
	list = (struct strv){0};
	if (dim == DIM_PORTS)
		draft->out->spec.ports_set = true;
	return 0;
}

int draft_set_from(struct draft *draft, enum dim dim, const struct setting *from, struct err *err)
{
	_cleanup_(strv_release) struct strv texts = {0};
	int r;

	if (toml_texts(from->value, &texts) < 0)
		return err_oom(err);
	r = draft_set(draft, dim, &texts, false, draft->root, err);
	if (r < 0)
		return setting_error(from, r, err);
	draft_mark(draft, dim, from->origin);
	return 0;
}

static bool get_above(const struct config *config, const char *const *path, enum layer floor,
		      struct setting *ret)
{
	for (int layer = LAYER_COUNT_ - 1; layer >= (int)floor; layer--)
		if (config_get_at(config, layer, path, ret))
			return true;
	return false;
}

static const char *origin_of(const struct draft *draft, enum dim dim, char *buf)
{
	return origin_text(&draft->out->origins[dim], buf, ORIGIN_TEXT_MAX);
}

int draft_refuse_unbounded(const struct draft *draft, enum dim dim, const char *written,
			   enum err_code code, struct err *err)
{
	const char *const *levels = spec_keys[DIM_NETWORK].choices;
	const char *needed = levels[dim == DIM_PORTS ? NETWORK_LOCALHOST : NETWORK_ALLOWED_HOSTS];
	char buf[ORIGIN_TEXT_MAX];

	err_set(err, code, -EINVAL, "%s bounds nothing: network is \"%s\" (%s)", written,
		levels[NETWORK_UNRESTRICTED], origin_of(draft, DIM_NETWORK, buf));
	if (code == ERR_USAGE)
		return err_hint(err, -EINVAL, "ask for --network %s, or leave %s out", needed,
				written);
	return err_hint(err, -EINVAL, "write network = \"%s\", or take %s out", needed, written);
}

/* Only what the table itself lists: it may well open a network that its base bounds. */
static int check_bounds(const struct draft *draft, dim_set listed, const char **path, size_t n,
			enum layer floor, struct err *err)
{
	static const enum dim lists[] = {DIM_HOSTS, DIM_PORTS};
	const struct spec *spec = &draft->out->spec;
	struct setting s;

	if (spec->network != NETWORK_UNRESTRICTED)
		return 0;
	for (size_t i = 0; i < array_len(lists); i++) {
		if (!(listed & DIM_BIT(lists[i])) ||
		    (lists[i] == DIM_HOSTS && spec->hosts.len == 0))
			continue;
		path[n] = dim_name(lists[i]);
		get_above(draft->config, path, floor, &s);
		return setting_error(
			&s, draft_refuse_unbounded(draft, lists[i], path[n], ERR_CONFIG, err), err);
	}
	return 0;
}

int draft_apply_table(struct draft *draft, const char *const *path, enum layer floor,
		      struct err *err)
{
	dim_set listed = 0;
	const char *full[6] = {0};
	size_t n = 0;

	while (n < array_len(full) - 2 && path[n]) {
		full[n] = path[n];
		n++;
	}
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		struct setting s;
		int r;

		full[n] = dim_name(dim);
		if (!get_above(draft->config, full, floor, &s))
			continue;
		r = draft_set_from(draft, dim, &s, err);
		if (r < 0)
			return r;
		listed |= DIM_BIT(dim);
	}
	return check_bounds(draft, listed, full, n, floor, err);
}

/* Listed variables mean env = "pass", unless a level was written. */
static int settle_env(struct draft *draft, struct err *err)
{
	struct spec *spec = &draft->out->spec;
	char a[ORIGIN_TEXT_MAX], b[ORIGIN_TEXT_MAX];

	if (spec->env_pass.len == 0 || spec->env != ENV_CLEAN)
		return 0;
	if (draft->own & DIM_BIT(DIM_ENV)) {
		err_set(err, ERR_CONFIG, -EINVAL,
			"env = \"clean\" (%s) contradicts the variables that pass (%s)",
			origin_of(draft, DIM_ENV, a), origin_of(draft, DIM_ENV_PASS, b));
		return err_hint(err, -EINVAL, "write env = \"pass\", or take out one of the two");
	}
	spec->env = ENV_PASS;
	draft_mark(draft, DIM_ENV, draft->out->origins[DIM_ENV_PASS]);
	return 0;
}

/* Throw-away writes need readonly: with a looser level they would stay. */
static int settle_ephemeral(struct draft *draft, struct err *err)
{
	struct spec *spec = &draft->out->spec;
	struct origin *origins = draft->out->origins;
	char a[ORIGIN_TEXT_MAX], b[ORIGIN_TEXT_MAX];

	if (!spec->ephemeral || spec->filesystem <= FILESYSTEM_READONLY)
		return 0;
	if (!(draft->own & DIM_BIT(DIM_FILESYSTEM))) {
		spec->filesystem = FILESYSTEM_READONLY;
		origins[DIM_FILESYSTEM] = origins[DIM_EPHEMERAL];
		return 0;
	}
	if (!(draft->own & DIM_BIT(DIM_EPHEMERAL))) {
		spec->ephemeral = false;
		origins[DIM_EPHEMERAL] = origins[DIM_FILESYSTEM];
		return 0;
	}
	err_set(err, ERR_CONFIG, -EINVAL,
		"ephemeral (%s) needs filesystem = \"readonly\", not \"%s\" (%s)",
		origin_of(draft, DIM_EPHEMERAL, a),
		spec_keys[DIM_FILESYSTEM].choices[spec->filesystem],
		origin_of(draft, DIM_FILESYSTEM, b));
	return err_hint(err, -EINVAL, "leave one of the two out");
}

/* What a closer file or an option opened is open: lists from farther away hold no longer. */
static void settle_network(struct draft *draft)
{
	struct resolved *out = draft->out;

	if (out->spec.network != NETWORK_UNRESTRICTED)
		return;
	strv_release(&out->spec.hosts);
	strv_release(&out->spec.ports);
	strv_release(&out->groups);
	out->spec.ports_set = false;
}

int draft_settle(struct draft *draft, struct err *err)
{
	int r = settle_env(draft, err);

	settle_network(draft);
	return r < 0 ? r : settle_ephemeral(draft, err);
}
