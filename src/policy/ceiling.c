/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "policy/draft.h"
#include "policy/lattice.h"

/* A list under a level that allows everything bounds nothing, which cannot be
 * what the writer of the ceiling meant. */
static int check_levels(const struct draft *ceiling, enum layer layer, struct err *err)
{
	static const struct {
		enum dim list, level;
		const char *fix;
	} rules[] = {
		{DIM_HOSTS, DIM_NETWORK, "allowed_hosts"},
		{DIM_PORTS, DIM_NETWORK, "localhost"},
		{DIM_EXPOSE, DIM_NETWORK, "none"},
		{DIM_SOCKETS, DIM_FILESYSTEM, "workspace_only"},
		{DIM_PATHS_READABLE, DIM_FILESYSTEM, "workspace_only"},
		{DIM_PATHS_WRITABLE, DIM_FILESYSTEM, "scoped_write"},
		{DIM_CACHES, DIM_FILESYSTEM, "workspace_only"},
		{DIM_ENV_PASS, DIM_ENV, "pass"},
	};
	const struct spec *spec = &ceiling->out->spec;
	dim_set open = (spec->network == NETWORK_UNRESTRICTED ? DIM_BIT(DIM_NETWORK) : 0) |
		       (spec->filesystem == FILESYSTEM_UNRESTRICTED ? DIM_BIT(DIM_FILESYSTEM) : 0) |
		       (spec->env == ENV_INHERIT ? DIM_BIT(DIM_ENV) : 0);

	for (size_t i = 0; i < array_len(rules); i++) {
		const char *const path[] = {"ceiling", dim_name(rules[i].list), NULL};
		struct setting s;

		if (!(ceiling->own & DIM_BIT(rules[i].list)) || !(open & DIM_BIT(rules[i].level)))
			continue;
		err_set(err, ERR_CONFIG, -EINVAL,
			"a ceiling of %s bounds nothing without one of %s", dim_name(rules[i].list),
			dim_name(rules[i].level));
		err_hint(err, -EINVAL, "add %s = \"%s\" to [ceiling]", dim_name(rules[i].level),
			 rules[i].fix);
		config_get_at(ceiling->config, layer, path, &s);
		return setting_error(&s, -EINVAL, err);
	}
	return 0;
}

static int start_at_top(struct draft *ceiling, struct err *err)
{
	struct spec *spec = &ceiling->out->spec;

	spec_init_top(spec);
	spec->workspace = strdup(ceiling->root);
	return spec->workspace ? 0 : err_oom(err);
}

/* The loosest spec that LAYER's [ceiling] allows. */
static int ceiling_spec(const struct draft *draft, enum layer layer, struct spec *ret,
			struct err *err)
{
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(draft_release) struct draft ceiling = *draft;
	int r;

	ceiling.out = &out;
	ceiling.groups_top = layer;
	ceiling.own = 0;
	ceiling.chain = (struct strv){0};
	r = start_at_top(&ceiling, err);
	if (r < 0)
		return r;
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const char *const path[] = {"ceiling", dim_name(dim), NULL};
		struct setting s;

		if (!config_get_at(draft->config, layer, path, &s))
			continue;
		r = draft_set_from(&ceiling, dim, &s, err);
		if (r < 0)
			return r;
	}
	r = check_levels(&ceiling, layer, err);
	if (r < 0)
		return r;
	*ret = out.spec;
	out.spec = (struct spec){0};
	return 0;
}

/* The line of the ceiling that bounds DIM: its own key, else the table. */
static struct origin ceiling_origin(const struct draft *draft, enum layer layer, enum dim dim)
{
	const char *const key[] = {"ceiling", dim_name(dim), NULL};
	const char *const level[] = {"ceiling", "filesystem", NULL};
	const char *const table[] = {"ceiling", NULL};
	bool is_path = spec_keys[dim].type == KEY_PATHS;
	struct setting s = {0};

	if (!config_get_at(draft->config, layer, key, &s) &&
	    !(is_path && config_get_at(draft->config, layer, level, &s)))
		config_get_at(draft->config, layer, table, &s);
	return s.origin;
}

/* "looser than the ceiling "none"", of BY, the dimension of the ceiling that forbids DIM. */
static int put_limit(const struct spec *ceiling, enum dim dim, enum dim by, struct str *out)
{
	int r = str_append(out, by == DIM_PATHS_HIDDEN ? "hidden by the ceiling "
						       : "looser than the ceiling ");

	if (r == 0 && by != dim && by != DIM_PATHS_HIDDEN)
		r = str_appendf(out, "%s = ", dim_name(by));
	return r < 0 ? r : spec_print_dim(ceiling, by, out);
}

