/* SPDX-License-Identifier: MIT */
/*
 * request - what a file tool is to do, and the list of words that says so to the process
 * inside: the tool's name first, then `KEY=VALUE` in any order.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct err;

enum file_tool { FILE_READ, FILE_WRITE, FILE_EDIT, FILE_GREP, FILE_GLOB, FILE_TOOL_COUNT_ };

#define FILE_CONTENT_MAX ((size_t)64 << 20) /* of what is written, edited or digested */
#define FILE_PATH_MAX    ((size_t)65536)
#define FILE_PATTERN_MAX ((size_t)4096)
#define FILE_WORDS_MAX   4096

/* Texts are borrowed. */
struct file_request {
	enum file_tool tool;
	const char *cwd;       /* what relative paths begin at; absolute */
	const char *workspace; /* where protected names are; NULL: nowhere */
	struct strv roots;     /* what paths must be beneath */
	struct strv guards;    /* further protected paths */
	struct strv paths;
	struct strv globs;
	const char *pattern;
	const char *digest; /* of what the file must still be; NULL: anything */
	uint64_t offset, limit;
	uint64_t context;
	uint64_t max;
	bool all, fixed, ignore_case, by_name, no_ignore;
};

const char *file_tool_name(enum file_tool tool); /* "read" … */
/* Append its words. 0 or -ENOMEM. */
int file_request_pack(const struct file_request *request, struct strv *words);
/* False: that is no request. RET is released whatever the outcome. */
bool file_request_parse(char *const *words, struct file_request *ret);
void file_request_release(struct file_request *request);

/* Can TEXT be the name of a file? Strict UTF-8, not empty, not too long. NULL: it can;
 * else what is wrong. */
const char *file_path_fault(const char *text);
