/* SPDX-License-Identifier: MIT */
/* writers - has a program a file open for writing? What it wrote would go with the file. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "stage/access.h"

struct stage;

/* 1, 0, or -errno: it cannot be told, as of somebody else's file. */
int file_has_writer(int fd);

/* Asks about files of the host, most of all in the order of their paths. Begins as all zero. */
struct writers {
	bool is_open;
	unsigned root;
	int base;
	struct folder folder;
};

/* False, too, where it cannot be told. */
bool writers_find(struct writers *writers, const struct stage *stage, unsigned root,
		  const char *path, ino_t ino);
void writers_release(struct writers *writers);
