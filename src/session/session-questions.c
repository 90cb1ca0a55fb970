/* SPDX-License-Identifier: MIT */
#include "session/session-questions.h"

#include <stdlib.h>

#include "api/asking.h"
#include "backend/local-streams.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "session/session-proto.h"

struct answer {
	struct session_questions *questions;
	uint64_t id;
};

static void hold(void *data, bool held)
{
	struct session_questions *s = data;

	if (s->streams)
		local_streams_hold(s->streams, held);
}

static void on_answer(void *data, bool allow)
{
	struct answer *answer = data;
	const struct session_number number = {answer->id << 1 | allow};
	struct str body = {.data = (char *)&number, .len = sizeof(number)};

	if (!answer->questions->ended) /* else nobody has said that */
		(void)session_send(answer->questions->sock, SESSION_ANSWER, 0, &body, NULL, 0, 0);
	free(answer);
}

bool session_question(struct session_questions *s, struct session_message *message)
{
	/* Not the caller's command for sure: what earlier ones left running asks as well. */
	const struct asking_subject subject = {
		.command = "a process of this session", .hold = hold, .data = s};
	struct session_cursor c = session_cursor(message);
	struct session_number id;
	const char *rule, *program;
	struct answer *answer;

	if (!session_take(&c, &id, sizeof(id)))
		return false;
	rule = session_take_string(&c);
	program = rule ? session_take_string(&c) : NULL;
	answer = program ? malloc(sizeof(*answer)) : NULL;
	if (!answer)
		return false;
	*answer = (struct answer){s, id.value};
	if (!s->asking)
		s->asking = asking_new(&subject, s->loop);
	if (s->asking)
		asking_ask(s->asking, rule, *program ? program : NULL, on_answer, answer);
	else
		on_answer(answer, false);
	return true;
}

void session_questions_end(struct session_questions *s)
{
	s->ended = true;
	if (s->asking)
		s->asking = asking_free(s->asking);
}
