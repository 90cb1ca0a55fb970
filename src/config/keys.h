/* SPDX-License-Identifier: MIT */
/*
 * keys - every configuration key, declared once.
 *
 * The two tables feed the loader, its errors, the command-line options of
 * `pale run`, `pale config keys` and pale.toml(5).
 *
 * spec_keys[] holds the dimensions of a spec, indexed by enum dim. They may
 * stand in every spec table ([presets.NAME], [commands.NAME.sandbox],
 * [ceiling]) and each is an option of `pale run`. config_keys[] holds the rest,
 * by full path, where `*` stands for a name that the user chooses.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row of the spec; the order is that of every report, and part of pale.h: new ones come last. */
enum dim {
	DIM_NETWORK,
	DIM_HOSTS,
	DIM_PORTS,
	DIM_EXPOSE,
	DIM_SOCKETS,
	DIM_FILESYSTEM,
	DIM_PATHS_READABLE,
	DIM_PATHS_WRITABLE,
	DIM_PATHS_HIDDEN,
	DIM_EPHEMERAL,
	DIM_CACHES,
	DIM_TMPFS,
	DIM_PROCESSES,
	DIM_ENV,
	DIM_ENV_PASS,
	DIM_TIMEOUT,
	DIM_CPU,
	DIM_MEMORY,
	DIM_PIDS,
	DIM_DISK,
	DIM_MAX_OUTPUT,
	DIM_NESTED,
	DIM_CONNECTIONS,
	DIM_CONNECT_RATE,
	DIM_NET_SENT,
	DIM_NET_RECEIVED,
	DIM_COUNT_,
};

enum key_type {
	KEY_CHOICE, /* one of `choices`, tight to loose */
	KEY_BOOL,
	KEY_UINT,     /* within min..max */
	KEY_SIZE,     /* text "512m" or a plain number of bytes, within min..max */
	KEY_DURATION, /* text "90s", within min..max milliseconds */
	KEY_TEXT,
	KEY_NAME,       /* [A-Za-z0-9][A-Za-z0-9._-]* */
	KEY_TEXTS,      /* list of text */
	KEY_CHOICES,    /* list, each one of `choices` */
	KEY_PATHS,      /* list: absolute, ~/…, ${WORKSPACE}/…, or relative to the workspace */
	KEY_PORTS,      /* list of 1..65535 */
	KEY_HOSTS,      /* list of host rules */
	KEY_VARS,       /* list of variable names; a trailing * is a pattern */
	KEY_TEXT_MAP,   /* table of text */
	KEY_SPEC,       /* a preset's name, or a spec table */
	KEY_SPEC_TABLE, /* spec keys are allowed below */
};

/* Which files may hold the key. */
enum { KEY_SYSTEM = 1, KEY_USER = 2, KEY_WORKSPACE = 4, KEY_ANYWHERE = 7 };

struct key {
	const char *path; /* of a spec key: its bare name */
	enum key_type type;
	const char *const *choices; /* NULL-terminated, for KEY_CHOICE(S) */
	uint64_t min, max;          /* for numbers */
	size_t most;                /* for lists: entries at most, whoever wrote them; 0: any */
	const char *def;            /* TOML, in a command's spec table; NULL: unset */
	const char *help;           /* one line, no full stop */
	unsigned where;             /* KEY_SYSTEM | … */
	const char *option;         /* spec keys: the option of `pale run`, without dashes */
	const char *flag;           /* the same as typed: "--network" */
	const char *metavar;
};

extern const struct key spec_keys[DIM_COUNT_];
extern const struct key config_keys[];
/* What the history tells of, and the first words of those; ends in NULL. */
extern const char *const event_kinds[];
extern const size_t config_keys_len;

static inline const char *dim_name(enum dim dim)
{
	return spec_keys[dim].path;
}
/* The dimension called NAME, or -1. */
int dim_by_name(const char *name);
/* The index of TEXT in the key's choices, or -1. */
int key_choice(const struct key *key, const char *text);
