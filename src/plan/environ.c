/* SPDX-License-Identifier: MIT */
#include "plan/environ.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/host.h"
#include "plan/layout.h"
#include "plan/plan.h"
#include "policy/resolve.h"
#include "policy/secret-name.h"

/* What a program may know without being told. A trailing `*` is a pattern. */
static const char *const allowed[] = {
	"PATH", "USER",      "LOGNAME",  "SHELL",    "LANG",        "LANGUAGE", "LC_*",
	"TERM", "COLORTERM", "TERMINFO", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
	"TZ",   "COLUMNS",   "LINES",    "EDITOR",   "PAGER",       "LESS",     "CI",
};

static bool matches(const char *rule, const char *name, size_t len)
{
	size_t rule_len;

	if (rule[0] != name[0] && rule[0] != '*')
		return false; /* nearly always */
	rule_len = strlen(rule);
	if (rule_len == 0 || rule[rule_len - 1] != '*')
		return rule_len == len && strncmp(rule, name, len) == 0;
	return len >= rule_len - 1 && strncmp(rule, name, rule_len - 1) == 0 &&
	       !variable_is_secret(name, len);
}

static bool passes(const struct spec *spec, const char *name, size_t len)
{
	if (spec->env == ENV_INHERIT)
		return true;
	for (size_t i = 0; i < array_len(allowed); i++)
		if (matches(allowed[i], name, len))
			return true;
	for (size_t i = 0; spec->env == ENV_PASS && i < spec->env_pass.len; i++)
		if (matches(spec->env_pass.items[i], name, len))
			return true;
	return false;
}

/* Replace or add NAME=VALUE. */
static int put_pair(struct strv *env, const char *name, const char *value)
{
	_cleanup_(freep) char *assignment = str_printf("%s=%s", name, value);

	return assignment ? strv_assign(env, assignment) : -ENOMEM;
}

static bool has(const struct strv *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->len; i++)
		if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
			return true;
	return false;
}

/* A confined git sees no configuration of the user's, but may sign its work. */
static int put_identity(struct strv *env, const struct git_identity *git)
{
	int r = 0;

	if (git->name)
		r = put_pair(env, "GIT_AUTHOR_NAME", git->name);
	if (r == 0 && git->name)
		r = put_pair(env, "GIT_COMMITTER_NAME", git->name);
	if (r == 0 && git->email)
		r = put_pair(env, "GIT_AUTHOR_EMAIL", git->email);
	if (r == 0 && git->email)
		r = put_pair(env, "GIT_COMMITTER_EMAIL", git->email);
	return r;
}

static int put_places(struct plan *plan, const struct spec *spec, const struct site *site)
{
	int r = site->home ? put_pair(&plan->env, "HOME", site->home) : 0;

	if (r == 0)
		r = put_pair(&plan->env, "PWD", plan->cwd);
	if (r == 0 && plan->engine == ENGINE_LANDLOCK && !layout_writes_root(spec))
		r = put_pair(&plan->env, "TMPDIR", site->scratch);
	return r;
}

/* What a command with a boundary is told about its surroundings. */
static int put_surroundings(struct plan *plan, const struct spec *spec, const struct site *site)
{
	int r = put_places(plan, spec, site);

	if (r == 0)
		r = put_identity(&plan->env, &site->git);
	/* Its file is there and closed, which git takes for an error. */
	if (r == 0 && plan->confined && plan->engine == ENGINE_LANDLOCK &&
	    !has(&plan->env, "GIT_CONFIG_GLOBAL"))
		r = put_pair(&plan->env, "GIT_CONFIG_GLOBAL", "/dev/null");
	return r;
}

int environ_compile(struct plan *plan, const struct resolved *resolved, const struct site *site)
{
	int r = 0;

	for (size_t i = 0; i < site->env.len && r == 0; i++) {
		const char *name = site->env.items[i];
		const char *equals = strchr(name, '=');

		if (equals && passes(&resolved->spec, name, (size_t)(equals - name)))
			r = strv_assign(&plan->env, name);
	}
	if (r == 0 && (plan->confined || plan->given))
		r = put_surroundings(plan, &resolved->spec, site);
	if (r == 0 && !has(&plan->env, "PATH"))
		r = strv_add(&plan->env, "PATH=/usr/local/bin:/usr/bin:/bin");
	if (r == 0 && site->user_name && !has(&plan->env, "USER"))
		r = put_pair(&plan->env, "USER", site->user_name);
	for (size_t i = 0; i < resolved->env_set.len && r == 0; i++)
		r = strv_assign(&plan->env, resolved->env_set.items[i]);
	return r;
}
