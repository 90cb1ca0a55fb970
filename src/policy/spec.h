/* SPDX-License-Identifier: MIT */
/*
 * spec - what a command may do: a point in a lattice.
 *
 * Pure data. Choices are numbered tight to loose, in the order of their key's
 * `choices`. Paths are absolute and normalized; a rule covers its path and
 * everything below. Limits that are not set are SPEC_UNLIMITED.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "config/keys.h"

struct err;
struct json;

enum network { NETWORK_NONE, NETWORK_LOCALHOST, NETWORK_ALLOWED_HOSTS, NETWORK_UNRESTRICTED };
enum filesystem {
	FILESYSTEM_NONE,
	FILESYSTEM_READONLY,
	FILESYSTEM_WORKSPACE_ONLY,
	FILESYSTEM_SCOPED_WRITE,
	FILESYSTEM_UNRESTRICTED,
};
enum processes { PROCESSES_ISOLATED, PROCESSES_VISIBLE };
enum env { ENV_CLEAN, ENV_PASS, ENV_INHERIT };

#define SPEC_UNLIMITED UINT64_MAX

/* What holds of connections when nobody set a limit: more than any build makes, and so few that
 * a loop of connects does not keep the supervisor busy, whose time is not the command's. */
enum { SPEC_CONNECTIONS = 256, SPEC_CONNECT_RATE = 1000 };

struct spec {
	char *workspace; /* absolute; what workspace_only and friends refer to */

	enum network network;
	struct strv hosts;   /* canonical host rules, one port each: "name:443" */
	bool ports_set;      /* false: every loopback port */
	struct strv ports;   /* decimal */
	struct strv expose;  /* decimal */
	struct strv sockets; /* paths */

	enum filesystem filesystem;
	struct strv paths_readable;
	struct strv paths_writable;
	struct strv paths_hidden;
	bool ephemeral;
	struct strv caches; /* paths */

	enum processes processes;
	enum env env;
	struct strv env_pass; /* names, or prefixes with a trailing `*` */

	uint64_t tmpfs;   /* bytes */
	uint64_t timeout; /* ms */
	uint64_t cpu;     /* ms */
	uint64_t memory;  /* bytes */
	uint64_t pids;
	uint64_t disk;       /* bytes */
	uint64_t max_output; /* bytes */

	uint64_t connections;  /* at once; unset: SPEC_CONNECTIONS */
	uint64_t connect_rate; /* new ones in a second; unset: SPEC_CONNECT_RATE */
	uint64_t net_sent;     /* bytes */
	uint64_t net_received; /* bytes */
	bool nested;
};

/* A bit per dimension. */
typedef uint32_t dim_set;
#define DIM_BIT(dim) ((dim_set)1 << (dim))

/* The tightest choices, empty lists. Limits are only set when asked for, so
 * none is: in the order of lattice.h this is not yet the least element. */
void spec_init_bottom(struct spec *spec);
void spec_init_top(struct spec *spec); /* no boundary at all: what `off` means */
void spec_release(struct spec *spec);
int spec_copy(struct spec *dst, const struct spec *src); /* replaces DST */

/* False for the spec that bounds nothing but time: namespaces, seccomp and the
 * rest of what is "always on" are left out only then. */
bool spec_is_confined(const struct spec *spec);

/* What the command may read or write outside of its scratch, as path rules,
 * the filesystem level included: workspace_only puts the workspace into what is
 * writable. What is writable is readable, too. Rules that paths_hidden takes
 * away as a whole are left out, none covers another; hidden paths below a rule
 * are the caller's to take away. *ret is overwritten with fresh copies. */
int spec_readable(const struct spec *spec, struct strv *ret);
int spec_writable(const struct spec *spec, struct strv *ret);

/* The limit that a numeric dimension holds, or NULL for other dimensions. */
uint64_t *spec_limit(struct spec *spec, enum dim dim);
const uint64_t *spec_limit_const(const struct spec *spec, enum dim dim);

/* The list of a dimension, or NULL for dimensions that hold none. */
struct strv *spec_list(struct spec *spec, enum dim dim);
const struct strv *spec_list_const(const struct spec *spec, enum dim dim);

/* The value of one dimension, as it would be written in TOML. Nothing is
 * appended for a limit, or for ports, that are not set. */
int spec_print_dim(const struct spec *spec, enum dim dim, struct str *out);
/* Is DIM at the value that means "not asked for": its key's default, an empty
 * list, no limit? */
bool spec_dim_is_default(const struct spec *spec, enum dim dim);
/* An object with every dimension, under the names of the keys: choices as text,
 * sizes and durations as in TOML, null for what is not set. */
void spec_json(const struct spec *spec, const char *key, struct json *json);
