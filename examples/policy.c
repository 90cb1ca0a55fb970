/* SPDX-License-Identifier: MIT */
/*
 * policy - what an agent's sub-agent may do: the meet of two specs, and what of
 * it this machine enforces. Runs nothing.
 *
 *     ./policy ~/project
 */
#include <stdio.h>
#include <stdlib.h>

#include <pale.h>

static const char agent[] = "base = \"workspace\"\n"
			    "paths_hidden = [\"secrets\"]\n";
static const char asked[] = "filesystem = \"unrestricted\"\n"
			    "timeout = \"90s\"\n";

static const char *const states[] = {"enforced", "degraded", "unenforced"};

static void show(const struct pale_plan *plan)
{
	printf("world %s, ceiling %u\n", pale_plan_world(plan), pale_plan_ceiling(plan));
	for (size_t i = 0; i < pale_plan_len(plan); i++)
		printf("%-14s %-10s %s\n", pale_plan_dimension(plan, i),
		       states[pale_plan_state(plan, i)], pale_plan_by(plan, i));
}

int main(int argc, char **argv)
{
	static const char *const command[] = {"true", NULL};
	const char *workspace = argc > 1 ? argv[1] : ".";
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_context *context = NULL;
	struct pale_spec *outer = NULL, *inner = NULL, *both = NULL;
	struct pale_plan *plan = NULL;
	struct pale_error error;
	char *text = NULL;
	int status = 1;

	request.argv = command;
	request.cwd = workspace;
	if (pale_context_new(getenv("PALE"), &context, &error) < 0 ||
	    pale_probe(context, workspace, &error) < 0 ||
	    pale_spec_from_toml(workspace, agent, &outer, &error) < 0 ||
	    pale_spec_from_toml(workspace, asked, &inner, &error) < 0 ||
	    pale_spec_meet(outer, inner, &both, &error) < 0 ||
	    pale_spec_text(both, &text, &error) < 0 ||
	    pale_plan_new(context, both, &request, &plan, &error) < 0) {
		fprintf(stderr, "policy: %s\n", error.message);
	} else {
		printf("%s\n", text);
		show(plan);
		status = !pale_spec_leq(both, outer);
	}
	pale_plan_free(plan);
	free(text);
	pale_spec_free(both);
	pale_spec_free(inner);
	pale_spec_free(outer);
	pale_context_free(context);
	return status;
}
