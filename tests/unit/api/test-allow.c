/* SPDX-License-Identifier: MIT */
/* allow: one rule is written where it belongs, opens what it says, and nothing else. */
#include <errno.h>

#include "api/allow.h"
#include "api/context.h"
#include "policy/remedy.h"
#include "tap.h"
#include "tests/unit/policy/files.h"

struct given {
	const char *system, *user, *workspace;
	enum layer layer;
	const char *dimension, *op, *target; /* `{}` is the workspace */
};

static char *filled(const char *text)
{
	_cleanup_(str_release) struct str out = {0};

	for (; text && *text; text++) {
		if (str_starts(text, "{}")) {
			str_append(&out, test_ws.root);
			text++;
		} else {
			str_append_char(&out, *text);
		}
	}
	return text ? strdup(str_text(&out)) : NULL;
}

/* Loads, finds the remedy for the command `t`, and writes it. */
static int allow(const struct given *g, struct allowed *allowed, struct str *ret_text,
		 struct err *err)
{
	struct context context = {.user = test_user, .workspace = test_ws};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	_cleanup_(freep) char *target = filled(g->target);
	_cleanup_(resolved_release) struct resolved now = {0};
	const char *text = g->layer == LAYER_USER ? g->user : g->workspace;
	struct remedy remedy = {0};
	int r;

	if (!text)
		text = "";
	unlink("ws/pale.toml");
	r = files_load(g->system, g->user, g->workspace, &context.config, err);
	if (r == 0)
		r = spec_resolve(&context.config, "t", NULL, &test_ws, &test_user, &now, err);
	if (r == 0)
		r = remedy_find(&now.spec, &test_user, g->dimension, g->op, target, &remedy, err);
	if (r == 0 && !remedy.possible)
		r = err_set(err, ERR_POLICY, -EPERM, "no remedy: %s", remedy.why);
	if (r == 0)
		r = toml_parse(text, strlen(text), &doc, NULL, err);
	if (r == 0)
		r = allow_rule(&context, g->layer,
			       g->layer == LAYER_USER ? "user.toml" : "pale.toml", doc, "t",
			       &remedy, allowed, err);
	if (r == 0)
		r = toml_print(doc, ret_text);
	remedy_release(&remedy);
	config_release(&context.config);
	return r;
}

static void gives(const char *name, struct given g, const char *want, enum trust_state trust)
{
	_cleanup_(allowed_release) struct allowed allowed = {0};
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(freep) char *wanted = filled(want);
	struct err err = {0};
	int r = allow(&g, &allowed, &text, &err);

	tap_eq_str(r < 0 ? err.message : str_text(&text), wanted, "%s", name);
	tap_eq_str(trust_state_name(allowed.trust), trust_state_name(trust), "%s: trust", name);
	if (r == 0)
		tap_note("%s", str_text(&allowed.change));
}

static void refuses(const char *name, struct given g, enum err_code code, const char *message)
{
	_cleanup_(allowed_release) struct allowed allowed = {0};
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};
	int r = allow(&g, &allowed, &text, &err);

	if (!tap_ok(r < 0 && err.code == code && strstr(err.message, message), "%s: %s", name,
		    err.message))
		tap_note("wanted: %s", message);
}

#define FILE_OF(folder) "filesystem", "create", "{}/" folder "/x"

