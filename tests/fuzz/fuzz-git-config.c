/* SPDX-License-Identifier: MIT */
/* Whatever stands in a configuration of git or a `.git` file is read to its end:
 * names have no upper case, and no path is longer than the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/git-config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *data, const char *section, const char *subsection, const char *key,
		 const char *value)
{

	if ((subsection && strlen(subsection) > *(size_t *)data) ||
	    strpbrk(section, "ABCDEFGHIJKLMNOPQRSTUVWXYZ\n") || !*key ||
	    (value && strlen(value) > *(size_t *)data))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = NULL;

	if (git_config_scan((const char *)data, size, check, &size) != 0)
		abort();
	if (git_file_parse((const char *)data, size, &path) == 0 && strlen(path) > size)
		abort();
	free(path);
	path = NULL;
	if (git_pointer_parse((const char *)data, size, &path) == 0 && strlen(path) > size)
		abort();
	free(path);
	return 0;
}
