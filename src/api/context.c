/* SPDX-License-Identifier: MIT */
#include "api/context.h"

#include "base/err.h"
#include "base/path.h"

static int name_files(struct context *context, struct err *err)
{
	if (context->user.config_dir) {
		context->user_file = path_join(context->user.config_dir, "pale.toml");
		if (!context->user_file)
			return err_oom(err);
	}
	context->workspace_file = path_join(context->workspace.root, "pale.toml");
	return context->workspace_file ? 0 : err_oom(err);
}

int context_load(const char *asked, struct context *ret, struct err *err)
{
	struct context context = {0};
	int r = user_probe(&context.user, err);

	if (r == 0)
		user_resolve(&context.user);
	if (r == 0)
		r = workspace_find(asked, &context.user, &context.workspace, err);
	if (r == 0)
		r = name_files(&context, err);
	if (r == 0)
		r = config_load(SYSTEM_CONFIG, context.user_file, context.workspace_file,
				&context.config, err);
	if (r < 0) {
		context_release(&context);
		return r;
	}
	*ret = context;
	return 0;
}

void context_release(struct context *context)
{
	config_release(&context->config);
	workspace_release(&context->workspace);
	user_release(&context->user);
	free(context->user_file);
	free(context->workspace_file);
	*context = (struct context){0};
}