static void test_project(void)
{
	gives("a preset's name becomes a table in its place",
	      (struct given){NULL, NULL,
			     "# ours\n[commands.t]\ncmd = 'x'\nsandbox = \"readonly\" # tight\n",
			     LAYER_WORKSPACE, FILE_OF("sub")},
	      "# ours\n[commands.t]\ncmd = 'x'\n"
	      "sandbox = { base = \"readonly\", paths_writable = [\"sub\"] } # tight\n",
	      TRUST_NOT_NEEDED);
	gives("a table gets a line",
	      (struct given){NULL, NULL,
			     "[commands.t]\ncmd = 'x'\n\n[commands.t.sandbox]\n# why\n"
			     "timeout = \"5s\"\n\n[commands.u]\ncmd = 'y'\n",
			     LAYER_WORKSPACE, FILE_OF("sub")},
	      "[commands.t]\ncmd = 'x'\n\n[commands.t.sandbox]\n# why\n"
	      "timeout = \"5s\"\npaths_writable = [\"sub\"]\n\n[commands.u]\ncmd = 'y'\n",
	      TRUST_NOT_NEEDED);
	gives("a list gets an item, and keeps its comments",
	      (struct given){NULL, NULL,
			     "[commands.t]\ncmd = 'x'\n[commands.t.sandbox]\n"
			     "paths_writable = [\n  'a', # first\n  'b' # last\n]\n",
			     LAYER_WORKSPACE, FILE_OF("sub")},
	      "[commands.t]\ncmd = 'x'\n[commands.t.sandbox]\n"
	      "paths_writable = [\n  'a', # first\n  'b', \"sub\" # last\n]\n",
	      TRUST_NOT_NEEDED);
	gives("also one that is empty",
	      (struct given){NULL, NULL,
			     "[commands.t]\ncmd = 'x'\nsandbox = {paths_writable = []}\n",
			     LAYER_WORKSPACE, FILE_OF("sub")},
	      "[commands.t]\ncmd = 'x'\nsandbox = {paths_writable = [\"sub\"]}\n",
	      TRUST_NOT_NEEDED);
	gives("a list of the base is written again",
	      (struct given){NULL, NULL,
			     "[presets.p]\nbase = 'readonly'\npaths_writable = ['a', '/srv/b']\n"
			     "[commands.t]\ncmd = 'x'\nsandbox = 'p'\n",
			     LAYER_WORKSPACE, FILE_OF("sub")},
	      "[presets.p]\nbase = 'readonly'\npaths_writable = ['a', '/srv/b']\n"
	      "[commands.t]\ncmd = 'x'\nsandbox = { base = \"p\", "
	      "paths_writable = [\"/srv/b\", \"a\", \"sub\"] }\n",
	      TRUST_NONE);
	gives("a command without a sandbox starts from the default",
	      (struct given){NULL, NULL, "[sandbox]\npreset = 'test'\n[commands.t]\ncmd = 'x'\n",
			     LAYER_WORKSPACE, "memory", "limit", NULL},
	      "[sandbox]\npreset = 'test'\n[commands.t]\ncmd = 'x'\n"
	      "sandbox = { base = \"test\", memory = \"1g\" }\n",
	      TRUST_NOT_NEEDED);
	gives("a level",
	      (struct given){NULL, NULL, "[commands.t]\ncmd = 'x'\nsandbox = 'readonly'\n",
			     LAYER_WORKSPACE, "filesystem", "create", "{}/new"},
	      "[commands.t]\ncmd = 'x'\n"
	      "sandbox = { base = \"readonly\", filesystem = \"workspace_only\" }\n",
	      TRUST_NOT_NEEDED);
	gives("what takes trust, says so",
	      (struct given){NULL, NULL, "[commands.t]\ncmd = 'x'\n", LAYER_WORKSPACE, "nested",
			     "unshare", NULL},
	      "[commands.t]\ncmd = 'x'\nsandbox = { base = \"workspace\", nested = true }\n",
	      TRUST_NONE);
	gives("a command of the user's own",
	      (struct given){NULL, "[commands.t]\ncmd = 'x'\nsandbox = 'readonly'\n", "# mine\n",
			     LAYER_WORKSPACE, FILE_OF("sub")},
	      "# mine\n\n[commands.t]\n"
	      "sandbox = { base = \"readonly\", paths_writable = [\"sub\"] }\n",
	      TRUST_NOT_NEEDED);
}

static void test_user_file(void)
{
	gives("the user's own command",
	      (struct given){NULL, "[commands.t]\ncmd = 'x'\nsandbox = 'readonly'\n", NULL,
			     LAYER_USER, "timeout", "limit", NULL},
	      "[commands.t]\ncmd = 'x'\nsandbox = { base = \"readonly\", timeout = \"1m\" }\n",
	      TRUST_NOT_NEEDED);
	gives("a project's command without a sandbox of its own",
	      (struct given){NULL, NULL, "[commands.t]\ncmd = 'x'\n", LAYER_USER, "nested",
			     "unshare", NULL},
	      "[commands.t]\nsandbox = { base = \"workspace\", nested = true }\n", TRUST_NONE);
	refuses("a closer file decides",
		(struct given){NULL, NULL, "[commands.t]\ncmd = 'x'\nsandbox = 'readonly'\n",
			       LAYER_USER, FILE_OF("sub")},
		ERR_POLICY, "would change nothing: ws/pale.toml:3 is closer");
}

static void test_refused(void)
{
	refuses("a ceiling is named",
		(struct given){"[ceiling]\nmemory = '512m'\n", NULL,
			       "[commands.t]\ncmd = 'x'\nsandbox = 'test'\n", LAYER_WORKSPACE,
			       "memory", "limit", NULL},
		ERR_POLICY, "is looser than the ceiling \"512m\" (sys.toml:2)");
	refuses("a ceiling of the user's",
		(struct given){NULL, "[ceiling]\nnested = false\n", "[commands.t]\ncmd = 'x'\n",
			       LAYER_WORKSPACE, "nested", "unshare", NULL},
		ERR_POLICY, "is looser than the ceiling false (user.toml:2)");
	refuses("a path that is hidden from all",
		(struct given){NULL, "[ceiling]\npaths_hidden = ['sub']\n",
			       "[commands.t]\ncmd = 'x'\nsandbox = 'readonly'\n", LAYER_WORKSPACE,
			       FILE_OF("sub")},
		ERR_POLICY, "");
	refuses("an array of tables",
		(struct given){NULL, NULL, "[commands.t]\ncmd = 'x'\n[[commands.t.sandbox]]\n",
			       LAYER_WORKSPACE, FILE_OF("sub")},
		ERR_CONFIG, "");
}

int main(void)
{
	files_enter();
	mkdir("ws/a", 0755);
	mkdir("ws/b", 0755);
	test_project();
	test_user_file();
	test_refused();
	files_leave();
	return tap_done();
}
