/* SPDX-License-Identifier: MIT */
/*
 * What is an item, and so part of the digest:
 *
 * - every key but plain limits of a spec table whose sandbox, as a whole,
 *   exceeds the built-in ceiling: a list that does nothing by itself widens a
 *   level that was trusted before;
 * - caches in unusual places: what is left there stands in for programs and settings
 *   of the host, in every run that is given more;
 * - a max_output that would fill the memory of the supervisor, or the user's disk;
 * - the program of a command with such a sandbox: trust is given to what runs;
 * - every key of a preset or such a command that the system or the user defines
 *   as well: theirs must not change under them;
 * - in [sandbox], a looser preset, variables that pass, no observer, and a mode,
 *   engine or backend other than without the workspace file.
 */
#include "policy/trust.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/value.h"
#include "policy/cache-place.h"
#include "policy/draft.h"
#include "policy/host-group.h"
#include "policy/lattice.h"

#define OUTPUT_UNASKED ((uint64_t)64 << 20)

struct survey {
	const struct config *config;
	const struct workspace *workspace;
	const struct user *user;
	struct spec ceiling;
	struct trust_ask *ask;
	struct err *err;
};

/* What the groups in a LIST of hosts stand for now is what is agreed to. */
static int add_groups(const struct survey *s, const struct toml_value *list, struct str *text)
{
	const char *before = "  #";
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->array.len; i++) {
		const struct toml_value *item = list->array.items[i];
		_cleanup_(strv_release) struct strv rules = {0};

		if (!host_is_group(item->string.bytes))
			continue;
		r = host_group_expand(s->config, LAYER_USER, item->string.bytes, &rules, NULL,
				      s->err);
		if (r < 0)
			return r;
		r = str_appendf(text, "%s %s:", before, item->string.bytes);
		before = ";";
		for (size_t k = 0; r == 0 && k < rules.len; k++)
			r = str_appendf(text, " %s", rules.items[k]);
	}
	return r < 0 ? err_oom(s->err) : 0;
}

static int add_item(struct survey *s, const char *const *path, const struct toml_value *value,
		    const char *why)
{
	struct trust_item *items, *item;
	_cleanup_(str_release) struct str text = {0};
	const char *last = NULL;
	int r = 0;

	for (size_t i = 0; path[i] && r == 0; i++) {
		last = path[i];
		r = i ? str_append_char(&text, '.') : 0;
		if (r == 0)
			r = toml_key_quote(&text, path[i], strlen(path[i]));
	}
	if (r == 0)
		r = str_append(&text, " = ");
	if (r == 0)
		r = toml_value_print(value, &text);
	if (r == 0 && str_eq(last, dim_name(DIM_HOSTS)) && value->type == TOML_ARRAY) {
		r = add_groups(s, value, &text);
		if (r < 0)
			return r;
	}
	items = reallocarray(s->ask->items, s->ask->len + 1, sizeof(*items));
	if (items)
		s->ask->items = items;
	if (r < 0 || !items)
		return err_oom(s->err);
	item = &items[s->ask->len];
	*item = (struct trust_item){.line = value->pos.line};
	s->ask->len++;
	item->text = take_ptr(text.data);
	item->why = strdup(why);
	return item->why ? 0 : err_oom(s->err);
}

static int add_key(struct survey *s, const char *const *path, const char *why)
{
	struct setting setting;

	if (!config_get_at(s->config, LAYER_WORKSPACE, path, &setting))
		return 0;
	return add_item(s, path, setting.value, why);
}

/* Limits are nobody's business but the user's, and private copies expose nothing: as a rule. */
static bool is_harmless(enum dim dim)
{
	enum key_type type = spec_keys[dim].type;

	return dim == DIM_CACHES || type == KEY_SIZE || type == KEY_DURATION || type == KEY_UINT;
}

/* `network "unrestricted", filesystem "unrestricted"`; empty: within. */
static int excess_text(const struct survey *s, const struct spec *spec, struct str *out)
{
	struct spec bare = *spec;
	dim_set excess;
	int r = 0;

	/* What is hidden is so by name, and names can lie: a rule counts anyway. */
	bare.paths_hidden = (struct strv){0};
	excess = spec_excess(&bare, &s->ceiling) & ~DIM_BIT(DIM_CACHES);

	for (int dim = 0; dim < DIM_COUNT_ && r == 0; dim++) {
		_cleanup_(str_release) struct str value = {0};

		if (!(excess & DIM_BIT(dim)))
			continue;
		r = spec_print_dim(spec, dim, &value);
		if (r == 0)
			r = str_appendf(out, "%s%s %s", out->len ? ", " : "", dim_name(dim),
					value.len ? value.data : "all");
	}
	return r;
}

