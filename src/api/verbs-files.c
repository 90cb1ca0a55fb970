/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: files, read and written inside the boundary. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

#define STATUS                                                                                     \
	"The exit status is 0 when it was done, 1 when not (with the reason), 125\n"               \
	"when pale could not run it and nothing was executed."

const struct verb verb_file_read = {
	.id = VERB_FILE_READ,
	.name = "file read",
	.group = GROUP_SESSIONS,
	.operands = "PATH",
	.min = 1,
	.max = 1,
	.summary = "print lines of a file, as a command inside would see it",
	.details = "At most 2000 lines, 256 KiB and 4 KiB of each line; where there is more, the\n"
		   "offset to go on with is said. Binary files are not printed.\n"
		   "\n" STATUS,
	.examples = "pale file read src/main.c\n"
		    "pale file read --offset 2001 --limit 100 -j build.log",
	.options = options_file_read,
	.on_run_path = true,
};

const struct verb verb_file_write = {
	.id = VERB_FILE_WRITE,
	.name = "file write",
	.group = GROUP_SESSIONS,
	.operands = "PATH",
	.min = 1,
	.max = 1,
	.summary = "write standard input to a file, inside the boundary",
	.details = "Makes the folders on the way. The file is replaced as a whole and keeps its\n"
		   "permissions, which must allow that. Protected names are refused.\n"
		   "\n" STATUS,
	.examples = "echo hello | pale file write notes/hello.txt",
	.options = options_file_write,
	.on_run_path = true,
};

const struct verb verb_file_edit = {
	.id = VERB_FILE_EDIT,
	.name = "file edit",
	.group = GROUP_SESSIONS,
	.operands = "PATH",
	.min = 1,
	.max = 1,
	.summary = "replace text in a file, inside the boundary",
	.details = "The old text must be in the file exactly once, to the byte, unless --all is\n"
		   "given. Prints the change as a diff.\n"
		   "\n" STATUS,
	.examples = "pale file edit src/main.c --old 'return 1;' --new 'return 0;'",
	.options = options_file_edit,
	.on_run_path = true,
};

const struct verb verb_file_grep = {
	.id = VERB_FILE_GREP,
	.name = "file grep",
	.group = GROUP_SESSIONS,
	.operands = "PATTERN [PATH…]",
	.min = 1,
	.max = VERB_ANY,
	.summary = "find lines in files, inside the boundary",
	.details = "PATTERN is an extended regular expression, matched against each line. In\n"
		   "folders, what .gitignore excludes is left out, and so are .git and binary\n"
		   "files. The files come in the order of their names.\n"
		   "\n"
		   "The exit status is 0 when a line was found, 1 when none or when it could\n"
		   "not be done, 125 when pale could not run it and nothing was executed.",
	.examples = "pale file grep 'int main' src\n"
		    "pale file grep --fixed --ignore-case --glob '*.md' todo",
	.options = options_file_grep,
	.on_run_path = true,
};

const struct verb verb_file_glob = {
	.id = VERB_FILE_GLOB,
	.name = "file glob",
	.group = GROUP_SESSIONS,
	.operands = "PATTERN [DIR]",
	.min = 1,
	.max = 2,
	.summary = "list files by pattern, inside the boundary",
	.details = "* and ? match within a name, ** any number of folders, [a-z] one of a set,\n"
		   "{a,b} either. The pattern is relative to DIR, the current folder as a rule.\n"
		   "What .gitignore excludes is left out, and so is .git.\n"
		   "\n"
		   "The exit status is 0 when something was found, 1 when nothing or when it\n"
		   "could not be done, 125 when pale could not run it.",
	.examples = "pale file glob '**/*.{c,h}'\n"
		    "pale file glob '*' docs --sort name",
	.options = options_file_glob,
	.on_run_path = true,
};
