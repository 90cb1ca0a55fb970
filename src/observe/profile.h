/* SPDX-License-Identifier: MIT */
/*
 * profile - what one run of a command used, as the observer saw it.
 *
 * Pure data, with JSON as its form between programs and on disk: the run path
 * writes it to a descriptor, the verbs read it back.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;
struct json;

enum {
	PROFILE_READ = 1 << 0,
	PROFILE_WRITE = 1 << 1,  /* opened for writing, truncated */
	PROFILE_CREATE = 1 << 2, /* with O_CREAT, mkdir, symlink, link, rename to it, … */
	PROFILE_REMOVE = 1 << 3, /* unlink, rmdir, rename from it */
	PROFILE_EXECUTE = 1 << 4,
};

struct profile_path {
	char *path;     /* absolute, as the command sees it; links as it named them */
	unsigned what;  /* PROFILE_* */
	uint64_t count; /* of attempts */
};

/* What a broker made of a connection. */
enum { PROFILE_REACHED = 1 << 0, PROFILE_REFUSED = 1 << 1 };

struct profile_connection {
	char *address; /* a name, "127.0.0.1", "::1", or a path for a unix socket */
	unsigned port; /* 0 for a unix socket, or when it is not known */
	uint64_t count;
	unsigned how; /* 0: there was no broker */
};

#define PROFILE_PATHS_MAX       65536
#define PROFILE_BYTES_MAX       (8 << 20) /* of all paths: the command chooses their length */
#define PROFILE_CONNECTIONS_MAX 1024

struct profile {
	struct profile_path *paths; /* each path once */
	size_t paths_len, paths_cap, paths_bytes;
	uint32_t *index; /* finds a path: 1 + its place, by hash; 0: free */
	size_t index_len;
	struct profile_connection *connections;
	size_t connections_len;
	uint64_t spawns;  /* processes that executed something */
	uint64_t dropped; /* what did not fit */
};

/* Count an attempt. 0 or -ENOMEM; what does not fit is counted as dropped. */
int profile_add_path(struct profile *profile, const char *path, unsigned what);
int profile_add_connection(struct profile *profile, const char *address, unsigned port);
/* Through a broker: HOW is PROFILE_REACHED or PROFILE_REFUSED, ADDRESS a name if it has one. */
int profile_add_peer(struct profile *profile, const char *address, unsigned port, unsigned how);
void profile_release(struct profile *profile);
/* Read back what profile_json() wrote. -EBADMSG: something else. */
int profile_parse(const char *text, size_t len, struct profile *ret, struct err *err);
/* {"paths":[{"path":…,"read":true,…,"count":1}],"connections":[…],"spawns":1,"dropped":0} */
void profile_json(const struct profile *profile, const char *key, struct json *json);
