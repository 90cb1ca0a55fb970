/* SPDX-License-Identifier: MIT */
#include "plan/toolchains.h"

#include <stddef.h>

static const char *const cargo_secrets[] = {"credentials", "credentials.toml", NULL};
static const char *const credentials[] = {"credentials", NULL};

const struct toolchain toolchains[] = {
	{".asdf", NULL},
	{".bun/bin", NULL},
	{".cargo", cargo_secrets},
	{".deno/bin", NULL},
	{".gem", credentials},
	{".ghcup", NULL},
	{".juliaup", NULL},
	{".local/bin", NULL},
	{".local/lib", NULL},
	{".local/share/mise", NULL},
	{".local/share/uv", credentials},
	{".nodenv", NULL},
	{".nvm", NULL},
	{".opam", NULL},
	{".pyenv", NULL},
	{".rbenv", NULL},
	{".rustup", NULL},
	{".sdkman", NULL},
	{".volta", NULL},
	{"go", NULL},
	{NULL, NULL},
};
