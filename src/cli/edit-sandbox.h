/* SPDX-License-Identifier: MIT */
/* edit-sandbox - the sandbox of one command in pale.toml, with the rest left as it is. */
#pragma once

struct edit;
struct err;
struct suggestion;
struct tightening;

/* The suggestion in place of whatever sandbox NAME has, as a table with comments behind
 * the command's own lines; without comments where the command is an inline table. */
int edit_sandbox_replace(struct edit *edit, const char *name, const struct suggestion *suggestion,
			 struct err *err);
/* The limits that became tighter. Where there was a preset's name, or nothing, it becomes a
 * table with that preset, BASE, as its base. */
int edit_sandbox_limits(struct edit *edit, const char *name, const char *base,
			const struct tightening *tightening, struct err *err);
