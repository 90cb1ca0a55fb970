/* SPDX-License-Identifier: MIT */
#include "policy/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "config/value.h"
#include "policy/draft.h"
#include "policy/host-rule.h"
#include "policy/lattice.h"
#include "policy/rule-set.h"
#include "policy/trust.h"

static const struct key *key_of(const char *path)
{
	for (size_t i = 0; i < config_keys_len; i++)
		if (strcmp(config_keys[i].path, path) == 0)
			return &config_keys[i];
	BUG("no such key");
}

/* [sandbox.env] pass adds to what the sandbox itself lets pass. */
static int apply_env_pass(struct draft *draft, struct err *err)
{
	const char *const path[] = {"sandbox", "env", "pass", NULL};
	_cleanup_(strv_release) struct strv names = {0};
	struct setting s;
	int r;

	if (draft->out->spec.env == ENV_INHERIT || !config_get(draft->config, path, &s) ||
	    s.value->array.len == 0)
		return 0;
	if (toml_texts(s.value, &names) < 0)
		return err_oom(err);
	r = draft_set(draft, DIM_ENV_PASS, &names, true, draft->root, err);
	if (r < 0)
		return setting_error(&s, r, err);
	draft_mark(draft, DIM_ENV_PASS, s.origin);
	return 0;
}

/* An option that only makes sense with a looser level brings the level along, but no more of it
 * than it names: --host alone does not open the host's loopback. */
static int imply(struct draft *draft, enum dim option, enum network level, struct err *err)
{
	struct spec *spec = &draft->out->spec;
	char buf[ORIGIN_TEXT_MAX];

	if (spec->network == NETWORK_UNRESTRICTED)
		return draft_refuse_unbounded(draft, option, spec_keys[option].flag, ERR_USAGE,
					      err);
	if (spec->network >= level)
		return 0;
	if (draft->out->origins[DIM_NETWORK].file == spec_keys[DIM_NETWORK].flag) {
		err_set(err, ERR_USAGE, -EINVAL, "%s needs network = \"%s\", but %s says \"%s\"",
			spec_keys[option].flag, spec_keys[DIM_NETWORK].choices[level],
			origin_text(&draft->out->origins[DIM_NETWORK], buf, sizeof(buf)),
			spec_keys[DIM_NETWORK].choices[spec->network]);
		return err_hint(err, -EINVAL, "leave one of the two out");
	}
	if (spec->network == NETWORK_NONE && !spec->ports_set) {
		spec->ports_set = true;
		draft->out->origins[DIM_PORTS] = (struct origin){.file = spec_keys[option].flag};
	}
	spec->network = level;
	draft_mark(draft, DIM_NETWORK, (struct origin){.file = spec_keys[option].flag});
	return 0;
}

/* A level from a file yields to variables that the command line lets pass. */
static void imply_env(struct draft *draft)
{
	struct origin *origin = &draft->out->origins[DIM_ENV];

	if (draft->out->spec.env != ENV_CLEAN || origin->file == spec_keys[DIM_ENV].flag)
		return;
	draft->out->spec.env = ENV_PASS;
	draft_mark(draft, DIM_ENV, (struct origin){.file = spec_keys[DIM_ENV_PASS].flag});
}

/* What the items from I on say of its dimension: all of a list at once, since it is sorted each
 * time; of anything else the last one holds. */
static int apply_ask_dim(struct draft *draft, const struct ask *ask, size_t i, struct err *err)
{
	enum dim dim = ask->items[i].dim;
	bool is_list = spec_list(&draft->out->spec, dim) != NULL;
	_cleanup_(freep) char **texts = reallocarray(NULL, ask->len - i, sizeof(*texts));
	struct strv said = {.items = texts};
	const char *flag = spec_keys[dim].flag;
	int r = 0;

	if (!texts)
		return err_oom(err);
	for (; i < ask->len && r == 0; i++) {
		if (ask->items[i].dim != dim)
			continue;
		texts[said.len++] = (char *)(ask->items[i].text ? ask->items[i].text : "true");
		if (is_list)
			continue;
		r = draft_set(draft, dim, &said, true, draft->cwd, err);
		said.len = 0;
	}
	if (is_list)
		r = draft_set(draft, dim, &said, true, draft->cwd, err);
	if (r < 0) {
		if (err && err->code == ERR_CONFIG)
			err->code = ERR_USAGE;
		return err_wrap(err, r, "%s", flag);
	}
	draft_mark(draft, dim, (struct origin){.file = flag});
	return 0;
}

/* Ports that a file lists for a sandbox without network mean nothing there. They do not begin to
 * when the command line opens it, for nobody was asked to trust them. */