/* What the sandbox of COMMAND, or PRESET, exceeds; both NULL: [sandbox] preset. */
static int judge(const struct survey *s, const char *command, const char *preset,
		 struct str *ret_why)
{
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(draft_release) struct draft draft = {
		.config = s->config,
		.root = s->workspace->root,
		.cwd = s->workspace->root,
		.user = s->user,
		.out = &out,
	};
	int r;

	r = draft_init(&draft, s->err);
	if (r == 0)
		r = preset ? draft_apply_preset(&draft, preset, NULL, NULL, s->err)
			   : draft_apply_sandbox(&draft, command, NULL, s->err);
	if (r == 0)
		r = draft_settle(&draft, s->err);
	if (r < 0)
		return r;
	return excess_text(s, &out.spec, ret_why) < 0 ? err_oom(s->err) : 0;
}

/* Output waits for its reader in the supervisor, and is kept in the history. */
static int survey_output(struct survey *s, const char *const *path, const struct toml_value *value)
{
	_cleanup_(strv_release) struct strv text = {0};
	uint64_t size = 0;
	int r;

	if (toml_texts(value, &text) < 0)
		return err_oom(s->err);
	r = key_parse(&spec_keys[DIM_MAX_OUTPUT], text.items[0], &size, s->err);
	if (r < 0 || size <= OUTPUT_UNASKED)
		return r;
	return add_item(s, path, value, "is held in memory and kept on disk, outside");
}

static int survey_caches(struct survey *s, const char *const *path, const struct toml_value *list)
{
	for (size_t i = 0; i < list->array.len; i++) {
		_cleanup_(freep) char *place = NULL;
		const char *root = s->workspace->root;
		int r = path_rule_expand(list->array.items[i]->string.bytes, root, root,
					 s->user->home, &place, s->err);

		if (r < 0)
			return r;
		if (!cache_place_is_usual(place, root, s->user))
			return add_item(s, path, list,
					"what commands leave there takes the place of the host's");
	}
	return 0;
}

/* The keys of a spec table at PATH, N long. WHY empty: only those that widen
 * what a command line may build on it. */
static int survey_table(struct survey *s, const char *const *path, size_t n, const char *why,
			bool with_limits)
{
	const char *full[6] = {0};
	struct setting setting;
	int r = 0;

	memcpy(full, path, n * sizeof(*full));
	full[n] = "base";
	if (*why)
		r = add_key(s, full, why);
	for (int dim = 0; dim < DIM_COUNT_ && r == 0; dim++) {
		full[n] = dim_name(dim);
		if (!config_get_at(s->config, LAYER_WORKSPACE, full, &setting))
			continue;
		if (is_harmless(dim) && !with_limits)
			r = dim == DIM_CACHES       ? survey_caches(s, full, setting.value)
			    : dim == DIM_MAX_OUTPUT ? survey_output(s, full, setting.value)
						    : 0;
		else if (*why)
			r = add_item(s, full, setting.value, why);
		else if ((dim == DIM_HOSTS || dim == DIM_ENV_PASS) && setting.value->array.len > 0)
			r = add_item(s, full, setting.value, dim_name(dim));
	}
	return r;
}

static bool is_outside(const struct survey *s, const char *table, const char *name)
{
	const char *const path[] = {table, name, NULL};
	struct setting setting;

	return config_get_at(s->config, LAYER_SYSTEM, path, &setting) ||
	       config_get_at(s->config, LAYER_USER, path, &setting);
}

static int survey_preset(struct survey *s, const char *name)
{
	const char *const path[] = {"presets", name};
	_cleanup_(str_release) struct str why = {0};
	int r;

	if (is_outside(s, "presets", name))
		return survey_table(s, path, 2, "changes a preset of yours or the system's", true);
	r = judge(s, NULL, name, &why);
	return r < 0 ? r : survey_table(s, path, 2, str_text(&why), false);
}

