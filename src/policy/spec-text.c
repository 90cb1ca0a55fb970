/* SPDX-License-Identifier: MIT */
#include "policy/spec-text.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "config/check.h"
#include "policy/draft.h"

#define TEXT_NAME     "spec" /* where it comes from, in messages */
#define WORKSPACE_KEY "workspace"

enum { USUAL_SIZE = 500 };

static const struct config no_config;

/* Where nothing can be written `ephemeral` means nothing, nor does a list where nothing bounds the
 * network, and some would refuse them. */
static bool is_idle(const struct spec *spec, enum dim dim)
{
	if (dim == DIM_HOSTS || dim == DIM_PORTS)
		return spec->network == NETWORK_UNRESTRICTED;
	return dim == DIM_EPHEMERAL && spec->filesystem == FILESYSTEM_NONE &&
	       spec->paths_writable.len == 0;
}

static int print_dims(const struct spec *spec, struct str *out)
{
	int r = 0;

	for (int dim = 0; dim < DIM_COUNT_ && r == 0; dim++) {
		const uint64_t *limit = spec_limit_const(spec, dim);
		size_t before = out->len, value;

		if (is_idle(spec, dim) || (limit && *limit == SPEC_UNLIMITED))
			continue;
		r = str_append(out, dim_name(dim));
		if (r == 0)
			r = str_append(out, " = ");
		value = out->len;
		if (r == 0)
			r = spec_print_dim(spec, dim, out);
		if (r == 0 && out->len > value)
			r = str_append_char(out, '\n');
		else
			str_truncate(out, before);
	}
	return r;
}

int spec_print(const struct spec *spec, struct str *out, struct err *err)
{
	size_t before = out->len;
	int r = str_reserve(out, USUAL_SIZE);

	if (r == 0 && spec->workspace) {
		r = str_append(out, WORKSPACE_KEY " = ");
		if (r == 0)
			r = toml_quote(out, spec->workspace, strlen(spec->workspace));
		if (r == 0)
			r = str_append_char(out, '\n');
	}
	if (r == 0)
		r = print_dims(spec, out);
	if (r == 0 && !str_is_utf8(str_text(out) + before, out->len - before))
		r = -EILSEQ;
	if (r == 0)
		return 0;
	str_truncate(out, before);
	if (r == -EILSEQ)
		return err_set(err, ERR_USAGE, r, "a path that is not UTF-8 cannot be handed over");
	return err_oom(err);
}

/* Take `workspace` out of DOC, so that the rest can be checked by the table of
 * keys. *ret_workspace: a new string, or as it was. */
static int take_workspace(struct toml *doc, char **ret_workspace, struct err *err)
{
	const char *const path[] = {WORKSPACE_KEY};
	const struct toml_value *value = toml_get(toml_root(doc), WORKSPACE_KEY);
	char *text;

	if (!value)
		return 0;
	if (value->type != TOML_STRING || value->string.bytes[0] != '/' ||
	    strlen(value->string.bytes) != value->string.len) {
		err_set(err, ERR_CONFIG, -EINVAL, "workspace must be an absolute path");
		return position_error(TEXT_NAME, value->pos, -EINVAL, err);
	}
	text = strdup(value->string.bytes);
	if (!text)
		return err_oom(err);
	*ret_workspace = text;
	return toml_unset(doc, path, 1, err);
}

static int parse_text(const char *text, struct toml **ret_doc, char **ret_workspace,
		      struct err *err)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct toml_pos pos = {0};
	int r = toml_parse(text, strlen(text), &doc, &pos, err);

	if (r == -EINVAL)
		return position_error(TEXT_NAME, pos, r, err);
	if (r == 0)
		r = take_workspace(doc, ret_workspace, err);
	if (r == 0)
		r = config_check_spec(doc, TEXT_NAME, err);
	if (r < 0)
		return r;
	*ret_doc = take_ptr(doc);
	return 0;
}

/* As a table of a command's own: without a base it starts from readonly, without
 * that preset's limits. */