static void forget_idle_ports(struct draft *draft, const struct ask *ask)
{
	struct spec *spec = &draft->out->spec;

	for (size_t i = 0; i < ask->len; i++)
		if (spec->network == NETWORK_NONE &&
		    (ask->items[i].dim == DIM_PORTS || ask->items[i].dim == DIM_HOSTS)) {
			strv_release(&spec->ports);
			spec->ports_set = false;
			return;
		}
}

static int apply_ask(struct draft *draft, const struct ask *ask, struct err *err)
{
	dim_set seen = 0;
	int r = 0;

	forget_idle_ports(draft, ask);
	for (size_t i = 0; i < ask->len && r == 0; i++) {
		if (!(seen & DIM_BIT(ask->items[i].dim)))
			r = apply_ask_dim(draft, ask, i, err);
		seen |= DIM_BIT(ask->items[i].dim);
	}
	if (r == 0 && (seen & DIM_BIT(DIM_HOSTS)))
		r = imply(draft, DIM_HOSTS, NETWORK_ALLOWED_HOSTS, err);
	if (r == 0 && (seen & DIM_BIT(DIM_PORTS)))
		r = imply(draft, DIM_PORTS, NETWORK_LOCALHOST, err);
	if (r == 0 && (seen & DIM_BIT(DIM_ENV_PASS)))
		imply_env(draft);
	else if ((seen & DIM_BIT(DIM_ENV)) && draft->out->spec.env == ENV_CLEAN)
		strv_release(&draft->out->spec.env_pass);
	return r;
}

/* One of a key's choices: from OPTION's value, the files, or the default. */
struct choice {
	const char *text; /* static */
	struct origin origin;
	bool written;
};

static int choose(const struct draft *draft, const char *name, const char *asked,
		  const char *option, const char *def, struct choice *ret, struct err *err)
{
	_cleanup_(freep) char *full = str_printf("sandbox.%s", name);
	const char *const path[] = {"sandbox", name, NULL};
	const struct key *key;
	struct setting s;
	uint64_t index = 0;
	int r;

	if (!full)
		return err_oom(err);
	key = key_of(full);
	*ret = (struct choice){.written = true};
	if (asked) {
		r = key_parse(key, asked, &index, err);
		if (r < 0) {
			if (err)
				err->code = ERR_USAGE;
			return err_wrap(err, r, "%s", option);
		}
		ret->origin.file = option;
	} else if (config_get(draft->config, path, &s)) {
		index = (uint64_t)key_choice(key, s.value->string.bytes);
		ret->origin = s.origin;
	} else {
		index = (uint64_t)key_choice(key, def);
		*ret = (struct choice){.origin.file = "built in"};
	}
	ret->text = key->choices[index];
	return 0;
}

static int refuse_setting(const char *what, const char *asked, const struct origin *by,
			  const struct setting *ceiling, struct err *err)
{
	char from[ORIGIN_TEXT_MAX], to[ORIGIN_TEXT_MAX];

	err_set(err, ERR_POLICY, -EPERM, "%s \"%s\" (%s) is not within the ceiling (%s)", what,
		asked, origin_text(by, from, sizeof(from)),
		origin_text(&ceiling->origin, to, sizeof(to)));
	return err_hint(err, -EPERM, "ask for less, or raise the ceiling there");
}

static bool list_has(const struct toml_value *list, const char *text)
{
	for (size_t i = 0; i < list->array.len; i++)
		if (strcmp(list->array.items[i]->string.bytes, text) == 0)
			return true;
	return false;
}

/* `written` decides as for dimensions: refused, or staged in its place. */
static int bound_mode(const struct draft *draft, struct choice *mode, struct err *err)
{
	const char *const path[] = {"ceiling", "mode", NULL};
	struct setting s;

	for (int layer = LAYER_SYSTEM; layer < LAYER_WORKSPACE; layer++) {
		if (!config_get_at(draft->config, layer, path, &s) ||
		    strcmp(s.value->string.bytes, "staged") != 0 ||
		    strcmp(mode->text, "staged") == 0)
			continue;
		if (mode->written)
			return refuse_setting("mode", mode->text, &mode->origin, &s, err);
		mode->text = "staged";
		mode->origin = s.origin;
	}
	return 0;
}

static int bound_backend(const struct draft *draft, const struct choice *backend, struct err *err)
{
	const char *const path[] = {"ceiling", "backends", NULL};
	struct setting s;

	for (int layer = LAYER_SYSTEM; layer < LAYER_WORKSPACE; layer++)
		if (config_get_at(draft->config, layer, path, &s) &&
		    !list_has(s.value, backend->text))
			return refuse_setting("backend", backend->text, &backend->origin, &s, err);
	return 0;
}

