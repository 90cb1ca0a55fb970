/* SPDX-License-Identifier: MIT */
/*
 * git-config - the few things in a repository's configuration that name further
 * files, and the files that say where a repository is; read as git reads them.
 */
#pragma once
#include <stddef.h>

/* One variable; SECTION and KEY in lower case, SUBSECTION NULL without one, VALUE NULL for a bare
 * key. */
typedef int git_config_fn(void *data, const char *section, const char *subsection, const char *key,
			  const char *value);

/* Call FN for each variable of TEXT up to the first line that git would refuse.
 * 0, -ENOMEM, or what FN returned when that was not 0. */
int git_config_scan(const char *text, size_t len, git_config_fn *fn, void *data);

/* The path in a `.git` file: what follows "gitdir: ". -EINVAL: git takes it for
 * broken and uses no repository at all. */
int git_file_parse(const char *text, size_t len, char **ret_path);
/* The path in a `commondir` or `gitdir` file. -EINVAL when empty. */
int git_pointer_parse(const char *text, size_t len, char **ret_path);
