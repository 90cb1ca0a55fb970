/* SPDX-License-Identifier: MIT */
/*
 * resolve - configuration and command line to one spec, within all ceilings.
 */
#pragma once
#include "config/load.h"
#include "config/workspace.h"
#include "policy/spec.h"

struct err;

/* One dimension given on the command line; repeated list options add up. */
struct ask_item {
	enum dim dim;
	const char *text;
};

struct ask {
	const char *preset; /* --preset NAME, or NULL */
	const char *spec;   /* --spec TOML: the whole sandbox instead, or NULL */
	struct ask_item *items;
	size_t len;
	struct strv env_set;        /* --setenv NAME=VALUE */
	struct strv allow_degraded; /* --allow-degraded DIM */
	const char *mode;           /* --staged / --direct, or NULL */
	const char *engine;         /* --engine, or NULL */
	const char *stage;          /* --stage, or NULL */
	bool no_observe;            /* --no-observe */
	bool asks;                  /* --ask */
	bool profile;               /* --profile-fd: observe whatever else was said, and more */
};

struct command {
	char *name;
	char *description; /* NULL: none */
	char *cmd;         /* a shell line, or NULL */
	struct strv argv;  /* … or a list */
	struct origin origin;
};

/* How closely somebody looks at a confined command. */
enum observe {
	OBSERVE_NOTHING,
	OBSERVE_ATTEMPTS, /* to change something or to reach somebody, and what is refused */
	OBSERVE_USES,     /* reads and executions, too */
};

struct resolved {
	struct spec spec;
	struct origin origins[DIM_COUNT_]; /* who asked for each dimension */
	dim_set written;                   /* dimensions that somebody wrote */
	char *sandbox;                     /* "build", "custom", "workspace" … for lists */
	struct strv groups;                /* "@NAME (FILE:LINE)": what hosts were written as */
	struct strv env_set;               /* NAME=VALUE */
	dim_set allow_degraded;
	bool is_surveyed; /* for the verdicts alone: what cannot be enforced refuses nothing */
	const char *mode, *engine, *backend;
	const char *stage; /* where staged writes go; NULL: to the workspace's current one */
	enum observe observe;
	bool asks;         /* the user, about names that no rule allows */
	bool bounded;      /* there are ceilings; … */
	struct spec bound; /* … then the loosest that they allow */
};

int command_names(const struct config *config, struct strv *ret); /* 0 or -ENOMEM */
int command_find(const struct config *config, const char *name, struct command *ret,
		 struct err *err); /* -ENOENT without err: no such command */
void command_release(struct command *command);

/* The built-in presets in the order of the table, ending in NULL. */
extern const char *const preset_names[];
/* A built-in or configured preset. */
int preset_resolve(const struct config *config, const char *name, const char *workspace_root,
		   const struct user *user, struct spec *ret, struct err *err);

/* COMMAND NULL: an ad-hoc run, [sandbox] preset holds. Values that nobody wrote
 * are clamped to the ceiling; a written one that is looser is ERR_POLICY and
 * names both lines. Does not look at trust. */
int spec_resolve(const struct config *config, const char *command, const struct ask *ask,
		 const struct workspace *workspace, const struct user *user, struct resolved *ret,
		 struct err *err);
void resolved_release(struct resolved *resolved);
/* May somebody outside add RULE while it runs: a canonical one of a host, "localhost:N" for a
 * port of the host's loopback, or "localhost" for all of it? */
bool resolved_may_reach(const struct resolved *resolved, const char *rule);
