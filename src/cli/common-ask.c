/* SPDX-License-Identifier: MIT */
#include "cli/common-ask.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/context.h"
#include "api/verbs.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/common.h"
#include "config/value.h"
#include "policy/resolve.h"
#include "stage/stage.h"

int ask_add(struct ask *ask, enum dim dim, const char *value, struct err *err)
{
	struct ask_item *items = ask->items;

	/* There is room for a power of two. */
	if ((ask->len & (ask->len - 1)) == 0)
		items = reallocarray(items, ask->len ? ask->len * 2 : 1, sizeof(*items));
	if (!items)
		return err_oom(err);
	ask->items = items;
	items[ask->len++] = (struct ask_item){dim, value ? value : "true"};
	return 0;
}

static int add_text(struct strv *texts, const char *value, struct err *err)
{
	return strv_add(texts, value) < 0 ? err_oom(err) : 0;
}

bool ask_takes(const struct opt *opt)
{
	switch (opt->id) {
	case OPT_PRESET:
	case OPT_WORKSPACE:
	case OPT_SETENV:
	case OPT_ALLOW_DEGRADED:
	case OPT_ENGINE:
	case OPT_STAGED:
	case OPT_DIRECT:
	case OPT_STAGE:
	case OPT_SPEC:
	case OPT_NO_OBSERVE:
	case OPT_ASK:
		return true;
	default:
		return opt->id >= OPT_DIM;
	}
}

int ask_set(struct ask *ask, const char **workspace, const struct opt *opt, const char *value,
	    struct err *err)
{
	if (opt->id >= OPT_DIM)
		return ask_add(ask, (enum dim)(opt->id - OPT_DIM), value, err);
	switch (opt->id) {
	case OPT_PRESET:
		ask->preset = value;
		return 0;
	case OPT_WORKSPACE:
		*workspace = value;
		return 0;
	case OPT_SETENV:
		return add_text(&ask->env_set, value, err);
	case OPT_ALLOW_DEGRADED:
		return add_text(&ask->allow_degraded, value, err);
	case OPT_ENGINE:
		ask->engine = value;
		return 0;
	case OPT_STAGED:
		ask->mode = "staged";
		return 0;
	case OPT_DIRECT:
		ask->mode = "direct";
		return 0;
	case OPT_STAGE:
		ask->stage = value;
		return 0;
	case OPT_SPEC:
		ask->spec = value;
		return 0;
	case OPT_NO_OBSERVE:
		ask->no_observe = true;
		return 0;
	case OPT_ASK:
		ask->asks = true;
		return 0;
	default:
		BUG("an option that is no wish about the sandbox");
	}
}

/* A stage by name is wish enough. */
int ask_check(struct ask *ask, struct err *err)
{
	if (!ask->stage)
		return 0;
	if (str_eq(ask->mode, "direct"))
		return err_set(err, ERR_USAGE, -EINVAL, "--stage and --direct exclude each other");
	if (!stage_name_is_valid(ask->stage))
		return err_hint(err,
				err_set(err, ERR_USAGE, -EINVAL, "--stage: \"%.100s\" is no name",
					ask->stage),
				"letters, digits, '.', '_' and '-', at most %d, no dot in front",
				STAGE_NAME_MAX);
	ask->mode = "staged";
	return 0;
}

static void report_absent(enum dim dim, const char *text, const char *path)
{
	struct err err = {0};

	err_set(&err, ERR_USAGE, 0, "%s %s: there is nothing of that name%s", spec_keys[dim].flag,
		text, dim == DIM_PATHS_HIDDEN ? ", and nothing is hidden" : "");
	err_hint(&err, 0, "looked for as %s", path);
	report(&err);
}

void ask_report_absent(const struct ask *ask, const struct context *context)
{
	const struct workspace *workspace = &context->workspace;

	for (size_t i = 0; i < ask->len; i++) {
		const struct ask_item *item = &ask->items[i];
		_cleanup_(freep) char *path = NULL;
		struct stat st;

		if (item->dim != DIM_PATHS_HIDDEN && item->dim != DIM_PATHS_READABLE)
			continue;
		if (path_rule_expand(item->text, workspace->cwd, workspace->root,
				     context->user.home, &path, NULL) == 0 &&
		    lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
			report_absent(item->dim, item->text, path);
	}
}

void ask_release(struct ask *ask)
{
	free(ask->items);
	strv_release(&ask->env_set);
	strv_release(&ask->allow_degraded);
	*ask = (struct ask){0};
}
