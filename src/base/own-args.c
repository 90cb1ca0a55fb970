/* SPDX-License-Identifier: MIT */
#include "base/own-args.h"

#include <string.h>

static struct {
	char *begin, *end;
} kept;

/* They lie behind each other; the first one is the program's name, which may stay. */
void own_args_keep(int argc, char **argv)
{
	if (argc < 2)
		return;
	kept.begin = argv[1];
	kept.end = argv[argc - 1] + strlen(argv[argc - 1]);
}

void own_args_forget(void)
{
	if (kept.begin && kept.end > kept.begin)
		explicit_bzero(kept.begin, (size_t)(kept.end - kept.begin));
	kept.begin = kept.end = NULL;
}