static int survey_command(struct survey *s, const char *name)
{
	const char *const cmd[] = {"commands", name, "cmd", NULL};
	const char *const argv[] = {"commands", name, "argv", NULL};
	const char *const sandbox[] = {"commands", name, "sandbox", NULL};
	_cleanup_(str_release) struct str why = {0};
	struct setting own, preset;
	bool has_own = config_get(s->config, sandbox, &own);
	int r;

	/* a default that the user chose covers the commands of every project */
	if (!has_own && !config_get_at(s->config, LAYER_WORKSPACE,
				       (const char *const[]){"sandbox", "preset", NULL}, &preset))
		return 0;
	r = judge(s, name, NULL, &why);
	if (r < 0)
		return r;
	if (config_get_at(s->config, LAYER_WORKSPACE, sandbox, &own)) {
		if (own.value->type == TOML_TABLE)
			r = survey_table(s, sandbox, 3, str_text(&why),
					 why.len > 0 && is_outside(s, "commands", name));
		else if (why.len > 0)
			r = add_item(s, sandbox, own.value, str_text(&why));
	}
	if (r < 0 || why.len == 0)
		return r;
	r = add_key(s, cmd, "would run with it");
	return r < 0 ? r : add_key(s, argv, "would run with it");
}

static int survey_all(struct survey *s, const char *table,
		      int (*survey)(struct survey *s, const char *name))
{
	struct setting setting;
	int r = 0;

	if (!config_get_at(s->config, LAYER_WORKSPACE, (const char *const[]){table, NULL},
			   &setting))
		return 0;
	for (const struct toml_entry *e = setting.value->table.first; e && r == 0; e = e->next)
		r = survey(s, e->key);
	return r;
}

/* What the key says without the workspace file, or DEF. */
static const char *outside_text(const struct survey *s, const char *const *path, const char *def)
{
	struct setting setting;

	for (int layer = LAYER_USER; layer >= LAYER_SYSTEM; layer--)
		if (config_get_at(s->config, layer, path, &setting))
			return setting.value->string.bytes;
	return def;
}

static int survey_choices(struct survey *s)
{
	static const struct {
		const char *name, *def, *harmless, *why;
	} keys[] = {
		{"mode", "direct", "staged", "writes are not staged"},
		{"engine", "auto", NULL, "another engine"},
		{"backend", "local", NULL, "another backend"},
	};
	int r = 0;

	for (size_t i = 0; i < array_len(keys) && r == 0; i++) {
		const char *const path[] = {"sandbox", keys[i].name, NULL};
		struct setting setting;
		const char *text;

		if (!config_get_at(s->config, LAYER_WORKSPACE, path, &setting))
			continue;
		text = setting.value->string.bytes;
		if (!str_eq(text, outside_text(s, path, keys[i].def)) &&
		    !str_eq(text, keys[i].harmless))
			r = add_item(s, path, setting.value, keys[i].why);
	}
	return r;
}

/* Who is not watched leaves nothing in the history. */
static int survey_observe(struct survey *s)
{
	const char *const path[] = {"sandbox", "observe", NULL};
	struct setting here, outside;

	if (!config_get_at(s->config, LAYER_WORKSPACE, path, &here) || here.value->boolean)
		return 0;
	for (int layer = LAYER_USER; layer >= LAYER_SYSTEM; layer--)
		if (config_get_at(s->config, layer, path, &outside))
			return outside.value->boolean
				       ? add_item(s, path, here.value, "nobody watches")
				       : 0;
	return add_item(s, path, here.value, "nobody watches");
}

static int survey_env_pass(struct survey *s)
{
	const char *const path[] = {"sandbox", "env", "pass", NULL};
	struct setting here, outside = {0};
	bool has_outside;

	if (!config_get_at(s->config, LAYER_WORKSPACE, path, &here))
		return 0;
	has_outside = config_get_at(s->config, LAYER_USER, path, &outside) ||
		      config_get_at(s->config, LAYER_SYSTEM, path, &outside);
	for (size_t i = 0; i < here.value->array.len; i++) {
		const char *name = here.value->array.items[i]->string.bytes;
		bool known = false;

		for (size_t k = 0; has_outside && k < outside.value->array.len && !known; k++)
			known = str_eq(name, outside.value->array.items[k]->string.bytes);
		if (!known)
			return add_item(s, path, here.value, "variables of your environment");
	}
	return 0;
}

