/* SPDX-License-Identifier: MIT */
/* completions - what the generators of completion scripts share. */
#pragma once
#include "api/verbs.h"

struct str;

/* What the operand of a verb stands for. */
enum operand {
	OPERAND_NONE,
	OPERAND_COMMAND, /* a registered command */
	OPERAND_SANDBOX, /* that, or a preset */
	OPERAND_SESSION,
	OPERAND_RUN,
	OPERAND_STAGE,
	OPERAND_FILE,
	OPERAND_PROGRAM, /* and what it works on */
	OPERAND_SHELL,
	OPERAND_VERB,
};

/* All append to OUT and return 0 or -ENOMEM. */
int completions_sh(struct str *out, const char *shell); /* bash or zsh */
int completions_fish(struct str *out);

int put_words(struct str *out, const char *const *words); /* each after a blank */
/* The first words of all verbs, or the second ones of a FAMILY. */
int put_verb_words(struct str *out, const struct verb *family);

enum operand verb_operand(enum verb_id id);
enum operand option_operand(const struct opt *opt); /* what its value stands for */
/* The verb that prints them, one per line; NULL: they are known, or files. */
const char *operand_source(enum operand operand);
bool verb_heads_family(enum verb_id id); /* the first verb of several words */
const char *const *completion_shells(void);
