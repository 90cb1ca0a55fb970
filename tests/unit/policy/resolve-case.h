/* SPDX-License-Identifier: MIT */
/* resolve-case - files, a command and options in; one spec, or a refusal, out. */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "policy/resolve.h"
#include "tap.h"

/* What a case gives: up to three files, a command, and options as DIM=TEXT. */
struct given {
	const char *system, *user, *workspace;
	const char *command, *preset, *mode, *engine;
	struct {
		enum dim dim;
		const char *text;
	} items[4];
	const char *degraded, *setenv;
	bool asks;
};

static inline int resolve(const struct given *g, struct config *config, struct resolved *out,
			  struct err *err)
{
	struct ask_item items[array_len(g->items)];
	struct ask ask = {.preset = g->preset,
			  .items = items,
			  .mode = g->mode,
			  .engine = g->engine,
			  .asks = g->asks};
	int r = files_load(g->system, g->user, g->workspace, config, err);

	for (size_t i = 0; i < array_len(g->items) && g->items[i].text; i++)
		items[ask.len++] = (struct ask_item){g->items[i].dim, g->items[i].text};
	if (g->degraded)
		strv_add(&ask.allow_degraded, g->degraded);
	if (g->setenv)
		strv_add(&ask.env_set, g->setenv);
	if (r == 0)
		r = spec_resolve(config, g->command, &ask, &test_ws, &test_user, out, err);
	strv_release(&ask.allow_degraded);
	strv_release(&ask.env_set);
	return r;
}

/* WANT: lines "name = value", of which each must be so in the result. `{}`
 * stands for the scratch folder. */
static inline void gives(const char *name, struct given g, const char *want)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(str_release) struct str got = {0}, wanted = {0};
	struct err err = {0};
	int r = resolve(&g, &config, &out, &err);

	for (const char *p = want; *p; p++) {
		if (str_starts(p, "{}")) {
			str_append(&wanted, scratch_path);
			p++;
		} else {
			str_append_char(&wanted, *p);
		}
	}
	for (const char *p = str_text(&wanted); r == 0 && *p;) {
		size_t len = strcspn(p, " ");
		char dim[32];

		snprintf(dim, sizeof(dim), "%.*s", (int)len, p);
		if (dim_by_name(dim) < 0)
			break;
		str_appendf(&got, "%s = ", dim);
		spec_print_dim(&out.spec, dim_by_name(dim), &got);
		p += strcspn(p, "\n");
		p += *p == '\n';
		if (*p)
			str_append_char(&got, '\n');
	}
	if (r < 0)
		tap_note("%s (%s)", err.message, err.hint);
	tap_eq_str(r < 0 ? err.message : str_text(&got), str_text(&wanted), "%s", name);
}

static inline void refuses(const char *name, struct given g, enum err_code code,
			   const char *message)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(resolved_release) struct resolved out = {0};
	struct err err = {0};
	int r = resolve(&g, &config, &out, &err);

	if (!tap_ok(r < 0 && err.code == code && strstr(err.message, message) && !out.sandbox,
		    "%s: %s", name, err.message))
		tap_note("wanted: %s", message);
}
