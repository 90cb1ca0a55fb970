/* SPDX-License-Identifier: MIT */
/* verb-options-impl - options that several verbs have, and how a table is handed out. */
#pragma once
#include "api/verbs.h"
#include "base/cleanup.h"

#define HELP                                                                                       \
	{                                                                                          \
		"help", 'h', NULL, "print this text", OPT_HELP, NULL                               \
	}
#define JSON                                                                                       \
	{                                                                                          \
		"json", 'j', NULL, "print JSON", OPT_JSON, NULL                                    \
	}
#define NAMES                                                                                      \
	{                                                                                          \
		"names", 0, NULL, "print the names alone, one per line", OPT_NAMES, NULL           \
	}
#define WORKSPACE                                                                                  \
	{                                                                                          \
		"workspace", 0, "DIR", "the workspace, instead of looking upwards from here",      \
			OPT_WORKSPACE, NULL                                                        \
	}
#define TABLE(items)                                                                               \
	(struct opt_table)                                                                         \
	{                                                                                          \
		items, array_len(items), false                                                     \
	}
