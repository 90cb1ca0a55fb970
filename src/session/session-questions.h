/* SPDX-License-Identifier: MIT */
/* session-questions - what a session asks the terminal of who runs a command in it. */
#pragma once
#include <stdbool.h>

struct asking;
struct local_streams;
struct loop;
struct session_message;

struct session_questions {
	int sock;
	struct loop *loop;
	struct local_streams *streams; /* NULL: nothing is carried */
	struct asking *asking;         /* NULL: nothing was asked yet */
	bool ended;                    /* what is open stays without an answer */
};

bool session_question(struct session_questions *s, struct session_message *message);
void session_questions_end(struct session_questions *s); /* before the loop does */