static int resolve_modes(struct draft *draft, const struct ask *ask, struct err *err)
{
	struct choice mode = {0}, engine = {0}, backend = {0};
	const char *asked = ask ? ask->mode : NULL;
	const char *option = asked && strcmp(asked, "staged") == 0 ? "--staged" : "--direct";
	int r;

	r = choose(draft, "mode", asked, option, "direct", &mode, err);
	if (r == 0)
		r = choose(draft, "engine", ask ? ask->engine : NULL, "--engine", "auto", &engine,
			   err);
	if (r == 0)
		r = choose(draft, "backend", NULL, NULL, "local", &backend, err);
	if (r == 0)
		r = bound_mode(draft, &mode, err);
	if (r == 0)
		r = bound_backend(draft, &backend, err);
	if (r < 0)
		return r;
	draft->out->mode = mode.text;
	draft->out->engine = engine.text;
	draft->out->backend = backend.text;
	draft->out->stage = ask ? ask->stage : NULL;
	return 0;
}

static int allow_degraded(struct draft *draft, const char *name, const struct origin *by,
			  struct err *err)
{
	const char *const path[] = {"ceiling", "allow_degraded", NULL};
	struct setting s;

	for (int layer = LAYER_SYSTEM; layer < LAYER_WORKSPACE; layer++)
		if (config_get_at(draft->config, layer, path, &s) && !list_has(s.value, name))
			return refuse_setting("allow_degraded", name, by, &s, err);
	draft->out->allow_degraded |= DIM_BIT(dim_by_name(name));
	return 0;
}

static int resolve_degraded(struct draft *draft, const struct ask *ask, struct err *err)
{
	const char *const path[] = {"sandbox", "allow_degraded", NULL};
	const struct origin option = {.file = "--allow-degraded"};
	struct setting s;
	uint64_t index;
	int r = 0;

	if (config_get(draft->config, path, &s))
		for (size_t i = 0; i < s.value->array.len && r == 0; i++)
			r = allow_degraded(draft, s.value->array.items[i]->string.bytes, &s.origin,
					   err);
	for (size_t i = 0; ask && r == 0 && i < ask->allow_degraded.len; i++) {
		const char *name = ask->allow_degraded.items[i];

		r = key_parse(key_of("sandbox.allow_degraded"), name, &index, err);
		if (r < 0) {
			if (err)
				err->code = ERR_USAGE;
			return err_wrap(err, r, "--allow-degraded");
		}
		r = allow_degraded(draft, name, &option, err);
	}
	return r;
}

static void resolve_observe(struct draft *draft, const struct ask *ask)
{
	const char *const path[] = {"sandbox", "observe", NULL};
	bool wanted = !ask || !ask->no_observe;
	struct setting s;

	if (config_get(draft->config, path, &s))
		wanted &= s.value->boolean;
	draft->out->observe = ask && ask->profile ? OBSERVE_USES
			      : wanted            ? OBSERVE_ATTEMPTS
						  : OBSERVE_NOTHING;
}

/* Asking opens nothing by itself. Where a sandbox has no network, only an option of this run
 * makes names reachable that way: `none` is what it says. */
static int resolve_asks(struct draft *draft, const struct ask *ask, struct err *err)
{
	const char *const path[] = {"sandbox", "ask", NULL};
	struct spec *spec = &draft->out->spec;
	bool by_option = ask && ask->asks;
	struct setting s;

	if (!by_option && (!config_get(draft->config, path, &s) || !s.value->boolean))
		return 0;
	if (by_option && spec->network == NETWORK_UNRESTRICTED)
		return draft_refuse_unbounded(draft, DIM_HOSTS, "--ask", ERR_USAGE, err);
	if (by_option && spec->network == NETWORK_NONE) {
		if (draft->out->origins[DIM_NETWORK].file == spec_keys[DIM_NETWORK].flag)
			return err_hint(err,
					err_set(err, ERR_USAGE, -EINVAL,
						"--ask and --network none exclude each other"),
					"leave one of the two out");
		spec->network = NETWORK_ALLOWED_HOSTS;
		spec->ports_set = true;
		strv_release(&spec->ports);
		strv_release(&spec->hosts);
		draft->out->origins[DIM_NETWORK] = (struct origin){.file = "--ask"};
	}
	draft->out->asks = spec->network == NETWORK_LOCALHOST ||
			   spec->network == NETWORK_ALLOWED_HOSTS;
	return 0;
}

static int env_set(struct strv *env, const char *name, size_t len, const char *value)
{
	char *item = str_printf("%.*s=%s", (int)len, name, value);

	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < env->len; i++) {
		if (strncmp(env->items[i], item, len + 1) == 0) {
			free(env->items[i]);
			env->items[i] = item;
			return 0;
		}
	}
	return strv_take(env, item);
}

/* 1: variables of the workspace file hold. Beyond the workspace ceiling, where
 * LD_PRELOAD and the like could reach something, they do only if the file's
 * wishes were trusted, these among them: a wider option is no consent. Where names
 * can be asked for, the run is not within it. */
