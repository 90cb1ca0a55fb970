/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "policy/draft.h"

#define SECOND    ((uint64_t)1000)
#define MINUTE    (60 * SECOND)
#define MIB       ((uint64_t)1 << 20)
#define NO_LIMIT  SPEC_UNLIMITED
#define BASES_MAX 32

static const struct builtin {
	const char *name;
	enum network network;
	enum filesystem filesystem;
	bool ephemeral;
	uint64_t timeout, cpu, memory;
	enum processes processes;
} builtins[] = {
	{"readonly", NETWORK_NONE, FILESYSTEM_READONLY, false, 30 * SECOND, 15 * SECOND, 256 * MIB,
	 PROCESSES_ISOLATED},
	{"test", NETWORK_NONE, FILESYSTEM_READONLY, true, 60 * SECOND, 30 * SECOND, 512 * MIB,
	 PROCESSES_ISOLATED},
	{"build", NETWORK_NONE, FILESYSTEM_WORKSPACE_ONLY, false, 5 * MINUTE, 2 * MINUTE,
	 2048 * MIB, PROCESSES_ISOLATED},
	{"integration", NETWORK_LOCALHOST, FILESYSTEM_WORKSPACE_ONLY, false, 10 * MINUTE,
	 5 * MINUTE, 4096 * MIB, PROCESSES_VISIBLE},
	{"workspace", NETWORK_NONE, FILESYSTEM_WORKSPACE_ONLY, false, NO_LIMIT, NO_LIMIT, NO_LIMIT,
	 PROCESSES_ISOLATED},
	{"unrestricted", NETWORK_UNRESTRICTED, FILESYSTEM_UNRESTRICTED, false, 30 * MINUTE,
	 NO_LIMIT, NO_LIMIT, PROCESSES_VISIBLE},
	{"off", NETWORK_UNRESTRICTED, FILESYSTEM_UNRESTRICTED, false, NO_LIMIT, NO_LIMIT, NO_LIMIT,
	 PROCESSES_VISIBLE},
};

const char *const preset_names[] = {"readonly",  "test",         "build", "integration",
				    "workspace", "unrestricted", "off",   NULL};
_Static_assert(array_len(preset_names) == array_len(builtins) + 1, "the names of the table");

static const struct builtin *builtin_find(const char *name)
{
	if (strcmp(name, "none") == 0)
		name = "off";
	for (size_t i = 0; i < array_len(builtins); i++)
		if (strcmp(builtins[i].name, name) == 0)
			return &builtins[i];
	return NULL;
}

/* The alias included. */
static bool preset_is_builtin(const char *name)
{
	return builtin_find(name) != NULL;
}

/* Choices of a preset that somebody named count as written by them; its limits
 * do not: nobody wrote "5m", so a ceiling of 1m may cut it. */
static int apply_builtin(struct draft *draft, const struct builtin *b, const struct origin *named,
			 struct err *err)
{
	struct resolved *out = draft->out;
	struct spec *spec = &out->spec;

	spec_release(spec);
	if (strcmp(b->name, "off") == 0)
		spec_init_top(spec);
	else
		spec_init_bottom(spec);
	spec->workspace = strdup(draft->root);
	if (!spec->workspace)
		return err_oom(err);
	spec->network = b->network;
	spec->filesystem = b->filesystem;
	spec->ephemeral = b->ephemeral;
	spec->processes = b->processes;
	spec->timeout = b->timeout;
	spec->cpu = b->cpu;
	spec->memory = b->memory;
	if (!named)
		return 0;
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		if (spec_keys[dim].type != KEY_CHOICE && spec_keys[dim].type != KEY_BOOL)
			continue;
		out->origins[dim] = *named;
		out->written |= DIM_BIT(dim);
	}
	return 0;
}

/* Put where the preset was named in front of the message. */
static int named_error(const struct setting *named, const char *option, int r, struct err *err)
{
	if (named)
		return setting_error(named, r, err);
	if (option && str_starts(option, "--") && err)
		err->code = ERR_USAGE;
	return option ? err_wrap(err, r, "%s", option) : r;
}

