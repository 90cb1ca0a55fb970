/* SPDX-License-Identifier: MIT */
/* What is taken from inside is a folder and variables, or nothing. */
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "session/shell-state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(shell_state_release) struct shell_state state = {0};
	char *set[] = {"A=1", NULL};

	if (shell_notes_parse((const char *)data, size, set, &state) < 0) {
		must(!state.cwd && state.env.len == 0);
		return 0;
	}
	must(state.cwd[0] == '/' && strlen(state.cwd) < 4096);
	must(state.env.len <= SHELL_VARIABLES_MAX);
	for (size_t i = 0; i < state.env.len; i++)
		must(state.env.items[i][0] != '=' && strchr(state.env.items[i], '=') &&
		     strcmp(state.env.items[i], "A=1") != 0 &&
		     strlen(state.env.items[i]) < SHELL_VARIABLE_MAX);
	return 0;
}