static int workspace_may_set(const struct draft *draft, struct err *err)
{
	const struct workspace workspace = {.root = (char *)draft->root};
	_cleanup_(trust_ask_release) struct trust_ask ask = {0};
	_cleanup_(spec_release) struct spec ceiling = {0};
	int r = trust_ceiling(draft->root, &ceiling, err);

	if (r < 0)
		return r;
	if (!draft->out->asks &&
	    (spec_excess(&draft->out->spec, &ceiling) & ~DIM_BIT(DIM_CACHES)) == 0)
		return 1;
	r = trust_ask_compute(draft->config, &workspace, draft->user, &ask, err);
	return r < 0 ? r : ask.len > 0;
}

/* Tables merge per key: the farthest layer first, so that closer ones win. */
static int resolve_env_set(struct draft *draft, const struct ask *ask, struct err *err)
{
	const char *const path[] = {"sandbox", "env", "set", NULL};
	struct strv *env = &draft->out->env_set;
	struct setting s;

	for (int layer = 0; layer < LAYER_COUNT_; layer++) {
		if (!config_get_at(draft->config, layer, path, &s))
			continue;
		if (layer == LAYER_WORKSPACE) {
			int r = workspace_may_set(draft, err);

			if (r < 0)
				return r;
			if (r == 0)
				continue;
		}
		for (const struct toml_entry *e = s.value->table.first; e; e = e->next)
			if (env_set(env, e->key, e->key_len, e->value->string.bytes) < 0)
				return err_oom(err);
	}
	for (size_t i = 0; ask && i < ask->env_set.len; i++) {
		const char *text = ask->env_set.items[i], *eq = strchr(text, '=');
		_cleanup_(freep) char *name = strndup(text, strcspn(text, "="));

		if (!name)
			return err_oom(err);
		if (!eq || !variable_is_valid(name)) {
			err_set(err, ERR_USAGE, -EINVAL, "--setenv: \"%s\" is not NAME=VALUE",
				text);
			return -EINVAL;
		}
		if (env_set(env, name, strlen(name), eq + 1) < 0)
			return err_oom(err);
	}
	return 0;
}

/* A whole spec is complete: what the files let pass is no part of it. */
static int apply_sandbox(struct draft *draft, const char *command, const struct ask *ask,
			 struct err *err)
{
	int r;

	if (ask && ask->spec)
		return draft_apply_text(draft, ask->spec, err);
	r = draft_apply_sandbox(draft, command, ask ? ask->preset : NULL, err);
	return r < 0 ? r : apply_env_pass(draft, err);
}

static int find_command(const struct config *config, const char *name, struct err *err)
{
	const char *const path[] = {"commands", name, NULL};
	struct setting s;

	if (!name || config_get(config, path, &s))
		return 0;
	return err_set(err, ERR_USAGE, -ENOENT, "no command '%s'", name);
}

int spec_resolve(const struct config *config, const char *command, const struct ask *ask,
		 const struct workspace *workspace, const struct user *user, struct resolved *ret,
		 struct err *err)
{
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(draft_release) struct draft draft = {
		.config = config,
		.root = workspace->root,
		.cwd = workspace->cwd,
		.user = user,
		.out = &out,
	};
	int r;

	r = draft_init(&draft, err);
	if (r == 0)
		r = find_command(config, command, err);
	if (r == 0)
		r = presets_check_names(config, err);
	if (r == 0)
		r = apply_sandbox(&draft, command, ask, err);
	if (r == 0 && ask)
		r = apply_ask(&draft, ask, err);
	if (r == 0)
		r = draft_settle(&draft, err);
	if (r == 0)
		r = draft_apply_ceilings(&draft, err);
	if (r == 0)
		r = resolve_asks(&draft, ask, err);
	if (r == 0)
		r = resolve_modes(&draft, ask, err);
	if (r == 0)
		r = resolve_degraded(&draft, ask, err);
	if (r == 0)
		r = resolve_env_set(&draft, ask, err);
	if (r < 0)
		return r;
	resolve_observe(&draft, ask);
	*ret = out;
	out = (struct resolved){0};
	return 0;
}

void resolved_release(struct resolved *resolved)
{
	spec_release(&resolved->spec);
	free(resolved->sandbox);
	spec_release(&resolved->bound);
	strv_release(&resolved->groups);
	strv_release(&resolved->env_set);
	*resolved = (struct resolved){0};
}

bool resolved_may_reach(const struct resolved *resolved, const char *rule)
{
	const char *port = host_rule_loopback(rule);
	struct rule_set set;

	if (!resolved->bounded)
		return true;
	set = rules_ports(&resolved->bound);
	if (port)
		return *port ? rule_set_covers(&set, port + 1) : set.extra == rule_all;
	set = rules_hosts(&resolved->bound);
	return rule_set_covers(&set, rule);
}