static int apply_doc(struct draft *draft, struct toml *doc, struct err *err)
{
	const struct config text = {.files[LAYER_USER] = {.path = (char *)TEXT_NAME, .doc = doc}};
	const struct toml_value *base = toml_get(toml_root(doc), "base");
	struct draft own;
	int r;

	r = draft_apply_preset(draft, base ? base->string.bytes : "readonly", NULL, TEXT_NAME, err);
	if (r < 0)
		return r;
	for (int dim = 0; dim < DIM_COUNT_ && !base; dim++) {
		uint64_t *limit = spec_limit(&draft->out->spec, dim);

		if (limit)
			*limit = SPEC_UNLIMITED;
	}
	own = *draft;
	own.config = &text;
	r = draft_apply_table(&own, (const char *const[]){NULL}, LAYER_SYSTEM, err);
	draft->own = own.own;
	return r;
}

/* Origins outlive the document: they keep the name and the line only. */
int draft_apply_text(struct draft *draft, const char *text, struct err *err)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	_cleanup_(freep) char *workspace = NULL;
	int r = parse_text(text, &doc, &workspace, err);

	if (r < 0)
		return r;
	if (workspace && strcmp(workspace, draft->root) != 0)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "the spec is for the workspace %s, and this is %s", workspace,
			       draft->root);
	free(draft->out->sandbox);
	draft->out->sandbox = strdup("custom");
	if (!draft->out->sandbox)
		return err_oom(err);
	return apply_doc(draft, doc, err);
}

/* Without a workspace nothing may refer to it. */
static int check_path(const char *text, const char *workspace, struct err *err)
{
	if (workspace || text[0] == '/' || text[0] == '~')
		return 0;
	err_set(err, ERR_USAGE, -EINVAL, "path \"%s\": the spec has no workspace", text);
	return err_hint(err, -EINVAL, "make the spec for a workspace, or write the path in full");
}

static int check_paths(const struct toml *doc, const char *workspace, struct err *err)
{
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const struct toml_value *list = toml_get(toml_root(doc), dim_name(dim));

		if (!list || spec_keys[dim].type != KEY_PATHS)
			continue;
		for (size_t i = 0; i < list->array.len; i++) {
			int r = check_path(list->array.items[i]->string.bytes, workspace, err);

			if (r < 0)
				return position_error(TEXT_NAME, list->array.items[i]->pos, r, err);
		}
	}
	return 0;
}

/* What a draft made, with the workspace that it really has. */
static int take_spec(struct resolved *from, const char *workspace, struct spec *ret)
{
	if (!workspace) {
		free(from->spec.workspace);
		from->spec.workspace = NULL;
	}
	*ret = from->spec;
	from->spec = (struct spec){0};
	return 0;
}

static struct draft draft_for(const char *workspace, const struct user *user, struct resolved *out)
{
	return (struct draft){
		.config = &no_config,
		.groups = &no_config,
		.root = workspace ? workspace : "/",
		.cwd = workspace ? workspace : "/",
		.user = user,
		.out = out,
	};
}

int spec_parse(const char *text, const char *workspace, const struct user *user, struct spec *ret,
	       struct err *err)
{
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	_cleanup_(freep) char *own = NULL;
	_cleanup_(draft_release) struct draft draft = {0};
	int r = parse_text(text, &doc, &own, err);

	if (r < 0)
		return r;
	if (!workspace)
		workspace = own;
	draft = draft_for(workspace, user, &out);
	r = check_paths(doc, workspace, err);
	if (r == 0)
		r = draft_init(&draft, err);
	if (r == 0)
		r = apply_doc(&draft, doc, err);
	if (r == 0)
		r = draft_settle(&draft, err);
	return r < 0 ? r : take_spec(&out, workspace, ret);
}

int spec_preset(const char *name, const char *workspace, const struct user *user, struct spec *ret,
		struct err *err)
{
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(draft_release) struct draft draft = draft_for(workspace, user, &out);
	int r = draft_init(&draft, err);

	if (r == 0)
		r = draft_apply_preset(&draft, name, NULL, NULL, err);
	if (r == 0)
		r = draft_settle(&draft, err);
	return r < 0 ? r : take_spec(&out, workspace, ret);
}

int spec_set(struct spec *spec, enum dim dim, const char *text, bool add, const struct user *user,
	     struct err *err)
{
	struct resolved out = {.spec = *spec};
	struct draft draft = draft_for(spec->workspace, user, &out);
	char *item = (char *)text;
	int r = 0;

	if (spec_keys[dim].type == KEY_PATHS)
		r = check_path(text, spec->workspace, err);
	/* draft_set() changes one dimension or nothing, and never the workspace. */
	if (r == 0)
		r = draft_set(&draft, dim, &(struct strv){.items = &item, .len = 1}, add,
			      draft.root, err);
	*spec = out.spec;
	return r;
}
