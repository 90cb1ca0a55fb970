/* SPDX-License-Identifier: MIT */
/* Commands from their start to their end, and what is asked about those in the background. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/run-history.h"
#include "api/run-notes.h"
#include "api/run-refused.h"
#include "backend/standing.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/json.h"
#include "session/file-tool.h"
#include "session/keeper-impl.h"

enum { JSON_MAX = SESSION_BODY_MAX - 65536, BYTES_MAX = 30 * 1024, MOMENT_NS = 150000 };

static const struct run_history no_history;

struct job *job_new(struct keeper *k, struct err *err)
{
	struct job *job = k->n_living < KEEPER_JOBS_MAX ? calloc(1, sizeof(*job)) : NULL;

	if (!job && k->n_living >= KEEPER_JOBS_MAX) {
		err_set(err, ERR_POLICY, -EBUSY, "session '%s' runs %d commands already",
			k->place.name, KEEPER_JOBS_MAX);
		return NULL;
	}
	if (!job) {
		err_oom(err);
		return NULL;
	}
	job->keeper = k;
	job->output = (struct job_output){.pipe = -1, .file = -1};
	job->notes = -1;
	job->run = *k->run;
	job->plan = *k->run->plan;
	job->plan.env = job->plan.argv = (struct strv){0};
	job->plan.cwd = NULL;
	job->run.plan = &job->plan;
	job->run.session = k->place.name;
	job->run.granted = &k->run->resolved.spec;
	job->run.result = (struct result){0};
	job->run.history = no_history;
	job->run.history.state = k->run->history.state;
	job->run.history.spool = &k->spool;
	job->run.t0 = clock_now(CLOCK_REALTIME);
	if (run_make_id(job->run.id, err) < 0) {
		free(job);
		return NULL;
	}
	do
		job->id = ++k->last_id;
	while (job->id == 0 || job_by_id(k, job->id));
	job->next = k->jobs;
	k->jobs = job;
	return job;
}

static void forget_files(const struct job *job)
{
	char name[80];

	snprintf(name, sizeof(name), SESSION_OUT "/%s", job->run.id);
	(void)unlinkat(job->keeper->place.dir, name, 0);
	snprintf(name, sizeof(name), SESSION_OUT "/%s.json", job->run.id);
	(void)unlinkat(job->keeper->place.dir, name, 0);
}

static void forget_history(struct run_history *history)
{
	if (history->living > 0)
		fd_close(history->living);
	if (history->output > 0)
		fd_close(history->output);
	history->living = history->output = 0;
	str_release(&history->start);
}

/* What it has of its own: all else is the session's. */
void job_free(struct job *job)
{
	struct keeper *k = job->keeper;

	for (struct job **at = &k->jobs; *at; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			break;
		}
	if (job->output.pipe >= 0 && job->is_started)
		loop_remove(&k->loop, job->output.pipe);
	if (job->output.file >= 0)
		forget_files(job);
	job_output_close(&job->output);
	if (job->reply > 0)
		fd_close(job->reply);
	forget_history(&job->run.history);
	events_release(&job->run.result.events);
	violations_release(&job->run.result.violations);
	free(job->plan.cwd);
	strv_release(&job->argv);
	job_shell_release(job);
	free(job);
}

struct job *job_by_id(struct keeper *k, uint32_t id)
{
	for (struct job *job = k->jobs; job; job = job->next)
		if (job->id == id)
			return job;
	return NULL;
}

static void add_note(void *data, const struct err *note)
{
	struct str *notes = data;

	(void)session_put_failure(notes, note);
}

static void count_note(void *data, const struct err *note)
{
	(void)note;
	++*(uint32_t *)data;
}

static int put_json(const struct job *job, const struct err *failed, struct str *out)
{
	struct json json = {.out = out};

	run_json(&job->run, failed, &json);
	return json_finish(&json);
}

/* The body of RESULT. */
static int put_result(const struct job *job, const struct err *failed, struct str *body)
{
	bool quiet = job->flags & (SESSION_QUIET | SESSION_JSON);
	struct session_result head = {.status = job->status};
	int r;

	if (!quiet && !failed)
		run_notes(&job->run, count_note, &head.n_notes);
	if (!quiet && !failed && job->lost)
		count_note(&head.n_notes, job->lost);
	if (failed)
		head.n_notes = 1;
	r = str_append_bytes(body, &head, sizeof(head));
	if (r == 0)
		r = session_put_string(body, job->run.id);
	if (r == 0 && failed)
		r = session_put_failure(body, failed);
	else if (r == 0 && head.n_notes > 0)
		run_notes(&job->run, add_note, body);
	if (r == 0 && !quiet && !failed && job->lost)
		add_note(body, job->lost);
	if (r == 0 && job->flags & (SESSION_JSON | SESSION_BACKGROUND))
		r = put_json(job, failed, body);
	return r < 0 ? r : str_append_char(body, '\0');
}

