/* SPDX-License-Identifier: MIT */
/*
 * source-context - the annotator that is built in: what the output points at.
 *
 * A command may print the name of any file. So only what lies in the workspace, and
 * what the command could have read itself, is quoted; nothing is followed through links.
 */
#pragma once
#include <stddef.h>

struct err;
struct spec;
struct str;

/* The answer of an annotator (JSON) about OUTPUT of LEN bytes, into ANSWER; nothing is
 * appended when the output points at nothing. SPEC: what the command could read; NULL:
 * not known, and places are named without their source. */
int source_context(const char *workspace, const struct spec *spec, const char *output, size_t len,
		   struct str *answer, struct err *err);
