/* SPDX-License-Identifier: MIT */
/* seen - a made-up profile. */
#pragma once
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/profile.h"

static inline int seen_path(struct profile *profile, const char *path, unsigned what)
{
	for (size_t i = 0; i < profile->paths_len; i++)
		if (strcmp(profile->paths[i].path, path) == 0) {
			profile->paths[i].what |= what;
			return 0;
		}
	profile->paths = reallocarray(profile->paths, profile->paths_len + 1,
				      sizeof(*profile->paths));
	profile->paths[profile->paths_len++] = (struct profile_path){
		.path = strdup(path), .what = what, .count = 1};
	return 0;
}

static inline int seen_connection(struct profile *profile, const char *address, unsigned port)
{
	profile->connections = reallocarray(profile->connections, profile->connections_len + 1,
					    sizeof(*profile->connections));
	profile->connections[profile->connections_len++] = (struct profile_connection){
		.address = strdup(address), .port = port, .count = 1};
	return 0;
}

static inline void seen_release(struct profile *profile)
{
	for (size_t i = 0; i < profile->paths_len; i++)
		free(profile->paths[i].path);
	for (size_t i = 0; i < profile->connections_len; i++)
		free(profile->connections[i].address);
	free(profile->paths);
	free(profile->connections);
}