/* Of a command in the background: for who asks later. */
static void keep_result(const struct job *job, const struct str *body)
{
	char name[80];
	_cleanup_(fd_closep) int fd = -1;

	snprintf(name, sizeof(name), SESSION_OUT "/%s.json", job->run.id);
	fd = openat(job->keeper->place.dir, name,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	/* What is known by heart needs no torn file. */
	if (fd >= 0 && fd_write_all(fd, body->data, body->len) < 0)
		(void)unlinkat(job->keeper->place.dir, name, 0);
}

static void answer_wait(struct client *client, const struct job *job)
{
	_cleanup_(str_release) struct str body = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct err err = {0};
	char name[80];
	int r;

	client->awaits = NULL;
	snprintf(name, sizeof(name), SESSION_OUT "/%s.json", job->run.id);
	fd = openat(job->keeper->place.dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : fd_read_all(fd, SESSION_BODY_MAX, &body);
	if (r < 0) {
		str_release(&body);
		r = put_result(job, NULL, &body);
	}
	if (r < 0) {
		err_sys(&err, r, "how command %s ended", job->run.id);
		client_fail(client, &err);
		return;
	}
	client_answer(client, SESSION_RESULT, &body, NULL, 0);
}

static struct session_state state_of(const struct job *job)
{
	const struct result *result = &job->run.result;

	return (struct session_state){.is_over = job->is_ended,
				      .outcome = job->has_failed ? (int32_t)OUTCOME_ERROR
								 : (int32_t)result->outcome,
				      .exit_code = job->has_failed ? -1 : result->exit_code,
				      .signal = job->has_failed ? 0 : result->signal};
}

static void answer_output(struct client *client, const struct job *job)
{
	static char bytes[BYTES_MAX];
	_cleanup_(str_release) struct str body = {0};
	const struct session_state state = state_of(job);
	uint32_t flags = client->flags & SESSION_STATE;
	struct session_bytes head;
	size_t n = job_output_read(&job->output, client->from, bytes, sizeof(bytes), &head);

	client->awaits = NULL;
	head.ended = job->is_ended && head.next == head.total;
	if (str_append_bytes(&body, &head, sizeof(head)) < 0 ||
	    (flags && str_append_bytes(&body, &state, sizeof(state)) < 0) ||
	    str_append_bytes(&body, bytes, n) < 0)
		keeper_hang_up(client);
	else if (session_send(client->sock, SESSION_BYTES, flags, &body, NULL, 0, MSG_DONTWAIT) < 0)
		(void)shutdown(client->sock, SHUT_RDWR);
}

/* Whoever waits for news of JOB. */
static void tell_waiters(struct job *job)
{
	for (struct client *c = job->keeper->clients, *next; c; c = next) {
		next = c->next;
		if (c->awaits != job)
			continue;
		if (c->awaited == SESSION_OUTPUT && (job->is_ended || job->output.total > c->from))
			answer_output(c, job);
		else if (c->awaited == SESSION_WAIT && job->is_ended)
			answer_wait(c, job);
	}
}

static void on_output(void *data, short revents)
{
	struct job *job = data;

	(void)revents;
	if (!job_output_fill(&job->output)) {
		loop_remove(&job->keeper->loop, job->output.pipe);
		job->output.pipe = fd_close(job->output.pipe);
	}
	tell_waiters(job);
}

void job_watch_output(struct job *job)
{
	if (loop_add(&job->keeper->loop, job->output.pipe, POLLIN, on_output, job) < 0)
		job->output.pipe = fd_close(job->output.pipe);
}

/* Of JOB and those that ended before it the first goes, however long it ran. Nobody waits for any. */
static void keep_finished(struct job *job)
{
	struct keeper *k = job->keeper;
	struct job *first = job;

	job->nth = ++k->n_ends;
	if (++k->n_finished <= KEEPER_FINISHED_MAX)
		return;
	for (struct job *other = k->jobs; other; other = other->next)
		if (other->nth && other->nth < first->nth)
			first = other;
	job_free(first);
	k->n_finished--;
}

/* Where who started it would have seen it. */
static void add_failure(struct job *job, const struct err *failed)
{
	job_output_add(&job->output, "pale: ");
	job_output_add(&job->output, failed->message);
	job_output_add(&job->output, "\n");
}

/* Whoever waits for the command goes before what is left to do here: the client, which ends, and
 * who has waited for that. On the same processor the two need a moment in which we do not run. */
static void let_it_go_first(const struct keeper *k)
{
	const struct timespec moment = {.tv_nsec = MOMENT_NS};

	if (k->n_clients > 1 || k->n_living > 0)
		(void)sched_yield(); /* others wait, too */
	else
		(void)nanosleep(&moment, NULL);
}

static void finish(struct job *job, const struct err *failed)
{
	struct keeper *k = job->keeper;
	_cleanup_(str_release) struct str body = {0};
	int r = put_result(job, failed, &body);

	if (job->flags & SESSION_BACKGROUND) {
		if (job->output.pipe >= 0)
			(void)job_output_fill(&job->output); /* all that a pipe holds */
		if (failed)
			add_failure(job, failed);
		if (r == 0)
			keep_result(job, &body);
		forget_history(&job->run.history);
		tell_waiters(job);
		keep_finished(job);
		return;
	}
	if (job->client) {
		job->client->job = NULL;
		if (r == 0)
			client_answer(job->client, SESSION_RESULT, &body, NULL, 0);
		/* It asks for nothing more, and need not wake us when it hangs up. */
		(void)shutdown(job->client->sock, SHUT_RDWR);
		let_it_go_first(k);
	}
	job_free(job);
}

void job_end(struct job *job, struct result *result, const struct err *failed)
{
	struct keeper *k = job->keeper;

	if (job->is_ended)
		return;
	job->is_ended = true;
	job->has_failed = failed != NULL;
	if (result) {
		job->run.result = *result;
		result->events = (struct events){0};
		result->violations = (struct violations){0};
	}
	if (job->reply > 0 && result)
		file_reply_collect(&job->run, job->argv.items, job->reply);
	if (!failed)
		job_shell_end(job);
	job->run.rules = keeper_rules(k);
	run_explain_refused(&job->run);
	job->status = failed ? run_error_status(failed) : result_status(&job->run.result);
	run_history_end(&job->run, failed);
	k->n_living--;
	finish(job, failed);
	keeper_stir(k);
}

/* By its id or the beginning of it, if no other begins so. */
static struct job *find(struct keeper *k, const char *id, struct err *err)
{
	struct job *found = NULL;
	size_t len = id ? strlen(id) : 0;

	for (struct job *job = k->jobs; job && len > 0; job = job->next) {
		if (!(job->flags & SESSION_BACKGROUND) || strncmp(job->run.id, id, len) != 0)
			continue;
		if (found) {
			err_set(err, ERR_USAGE, -EINVAL,
				"more than one command's id begins with %.40s", id);
			return NULL;
		}
		found = job;
	}
	if (!found) {
		err_set(err, ERR_USAGE, -ENOENT,
			"session '%s' has no command %.40s in the background", k->place.name,
			id ? id : "");
		err_hint(err, -ENOENT, "pale session list -j lists those that run");
	}
	return found;
}

void keeper_output(struct client *client, struct session_message *message)
{
	struct session_cursor c = session_cursor(message);
	struct session_range range;
	struct err err = {0};
	struct job *job;

	if (!session_take(&c, &range, sizeof(range)))
		range.from = UINT64_MAX;
	job = find(client->keeper, session_take_string(&c), &err);
	if (!job) {
		client_fail(client, &err);
		return;
	}
	client->from = range.from;
	client->flags = message->head.flags;
	if (client->flags & SESSION_FOLLOW && !job->is_ended && job->output.total <= range.from) {
		client->awaits = job;
		client->awaited = SESSION_OUTPUT;
		return;
	}
	answer_output(client, job);
}

void keeper_wait(struct client *client, struct session_message *message)
{
	struct session_cursor c = session_cursor(message);
	struct err err = {0};
	struct job *job = find(client->keeper, session_take_string(&c), &err);

	if (!job) {
		client_fail(client, &err);
		return;
	}
	if (job->is_ended) {
		answer_wait(client, job);
		return;
	}
	client->awaits = job;
	client->awaited = SESSION_WAIT;
}

void keeper_signal(struct client *client, struct session_message *message)
{
	struct session_cursor c = session_cursor(message);
	struct session_number sig = {0};
	struct err err = {0};
	struct job *job = session_take(&c, &sig, sizeof(sig))
				  ? find(client->keeper, session_take_string(&c), &err)
				  : NULL;

	if (job && job->is_ended) {
		err_set(&err, ERR_USAGE, -ESRCH, "command %s has ended", job->run.id);
		job = NULL;
	} else if (job && (sig.value < 1 || sig.value > 64)) {
		err_set(&err, ERR_USAGE, -EINVAL, "there is no such signal");
		job = NULL;
	}
	if (!job) {
		client_fail(client, &err);
		return;
	}
	standing_signal(client->keeper->standing, job->id, (int)sig.value);
	client_answer(client, SESSION_DONE, NULL, NULL, 0);
}

void keeper_info(struct client *client)
{
	const struct keeper *k = client->keeper;
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};

	json_begin_object(&json, NULL);
	json_add_uint(&json, "running", k->n_living);
	json_begin_array(&json, "commands");
	for (const struct job *job = k->jobs; job && text.len < JSON_MAX; job = job->next) {
		json_begin_object(&json, NULL);
		json_add_string(&json, "run", job->run.id);
		json_add_string(&json, "program", job->argv.len > 0 ? job->argv.items[0] : NULL);
		json_add_bool(&json, "background", job->flags & SESSION_BACKGROUND);
		json_add_bool(&json, "ended", job->is_ended);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	if (json_finish(&json) == 0 && str_append_char(&text, '\0') == 0)
		client_answer(client, SESSION_FACTS, &text, NULL, 0);
	else
		(void)shutdown(client->sock, SHUT_RDWR);
}
