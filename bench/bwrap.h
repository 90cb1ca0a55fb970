/* SPDX-License-Identifier: MIT */
/*
 * bwrap - what pale is compared with: bubblewrap, with options from two files.
 *
 * bwrap-short is the boundary that one types: the whole system, read-only, with /tmp, /proc and
 * /dev of its own. bwrap-same is what `pale run` raises as far as bubblewrap can: the same
 * mounts, namespaces and system call filter (descriptor FILTER_FD, from `least --filter`), but no
 * Landlock, control groups, history, or anybody who watches.
 */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BWRAP_WORDS = 96, FILTER_FD = 9 };

static char *bwrap_folder; /* absolute, of the files */
static char bwrap_filter[128];

static inline _Noreturn void bwrap_fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Before the working directory changes. */
static inline void bwrap_find(void)
{
	bwrap_folder = realpath("bench", NULL);
	if (!bwrap_folder)
		bwrap_fail("bench (it is started at the top of the tree)");
}

static inline char *bwrap_word(const char *word, const char *work, const char *home)
{
	const char *s = strcmp(word, "@WORK@") == 0   ? work
			: strcmp(word, "@HOME@") == 0 ? home
						      : word;
	char *copy = strdup(s);

	if (!copy)
		bwrap_fail(word);
	return copy;
}

/* The command line that file NAME spells, for a workspace and a home. */
static inline void bwrap_read(const char *name, const char *work, const char *home,
			      char *ret_argv[BWRAP_WORDS])
{
	char path[4096], word[256];
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", bwrap_folder, name);
	file = fopen(path, "re");
	if (!file)
		bwrap_fail(path);
	while (n < BWRAP_WORDS - 1 && fscanf(file, "%255s", word) == 1)
		ret_argv[n++] = bwrap_word(word, work, home);
	ret_argv[n] = NULL;
	fclose(file);
}

/* The filter of pale's, in a file of FOLDER that bwrap_add() opens for each run. */
static inline void bwrap_save_filter(char *least, const char *folder)
{
	char *argv[] = {least, "--filter", NULL};
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	snprintf(bwrap_filter, sizeof(bwrap_filter), "%s/filter", folder);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, bwrap_filter, O_WRONLY | O_CREAT, 0644);
	errno = posix_spawn(&pid, least, &actions, NULL, argv, NULL);
	if (errno != 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		bwrap_fail(least);
	posix_spawn_file_actions_destroy(&actions);
}

/* bubblewrap reads it to the end, so each run has an open file of its own. */
static inline void bwrap_add(posix_spawn_file_actions_t *actions)
{
	posix_spawn_file_actions_addopen(actions, FILTER_FD, bwrap_filter, O_RDONLY, 0);
}
