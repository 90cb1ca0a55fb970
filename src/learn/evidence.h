/* SPDX-License-Identifier: MIT */
/*
 * evidence - what one rehearsal of a command showed, and how it is kept.
 *
 * Made of what `pale run` hands back: its result, its profile, and the changes in
 * the stage. Kept as JSON in the user's state, for `pale sandbox suggest`.
 */
#pragma once
#include "base/hash.h"
#include "base/str.h"
#include "observe/profile.h"
#include "policy/resolve.h"
#include "result/result.h"

struct err;
struct user;

struct evidence {
	char digest[SHA256_HEX]; /* of what the command runs, see command_digest() */
	char *asked;             /* the spec that it ran under, as text: spec-text.h */
	enum outcome outcome;
	int exit_code;      /* -1: it did not exit */
	struct usage usage; /* USAGE_UNKNOWN where it is */
	uint64_t duration_ms;
	struct violations violations; /* without what programs merely probe for */
	struct strv changed;          /* absolute paths that were different afterwards */
	struct profile profile;
};

void evidence_release(struct evidence *evidence);
/* Of its shell line or its list: another command of the same name is another one. */
void command_digest(const struct command *command, char ret[SHA256_HEX]);

/* Did it end as it would outside? It succeeded; or it failed by itself, and nothing was
 * refused that could be why. */
bool evidence_is_sound(const struct evidence *evidence);

void evidence_json(const struct evidence *evidence, struct json *json);

/* evidence-read.c; -EBADMSG: it is not what we write. */
int evidence_parse(const char *text, size_t len, struct evidence *ret, struct err *err);
/* What `pale run --result-fd` wrote. When nothing was executed, its error is ours. */
int evidence_read_result(struct evidence *evidence, const char *text, size_t len, struct err *err);
/* What `pale run --profile-fd` wrote. */
int evidence_read_profile(struct evidence *evidence, const char *text, size_t len, struct err *err);
