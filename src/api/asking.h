/* SPDX-License-Identifier: MIT */
/*
 * asking - the user of this terminal, about names that a command wants to reach.
 *
 * The terminal is the controlling one of this process, never the command's. While it asks, nothing
 * of the command's is shown, and nothing that is typed gets to it. Whoever cannot be asked, in the
 * background, without a terminal, for too long or too often, has said no.
 */
#pragma once
#include <stdbool.h>

struct asking;
struct loop;
struct str;

enum { ASKING_MAX = 10, ASKING_MS = 60000 };

struct asking_subject {
	const char *command; /* who wants it; borrowed */
	/* HELD: what is carried between the terminal and the command waits. */
	void (*hold)(void *data, bool held);
	/* Write RULE down for good, and a line into RET of what became of it. NULL: that is not
	 * possible, and not offered. */
	void (*keep)(void *data, const char *rule, struct str *ret);
	void *data;
};

bool asking_is_possible(void); /* there is a terminal, and it is ours */
struct asking *asking_new(const struct asking_subject *subject, struct loop *loop); /* or NULL */
/* About RULE, "NAME:PORT". ANSWER is called once, now or later. */
void asking_ask(struct asking *asking, const char *rule, const char *program,
		void (*answer)(void *answer_data, bool allow), void *answer_data);
struct asking *asking_free(struct asking *asking); /* what is open is refused; NULL ok */