/* BY is the dimension of the ceiling that forbids DIM: the same, paths_hidden or ephemeral. */
static int refuse(const struct draft *draft, enum layer layer, enum dim dim, enum dim by,
		  const struct spec *ceiling, struct err *err)
{
	_cleanup_(str_release) struct str asked = {0}, limit = {0};
	char from[ORIGIN_TEXT_MAX], to[ORIGIN_TEXT_MAX];
	struct origin origin = ceiling_origin(draft, layer, by);
	bool own = draft->own & DIM_BIT(dim);

	if (spec_print_dim(&draft->out->spec, dim, &asked) < 0 ||
	    put_limit(ceiling, dim, by, &limit) < 0)
		return err_oom(err);
	err_set(err, ERR_POLICY, -EPERM, "%s = %.200s (%s%s%s%s) is %.220s (%s)", dim_name(dim),
		str_text(&asked), own ? "" : "preset ", own ? "" : draft->out->sandbox,
		own ? "" : ", ", origin_text(&draft->out->origins[dim], from, sizeof(from)),
		str_text(&limit), origin_text(&origin, to, sizeof(to)));
	return err_hint(err, -EPERM, "ask for less, or raise the ceiling there");
}

/* A path that was asked for by name while the ceiling hides it is refused;
 * otherwise hiding is simply added. */
static dim_set hidden_by_name(const struct spec *spec, const struct spec *ceiling)
{
	static const enum dim lists[] = {DIM_PATHS_READABLE, DIM_PATHS_WRITABLE, DIM_SOCKETS};
	dim_set found = 0;

	for (size_t k = 0; k < array_len(lists); k++) {
		const struct strv *list = spec_list_const(spec, lists[k]);

		for (size_t i = 0; i < list->len; i++)
			for (size_t h = 0; h < ceiling->paths_hidden.len; h++)
				if (path_covers(ceiling->paths_hidden.items[h], list->items[i]))
					found |= DIM_BIT(lists[k]);
	}
	return found;
}

/* Where writes are to be thrown away, what was asked to be written by name is refused, too. */
static int refuse_kept(const struct draft *draft, enum layer layer, const struct spec *ceiling,
		       struct err *err)
{
	static const enum dim dims[] = {DIM_EPHEMERAL, DIM_FILESYSTEM, DIM_PATHS_WRITABLE};

	for (size_t i = 0; i < array_len(dims); i++)
		if (draft->out->written & DIM_BIT(dims[i]))
			return refuse(draft, layer, dims[i], DIM_EPHEMERAL, ceiling, err);
	return 0;
}

/* What all ceilings together allow, for what is opened later. */
static int keep_bound(struct resolved *out, const struct spec *ceiling, struct err *err)
{
	struct spec both = {0};
	int r;

	if (!out->bounded)
		r = spec_copy(&both, ceiling) < 0 ? err_oom(err) : 0;
	else
		r = spec_meet(&out->bound, ceiling, &both, err);
	if (r < 0)
		return r;
	spec_release(&out->bound);
	out->bound = both;
	out->bounded = true;
	return 0;
}

static int apply_spec(struct draft *draft, enum layer layer, struct err *err)
{
	_cleanup_(spec_release) struct spec ceiling = {0}, cut = {0};
	struct spec *spec = &draft->out->spec;
	dim_set excess, hidden = 0;
	int r;

	r = ceiling_spec(draft, layer, &ceiling, err);
	if (r == 0)
		r = keep_bound(draft->out, &ceiling, err);
	if (r < 0)
		return r;
	excess = spec_excess(spec, &ceiling);
	if (!excess)
		return 0;
	if (excess & DIM_BIT(DIM_PATHS_HIDDEN))
		hidden = hidden_by_name(spec, &ceiling);
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		dim_set bit = DIM_BIT(dim) & draft->out->written;

		if ((bit & excess) && dim != DIM_PATHS_HIDDEN)
			return refuse(draft, layer, dim, dim, &ceiling, err);
		if (bit & hidden)
			return refuse(draft, layer, dim, DIM_PATHS_HIDDEN, &ceiling, err);
	}
	r = excess & DIM_BIT(DIM_EPHEMERAL) ? refuse_kept(draft, layer, &ceiling, err) : 0;
	if (r == 0)
		r = spec_meet(spec, &ceiling, &cut, err);
	if (r < 0)
		return r;
	if (cut.ephemeral && cut.filesystem > FILESYSTEM_READONLY)
		cut.filesystem = FILESYSTEM_READONLY; /* else writes would stay */
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (excess & DIM_BIT(dim))
			draft->out->origins[dim] = ceiling_origin(draft, layer, dim);
	spec_release(spec);
	*spec = cut;
	cut = (struct spec){0};
	return 0;
}

int draft_apply_ceilings(struct draft *draft, struct err *err)
{
	for (int layer = LAYER_SYSTEM; layer < LAYER_WORKSPACE; layer++) {
		struct setting s;
		int r;

		if (!config_get_at(draft->config, layer, (const char *const[]){"ceiling", NULL},
				   &s))
			continue;
		r = apply_spec(draft, layer, err);
		if (r < 0)
			return r;
	}
	return 0;
}
