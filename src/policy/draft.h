/* SPDX-License-Identifier: MIT */
/*
 * draft - a spec in the making, with who asked for what. Private to policy/.
 *
 * spec_resolve() fills it in order: preset, spec table, command line; then the
 * ceilings cut it.
 */
#pragma once
#include "base/err.h"
#include "policy/resolve.h"

struct draft {
	const struct config *config;
	const struct config *groups; /* whose [host_groups] hold, */
	enum layer groups_top;       /* … and of it, up to whose */
	const char *root; /* of the workspace: `${WORKSPACE}`, and relative paths in files */
	const char *cwd;  /* relative paths on the command line */
	const struct user *user;
	struct resolved *out;
	dim_set own;       /* dimensions given by a key or option, not by a preset's name */
	struct strv chain; /* presets that are being resolved, against cycles */
};

/* Start from the tightest choices. OUT must be zero. */
int draft_init(struct draft *draft, struct err *err);
void draft_release(struct draft *draft); /* not what it points to */

/* Give DIM the value TEXTS (one text, or a list's items); ADD appends to a
 * list. Relative paths start at BASE. */
int draft_set(struct draft *draft, enum dim dim, const struct strv *texts, bool add,
	      const char *base, struct err *err);
/* The same from a file, remembering the origin. */
int draft_set_from(struct draft *draft, enum dim dim, const struct setting *from, struct err *err);
void draft_mark(struct draft *draft, enum dim dim, struct origin origin);

/* DIM is a list that has to narrow the network, and nothing does: that cannot be what its writer
 * meant. WRITTEN is how they wrote it. */
int draft_refuse_unbounded(const struct draft *draft, enum dim dim, const char *written,
			   enum err_code code, struct err *err);

/* Every spec key of the table at PATH, closest layer first, none below FLOOR. */
int draft_apply_table(struct draft *draft, const char *const *path, enum layer floor,
		      struct err *err);

/* Preset NAME, which NAMED asked for; NULL: nobody did, it is a default. */
int draft_apply_preset(struct draft *draft, const char *name, const struct setting *named,
		       const char *option, struct err *err);
/* What a command without an ask of its own gets: its sandbox, else [sandbox]
 * preset. COMMAND may be NULL. */
int draft_apply_sandbox(struct draft *draft, const char *command, const char *asked_preset,
			struct err *err);
/* A whole sandbox as TOML text, see spec-text.h; ranks with options. */
int draft_apply_text(struct draft *draft, const char *text, struct err *err);
/* Values that others imply, and contradictions. */
int draft_settle(struct draft *draft, struct err *err);
/* Refuse or clamp what [ceiling] of the system's and the user's file forbids. */
int draft_apply_ceilings(struct draft *draft, struct err *err);

/* A configured preset that is named like a built-in one. */
int presets_check_names(const struct config *config, struct err *err);
