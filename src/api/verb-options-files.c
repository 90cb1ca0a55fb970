/* SPDX-License-Identifier: MIT */
/* Options of the file tools: their own, and those of the boundary. */
#include "api/verb-options-impl.h"
#include "api/verb-options.h"
#include "api/verbs.h"
#include "policy/spec.h"

enum { OWN_MAX = 12 };

#define DIGEST                                                                                     \
	{                                                                                          \
		"digest", 0, "SHA256", "only if the file still is what was read", OPT_DIGEST, NULL \
	}
#define NO_IGNORE                                                                                  \
	{                                                                                          \
		"no-ignore", 0, NULL, "what .gitignore excludes, too", OPT_NO_IGNORE, NULL         \
	}

static const struct opt shared_opts[] = {
	{"session", 's', "NAME", "in this session, and its boundary", OPT_SESSION, NULL},
	{"preset", 0, "NAME", "the boundary of this preset instead", OPT_PRESET, NULL},
	WORKSPACE,
	{"allow-degraded", 0, "DIM", "run even if this dimension is enforced only in part",
	 OPT_ALLOW_DEGRADED, NULL},
	{"engine", 0, "NAME", "what enforces the boundary: auto, native, bwrap, landlock",
	 OPT_ENGINE, NULL},
	{"staged", 0, NULL, "see and change staged files", OPT_STAGED, NULL},
	{"direct", 0, NULL, "see and change the workspace's own", OPT_DIRECT, NULL},
	{"stage", 0, "NAME", "this stage, not the workspace's current one", OPT_STAGE, NULL},
	JSON,
	HELP,
	{"spec", 0, "TOML", "the whole boundary, as keys of a sandbox table", OPT_SPEC,
	 "For programs"},
	{"result-fd", 0, "N", "write JSON to descriptor N; a hang-up ends the tool", OPT_RESULT_FD,
	 "For programs"},
};

struct made {
	struct opt items[OWN_MAX + array_len(shared_opts) + DIM_COUNT_];
	size_t len;
};

static struct opt_table make(struct made *made, const struct opt *own, size_t n)
{
	if (made->len > 0)
		goto done;
	for (size_t i = 0; i < n; i++)
		made->items[made->len++] = own[i];
	for (size_t i = 0; i < array_len(shared_opts); i++)
		made->items[made->len++] = shared_opts[i];
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const struct key *key = &spec_keys[dim];

		if (key->option)
			made->items[made->len++] = (struct opt){
				.name = key->option,
				.metavar = key->metavar,
				.help = key->help,
				.choices = key->choices,
				.id = OPT_DIM + dim,
				.group = "Boundary; an option that takes one item of a list may "
					 "be repeated",
			};
	}
done:
	return (struct opt_table){made->items, made->len, false};
}

struct opt_table options_file_read(void)
{
	static const struct opt own[] = {
		{"offset", 0, "N", "begin at line N, from 1 on", OPT_OFFSET, NULL},
		{"limit", 0, "N", "at most N lines", OPT_LIMIT, NULL},
	};
	static struct made made;

	return make(&made, own, array_len(own));
}

struct opt_table options_file_write(void)
{
	static const struct opt own[] = {DIGEST};
	static struct made made;

	return make(&made, own, array_len(own));
}

struct opt_table options_file_edit(void)
{
	static const struct opt own[] = {
		{"old", 0, "TEXT", "what is replaced", OPT_OLD, NULL},
		{"new", 0, "TEXT", "what takes its place", OPT_NEW, NULL},
		{"old-fd", 0, "N", "read it from descriptor N", OPT_OLD_FD, "For programs"},
		{"new-fd", 0, "N", "likewise", OPT_NEW_FD, "For programs"},
		{"all", 0, NULL, "everywhere in the file", OPT_ALL, NULL},
		DIGEST,
	};
	static struct made made;

	return make(&made, own, array_len(own));
}

struct opt_table options_file_grep(void)
{
	static const struct opt own[] = {
		{"fixed", 0, NULL, "PATTERN is plain text", OPT_FIXED, NULL},
		{"ignore-case", 'i', NULL, "letters of ASCII match in either case", OPT_IGNORE_CASE,
		 NULL},
		{"glob", 'g', "GLOB", "only files that match; with ! in front, only others",
		 OPT_GLOB, NULL},
		{"context", 0, "N", "show N lines around each", OPT_CONTEXT, NULL},
		{"max", 'm', "N", "at most N lines that match (1000)", OPT_MAX, NULL},
		NO_IGNORE,
	};
	static struct made made;

	return make(&made, own, array_len(own));
}

struct opt_table options_file_glob(void)
{
	static const struct opt own[] = {
		{"sort", 0, "ORDER", "mtime, the newest first (the default), or name", OPT_SORT,
		 NULL},
		{"max", 'm', "N", "at most N paths (1000)", OPT_MAX, NULL},
		NO_IGNORE,
	};
	static struct made made;

	return make(&made, own, array_len(own));
}
