/* SPDX-License-Identifier: MIT */
/*
 * clients - programs that speak MCP, and where they keep what they are told.
 *
 * One row each: the file with the list of servers, the file with the rule that turns the
 * client's own shell off, and how both are written. Files are named below the workspace and
 * below the home; the client's own variable, if it has one, moves the latter.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define CLIENT_ENTRY    "pale" /* our name in the list */
#define CLIENT_PATH_MAX 4

struct err;
struct str;
struct strv;
struct user;

struct client_file {
	const char *project;           /* below the workspace */
	const char *user;              /* below the home */
	const char *env, *user_in_env; /* below what this variable says, if it is set; or NULL */
};

struct client {
	const char *name;
	struct client_file servers;
	const char *list; /* the key that servers stand under */
	bool is_toml;
	bool is_typed; /* an entry says "type": "stdio" */
	bool comments; /* its JSON may hold them */
	/* rules.project NULL: it documents no way, and `instead` says what is left to do */
	struct client_file rules;
	const char *rule_path[CLIENT_PATH_MAX]; /* the list that RULE goes into; TOML: the key */
	const char *rule;                       /* TOML: the value */
	const char *instead;
};

/* NULL: there is none of that name. */
const struct client *client_find(const char *name);
/* The names, which end in NULL. */
extern const char *const client_names[];

/* The absolute path of FILE for the user (ROOT NULL) or for the workspace ROOT. */
int client_path(const struct client_file *file, const struct user *user, const char *root,
		char **ret_path, struct err *err);

/* TEXT with an entry that starts ARGV; with FORCE in place of one that differs. 0: it is
 * there already; 1: changed, *RET_TEXT is appended to. */
int client_add_server(const struct client *client, const struct strv *argv, bool force,
		      const struct str *text, struct str *ret_text, struct err *err);
/* Likewise with the rule that turns its shell off. */
int client_add_rule(const struct client *client, const struct str *text, struct str *ret_text,
		    struct err *err);
