/* SPDX-License-Identifier: MIT */
#include "plan/environ.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "policy/resolve.h"
#include "tap.h"

struct world {
	struct resolved resolved;
	struct site site;
	struct plan plan;
};

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void begin(struct world *w, enum env env, const char *const *vars)
{
	*w = (struct world){0};
	spec_init_bottom(&w->resolved.spec);
	w->resolved.spec.env = env;
	w->plan.confined = true;
	w->plan.cwd = strdup("/w/sub");
	w->site.home = strdup("/home/ana");
	w->site.user_name = strdup("ana");
	must(w->plan.cwd && w->site.home && w->site.user_name);
	for (; *vars; vars++)
		must(strv_add(&w->site.env, *vars) == 0);
}

static void end(struct world *w)
{
	resolved_release(&w->resolved);
	site_release(&w->site);
	strv_release(&w->plan.env);
	free(w->plan.cwd);
}

static void compile(struct world *w)
{
	must(environ_compile(&w->plan, &w->resolved, &w->site) == 0);
}

/* The value of NAME, or NULL; NULL as well when it is there twice. */
static const char *value(const struct world *w, const char *name)
{
	const char *found = NULL;
	size_t len = strlen(name);

	for (size_t i = 0; i < w->plan.env.len; i++) {
		const char *item = w->plan.env.items[i];

		if (strncmp(item, name, len) != 0 || item[len] != '=')
			continue;
		if (found)
			return NULL;
		found = item + len + 1;
	}
	return found;
}

static void test_clean(void)
{
	const char *vars[] = {"PATH=/bin",   "HOME=/elsewhere", "PWD=/elsewhere", "LC_ALL=C",
			      "LC_",         "LANG=",           "TERM=a=b",       "FOO=1",
			      "LC_SECRET=x", "PATHS=1",         "PAT=1",          "no pair",
			      "=x",          "SSH_AUTH_SOCK=x", "LD_PRELOAD=x",   NULL};
	struct world w;

	begin(&w, ENV_CLEAN, vars);
	must(strv_add(&w.resolved.spec.env_pass, "FOO") == 0);
	compile(&w);
	tap_eq_str(value(&w, "PATH"), "/bin", "PATH passes");
	tap_eq_str(value(&w, "LC_ALL"), "C", "LC_* passes");
	tap_eq_str(value(&w, "LANG"), "", "an empty value stays");
	tap_eq_str(value(&w, "TERM"), "a=b", "a value may hold =");
	tap_eq_str(value(&w, "HOME"), "/home/ana", "HOME is the private one");
	tap_eq_str(value(&w, "PWD"), "/w/sub", "PWD is where the command starts");
	tap_eq_str(value(&w, "USER"), "ana", "USER is filled in");
	tap_eq_int(w.plan.env.len, 7, "nothing else passes");
	tap_ok(!value(&w, "FOO"), "a list of names means nothing to clean");
	end(&w);
}

static void test_pass(void)
{
	const char *vars[] = {"FOO=1",         "FOO_A=2",       "FOO_TOKEN=3",
			      "foo_token_b=4", "FOO_API_KEY=5", "BAR_PASSWORD=6",
			      "BARE=7",        "foo_mode=8",    NULL};
	struct world w;

	begin(&w, ENV_PASS, vars);
	must(strv_add(&w.resolved.spec.env_pass, "FOO_*") == 0);
	must(strv_add(&w.resolved.spec.env_pass, "foo_*") == 0);
	must(strv_add(&w.resolved.spec.env_pass, "BAR_PASSWORD") == 0);
	compile(&w);
	tap_eq_str(value(&w, "FOO_A"), "2", "a pattern passes what it covers");
	tap_eq_str(value(&w, "foo_mode"), "8", "names are case-sensitive");
	tap_ok(!value(&w, "FOO") && !value(&w, "BARE"), "and nothing else");
	tap_ok(!value(&w, "FOO_TOKEN") && !value(&w, "FOO_API_KEY"), "secrets pass by no pattern");
	tap_ok(!value(&w, "foo_token_b"), "in no spelling");
	tap_eq_str(value(&w, "BAR_PASSWORD"), "6", "but by their full name");
	end(&w);
}

static void test_inherit(void)
{
	const char *vars[] = {"FOO_TOKEN=3", "HOME=/elsewhere", "SSH_AUTH_SOCK=/x", NULL};
	struct world w;

	begin(&w, ENV_INHERIT, vars);
	compile(&w);
	tap_eq_str(value(&w, "FOO_TOKEN"), "3", "inherit passes everything");
	tap_eq_str(value(&w, "SSH_AUTH_SOCK"), "/x", "whatever it is");
	tap_eq_str(value(&w, "HOME"), "/home/ana", "but HOME is the private one");
	end(&w);

	begin(&w, ENV_INHERIT, vars);
	w.plan.confined = false;
	compile(&w);
	tap_eq_str(value(&w, "HOME"), "/elsewhere", "without a boundary, HOME is the caller's");
	tap_ok(!value(&w, "PWD"), "and PWD is not touched");
	end(&w);
}

static void test_defaults(void)
{
	const char *vars[] = {"USER=eve", NULL};
	struct world w;

	begin(&w, ENV_CLEAN, vars + 1);
	compile(&w);
	tap_eq_str(value(&w, "PATH"), "/usr/local/bin:/usr/bin:/bin", "PATH has a default");
	end(&w);

	begin(&w, ENV_CLEAN, vars);
	free(w.site.home);
	w.site.home = NULL;
	compile(&w);
	tap_eq_str(value(&w, "USER"), "eve", "USER stays when it is there");
	tap_ok(!value(&w, "HOME"), "no HOME when it is unknown");
	end(&w);
}

static void test_set(void)
{
	const char *vars[] = {"PATH=/bin", NULL};
	struct world w;

	begin(&w, ENV_CLEAN, vars);
	must(strv_add(&w.resolved.env_set, "PATH=/opt/bin") == 0);
	must(strv_add(&w.resolved.env_set, "API_TOKEN=x") == 0);
	must(strv_add(&w.resolved.env_set, "HOME=/h") == 0);
	compile(&w);
	tap_eq_str(value(&w, "PATH"), "/opt/bin", "what is set replaces what passes");
	tap_eq_str(value(&w, "HOME"), "/h", "and what is built in");
	tap_eq_str(value(&w, "API_TOKEN"), "x", "whatever its name");
	tap_ok(w.plan.env.items[w.plan.env.len] == NULL, "usable as an envp");
	end(&w);
}

int main(void)
{
	test_clean();
	test_pass();
	test_inherit();
	test_defaults();
	test_set();
	return tap_done();
}
