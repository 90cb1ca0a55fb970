/* SPDX-License-Identifier: MIT */
/*
 * client-file - a configuration file that belongs to another program: read, then replaced as a
 * whole if nobody else wrote it meanwhile.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/str.h"

struct err;

struct client_text {
	char *path;       /* absolute; where links of a home lead to */
	const char *root; /* of the workspace that it is in; NULL: it is in a home */
	int dir;          /* the folder; -1: there is none yet */
	bool existed;
	struct stat st;
	struct str text; /* what it says, and what it is to say */
	bool is_changed; /* by whoever holds this */
};

#define CLIENT_TEXT_NONE                                                                           \
	{                                                                                          \
		.dir = -1                                                                          \
	}

void client_text_release(struct client_text *file);
/* Read FILE->path. One that is not there is empty. Below a workspace no link is followed, lest
 * a clone chooses what is written; a home is the user's own. */
int client_text_read(struct client_text *file, struct err *err);
/* Replace it by FILE->text. -EBUSY: it was changed since it was read. */
int client_text_write(struct client_text *file, struct err *err);