static int unknown_preset(const struct draft *draft, const char *name, struct err *err)
{
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(str_release) struct str list = {0};
	const char *near;
	int r;

	r = config_names(draft->config, (const char *const[]){"presets", NULL}, &names);
	for (size_t i = 0; r == 0 && preset_names[i]; i++)
		r = strv_add(&names, preset_names[i]);
	for (size_t i = 0; r == 0 && i < names.len; i++)
		r = str_appendf(&list, "%s%s", i ? ", " : "", names.items[i]);
	if (r < 0)
		return err_oom(err);
	err_set(err, ERR_CONFIG, -EINVAL, "unknown preset '%s'", name);
	near = str_nearest(name, (const char *const *)names.items, names.len);
	if (near)
		return err_hint(err, -EINVAL, "did you mean '%s'? There are: %s", near,
				str_text(&list));
	return err_hint(err, -EINVAL, "there are: %s", str_text(&list));
}

static int check_cycle(const struct draft *draft, const char *name, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = 0;

	if (!strv_has(&draft->chain, name)) {
		if (draft->chain.len < BASES_MAX)
			return 0;
		return err_set(err, ERR_CONFIG, -ELOOP, "more than %d presets build on each other",
			       BASES_MAX);
	}
	for (size_t i = 0; i < draft->chain.len && r == 0; i++)
		r = str_appendf(&text, "%s -> ", draft->chain.items[i]);
	if (r < 0)
		return err_oom(err);
	return err_set(err, ERR_CONFIG, -ELOOP, "presets build on each other in a circle: %s%s",
		       str_text(&text), name);
}

int draft_apply_preset(struct draft *draft, const char *name, const struct setting *named,
		       const char *option, struct err *err)
{
	const char *const table[] = {"presets", name, NULL};
	const char *const base_path[] = {"presets", name, "base", NULL};
	const struct builtin *builtin = builtin_find(name);
	struct origin by_option = {.file = option};
	struct setting base, s;
	int r;

	if (builtin)
		return apply_builtin(draft, builtin,
				     named    ? &named->origin
				     : option ? &by_option
					      : NULL,
				     err);
	if (!config_get(draft->config, table, &s))
		return named_error(named, option, unknown_preset(draft, name, err), err);
	r = check_cycle(draft, name, err);
	if (r < 0)
		return named_error(named, option, r, err);
	if (strv_add(&draft->chain, name) < 0)
		return err_oom(err);
	if (config_get(draft->config, base_path, &base))
		r = draft_apply_preset(draft, base.value->string.bytes, &base, NULL, err);
	else
		r = draft_apply_preset(draft, "workspace", named, option, err);
	if (r < 0)
		return r;
	return draft_apply_table(draft, table, LAYER_SYSTEM, err);
}

int presets_check_names(const struct config *config, struct err *err)
{
	for (int layer = 0; layer < LAYER_COUNT_; layer++) {
		struct setting s;

		if (!config_get_at(config, layer, (const char *const[]){"presets", NULL}, &s))
			continue;
		for (const struct toml_entry *e = s.value->table.first; e; e = e->next) {
			if (!preset_is_builtin(e->key))
				continue;
			err_set(err, ERR_CONFIG, -EEXIST, "preset '%s' is built in", e->key);
			err_hint(err, -EEXIST, "choose another name, with base = \"%s\"", e->key);
			s.value = e->value;
			s.origin.line = e->pos.line;
			return setting_error(&s, -EEXIST, err);
		}
	}
	return 0;
}

int preset_resolve(const struct config *config, const char *name, const char *workspace_root,
		   const struct user *user, struct spec *ret, struct err *err)
{
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(draft_release) struct draft draft = {
		.config = config,
		.root = workspace_root,
		.cwd = workspace_root,
		.user = user,
		.out = &out,
	};
	int r;

	r = draft_init(&draft, err);
	if (r == 0)
		r = presets_check_names(config, err);
	if (r == 0)
		r = draft_apply_preset(&draft, name, NULL, NULL, err);
	if (r == 0)
		r = draft_settle(&draft, err);
	if (r < 0)
		return r;
	*ret = out.spec;
	out.spec = (struct spec){0};
	return 0;
}