static int survey_default(struct survey *s)
{
	const char *const path[] = {"sandbox", "preset", NULL};
	_cleanup_(str_release) struct str why = {0};
	struct setting setting;
	int r;

	if (!config_get_at(s->config, LAYER_WORKSPACE, path, &setting) ||
	    str_eq(setting.value->string.bytes, outside_text(s, path, NULL)))
		return 0;
	r = judge(s, NULL, NULL, &why);
	if (r < 0 || why.len == 0)
		return r;
	return add_item(s, path, setting.value, str_text(&why));
}

static int by_line(const void *a, const void *b)
{
	const struct trust_item *x = a, *y = b;

	return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
				  : strcmp(x->text, y->text);
}

/* Of what the values say and of what they come to, since a preset that one names can be the
 * user's, and change. Bound to the path as well. */
static int digest(const struct survey *s, char hex[SHA256_HEX])
{
	static const char version[] = "pale-trust-2";
	_cleanup_(strv_release) struct strv texts = {0};
	struct sha256 h;

	for (size_t i = 0; i < s->ask->len; i++)
		if (strv_addf(&texts, "%s\n%s", s->ask->items[i].text, s->ask->items[i].why) < 0)
			return err_oom(s->err);
	strv_sort_unique(&texts);
	sha256_init(&h);
	sha256_add(&h, version, sizeof(version));
	sha256_add(&h, s->workspace->root, strlen(s->workspace->root) + 1);
	for (size_t i = 0; i < texts.len; i++)
		sha256_add(&h, texts.items[i], strlen(texts.items[i]) + 1);
	sha256_end_hex(&h, hex);
	return 0;
}

/* Variables can make a program do anything (LD_PRELOAD, GIT_SSH_COMMAND), which
 * matters as soon as one runs with more than the ceiling. */
static int survey_env_set(struct survey *s)
{
	const char *const path[] = {"sandbox", "env", "set", NULL};
	struct setting setting;
	int r = 0;

	if (!config_get_at(s->config, LAYER_WORKSPACE, path, &setting))
		return 0;
	for (const struct toml_entry *e = setting.value->table.first; e && r == 0; e = e->next) {
		const char *const name[] = {"sandbox", "env", "set", e->key, NULL};

		r = add_item(s, name, e->value, "set in all of these");
	}
	return r;
}

int trust_ceiling(const char *workspace_root, struct spec *ret, struct err *err)
{
	spec_init_bottom(ret);
	ret->filesystem = FILESYSTEM_WORKSPACE_ONLY;
	ret->workspace = strdup(workspace_root);
	return ret->workspace ? 0 : err_oom(err);
}

static int run_survey(struct survey *s)
{
	int r;

	r = trust_ceiling(s->workspace->root, &s->ceiling, s->err);
	if (r == 0)
		r = presets_check_names(s->config, s->err);
	if (r == 0)
		r = survey_choices(s);
	if (r == 0)
		r = survey_observe(s);
	if (r == 0)
		r = survey_env_pass(s);
	if (r == 0)
		r = survey_default(s);
	if (r == 0)
		r = survey_all(s, "presets", survey_preset);
	if (r == 0)
		r = survey_all(s, "commands", survey_command);
	if (r == 0 && s->ask->len > 0)
		r = survey_env_set(s);
	if (r < 0)
		return r;
	if (s->ask->len > 0)
		qsort(s->ask->items, s->ask->len, sizeof(*s->ask->items), by_line);
	return digest(s, s->ask->digest);
}

int trust_ask_compute(const struct config *config, const struct workspace *workspace,
		      const struct user *user, struct trust_ask *ret, struct err *err)
{
	struct trust_ask ask = {0};
	struct survey survey = {
		.config = config,
		.workspace = workspace,
		.user = user,
		.ask = &ask,
		.err = err,
	};
	int r = run_survey(&survey);

	spec_release(&survey.ceiling);
	if (r < 0) {
		trust_ask_release(&ask);
		return r;
	}
	*ret = ask;
	return 0;
}

void trust_ask_release(struct trust_ask *ask)
{
	for (size_t i = 0; i < ask->len; i++) {
		free(ask->items[i].text);
		free(ask->items[i].why);
	}
	free(ask->items);
	*ask = (struct trust_ask){0};
}
