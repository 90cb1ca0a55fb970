/* SPDX-License-Identifier: MIT */
/* source-context: output that anybody may have written, against the bounds it promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/source-function.h"
#include "store/source-refs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = {"a.c", "a.py", "a.go", "a.rs", "a.js", "Makefile"};
	const char *text = (const char *)data;
	struct source_refs refs = {0};
	struct source_lines lines;
	char name[SOURCE_FUNCTION_MAX];

	if (source_refs_find(text, size, &refs) < 0 || refs.len > SOURCE_REFS_MAX)
		abort();
	for (size_t i = 0; i < refs.len; i++)
		if (refs.items[i].line == 0 || refs.items[i].path[0] == '\0' ||
		    strlen(refs.items[i].path) > 2 * SOURCE_PATH_MAX ||
		    strchr(refs.items[i].path, '\n'))
			abort();
	source_refs_release(&refs);
	if (source_lines_init(&lines, text, size) < 0)
		abort();
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *found = source_function(&lines, paths[i], lines.len, name);

		if (found && (!*found || strlen(found) >= SOURCE_FUNCTION_MAX))
			abort();
	}
	source_lines_release(&lines);
	return 0;
}
