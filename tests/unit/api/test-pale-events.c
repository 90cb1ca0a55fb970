/* SPDX-License-Identifier: MIT */
/* The ring of libpale: what happened in a run, as numbers alone; annotators. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/pale-impl.h"
#include "base/cleanup.h"
#include "scratch.h"
#include "tap.h"

/* Everything that must not be in the ring. */
#define ARGV    "S3CRET-ARGUMENT"
#define VALUE   "S3CRET-VALUE"
#define HOST    "s3cret.example.org"
#define KEY     "/home/u/.ssh/s3cret-key"
#define PRINTED "S3CRET-OUTPUT"

static const char *const secrets[] = {ARGV,    VALUE,    HOST,     KEY,
				      PRINTED, "s3cret", "S3CRET", "/home/u"};

static const char answer[] =
	"{\"run\":\"1a-2b\",\"command\":\"" ARGV "\",\"outcome\":\"limit\",\"exit_code\":null,"
	"\"signal\":9,\"limit\":\"pids\",\"duration_ms\":12,"
	"\"spec\":{\"workspace\":\"/home/u\"},"
	"\"enforced\":{\"network\":{\"state\":\"enforced\",\"by\":\"" PRINTED "\"},"
	"\"memory\":{\"state\":\"degraded\",\"by\":\"x\"},\"ids\":{\"state\":\"degraded\",\"by\":\"\"},"
	"\"cpu\":{\"state\":\"unenforced\",\"by\":\"\"}},"
	"\"events\":[{\"kind\":\"tamper\",\"dimension\":\"filesystem\",\"path\":\"" KEY "\"},"
	"{\"kind\":\"tamper\",\"dimension\":\"filesystem\",\"path\":\"" VALUE "\"}],"
	"\"violations\":[{\"dimension\":\"filesystem\",\"op\":\"open\",\"path\":\"" KEY "\","
	"\"count\":3},{\"dimension\":\"network\",\"op\":\"connect\",\"address\":\"" HOST ":443\","
	"\"count\":1},{\"dimension\":\"filesystem\",\"op\":\"create\",\"path\":\"" VALUE "\","
	"\"count\":4},{\"dimension\":\"" PRINTED "\",\"count\":99999999999}],"
	"\"stage\":{\"name\":\"" ARGV "\",\"changes\":5}}";

/* A program that gives ANSWER as pale would; its path is new. */
static void make_program(void)
{
	char text[4096];

	snprintf(text, sizeof(text), "#!/bin/sh\nprintf '%%s' '%s' >&4\n", answer);
	scratch_write("pale", text);
	chmod("pale", 0755);
}

static struct pale_context *make_context(void)
{
	struct pale_context *context = NULL;
	char path[5000];

	snprintf(path, sizeof(path), "%s/pale", scratch_path);
	pale_context_new(path, &context, NULL);
	return context;
}

static void run_once(struct pale_context *context)
{
	static const char *const argv[] = {"true", ARGV, NULL};
	static const char *const env[] = {"TOKEN=" VALUE, NULL};
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_spec *spec = NULL;
	struct pale_run *run = NULL;
	struct pale_error error;
	char workspace[5000];

	request.argv = argv;
	request.env = env;
	request.fds[0] = request.fds[1] = request.fds[2] = -1;
	snprintf(workspace, sizeof(workspace), "%s/s3cret-workspace", scratch_path);
	mkdir(workspace, 0755);
	pale_spec_new(workspace, &spec, NULL);
	if (pale_spawn(context, spec, &request, &run, &error) < 0 ||
	    pale_run_wait(run, 10000, &error) < 0)
		tap_note("%s", error.message);
	pale_run_free(run);
	pale_spec_free(spec);
}

static void test_incidents(void)
{
	static const struct {
		enum pale_event_kind kind;
		enum pale_dimension dimension;
		enum pale_severity severity;
		unsigned count;
	} want[] = {
		{PALE_EVENT_START, PALE_DIM_NONE, PALE_INFO, 1},
		{PALE_EVENT_DEGRADED, PALE_DIM_MEMORY, PALE_NOTICE, 1},
		{PALE_EVENT_DEGRADED, PALE_DIM_CPU, PALE_NOTICE, 1},
		{PALE_EVENT_DENIED, PALE_DIM_FILESYSTEM, PALE_WARNING, 7},
		{PALE_EVENT_DENIED, PALE_DIM_NETWORK, PALE_WARNING, 1},
		{PALE_EVENT_DENIED, PALE_DIM_NONE, PALE_WARNING, UINT32_MAX},
		{PALE_EVENT_LIMIT, PALE_DIM_PIDS, PALE_WARNING, 1},
		{PALE_EVENT_TAMPER, PALE_DIM_FILESYSTEM, PALE_CRITICAL, 2},
		{PALE_EVENT_STAGED, PALE_DIM_FILESYSTEM, PALE_NOTICE, 5},
		{PALE_EVENT_EXIT, PALE_DIM_NONE, PALE_WARNING, 1},
	};
	struct pale_event events[PALE_EVENTS_MAX];
	struct pale_context *context = make_context();
	size_t n;

	run_once(context);
	n = pale_events(context, 0, events, PALE_EVENTS_MAX);
	tap_eq_int((long long)n, (long long)array_len(want), "as many events as there should be");
	for (size_t i = 0; i < n && i < array_len(want); i++) {
		const struct pale_event *e = &events[i];

		tap_ok(e->kind == want[i].kind && e->dimension == want[i].dimension &&
			       e->severity == want[i].severity && e->count == want[i].count &&
			       e->run == 1 && e->number == i + 1 && e->reserved == 0 &&
			       e->workspace == events[0].workspace,
		       "%s %s, %u", pale_event_name((enum pale_event_kind)e->kind),
		       pale_dimension_name((enum pale_dimension)e->dimension), e->count);
	}
	tap_ok(events[n - 1].outcome == PALE_LIMIT && events[n - 1].duration_ms == 12,
	       "the exit tells how");
	pale_context_free(context);
}

static void test_secrets(void)
{
	struct pale_context *context = make_context();

	for (int i = 0; i < 30; i++)
		run_once(context);
	tap_ok(context->events_len > PALE_EVENTS_MAX, "the ring is full");
	for (size_t i = 0; i < array_len(secrets); i++)
		tap_ok(!memmem(context->events, sizeof(context->events), secrets[i],
			       strlen(secrets[i])),
		       "the memory of the ring does not hold %s", secrets[i]);
	/* The twin: the search would find it. */
	memcpy((char *)context->events + 1000, ARGV, sizeof(ARGV));
	tap_ok(memmem(context->events, sizeof(context->events), secrets[0], strlen(secrets[0])) !=
		       NULL,
	       "twin: it would be found");
	pale_context_free(context);
}

struct seen {
	unsigned events, with_json;
	struct pale_context *context;
};

static int look(const struct pale_event *event, const char *json,
		struct pale_annotation *annotation, void *data)
{
	struct seen *seen = data;
	struct pale_event last;

	seen->events++;
	seen->with_json += *json == '{';
	/* nothing is locked: the library may be asked */
	if (pale_events(seen->context, event->number - 1, &last, 1) != 1)
		return 0;
	if (event->kind != PALE_EVENT_DENIED)
		return event->kind == PALE_EVENT_EXIT ? 0 : -EINVAL;
	memset(annotation, 'x', sizeof(*annotation));
	return 1;
}

static void test_annotators(void)
{
	struct pale_context *context = make_context();
	struct seen seen = {.context = context};
	struct pale_annotation said[4];
	struct pale_error error;
	char name[32];

	tap_ok(pale_annotator_add(context, "look", look, &seen, &error) == 0, "one is added");
	tap_ok(pale_annotator_add(context, "look", look, &seen, &error) == -EEXIST, "%s",
	       error.message);
	tap_ok(pale_annotator_add(context, "", look, &seen, NULL) == -EINVAL, "it has a name");
	tap_ok(pale_annotator_add(context, "a-name-that-is-longer-than-31-by", look, &seen, NULL) ==
		       -EINVAL,
	       "of some length");
	run_once(context);
	tap_ok(seen.events == 10 && seen.with_json == 9, "it sees every event, and the result");
	tap_ok(pale_annotations(context, 1, said, 4) == 0, "it said nothing of the start");
	tap_ok(pale_annotations(context, 4, said, 4) == 1 && said[0].event == 4 &&
		       strcmp(said[0].annotator, "look") == 0 && strlen(said[0].type) == 31 &&
		       strlen(said[0].data) == sizeof(said[0].data) - 1 &&
		       said[0].display == PALE_HIDDEN,
	       "what it says is kept, within bounds");
	tap_ok(pale_annotations(context, 4, said, 0) == 0, "and copied within bounds");
	for (int i = 1; i < ANNOTATOR_FNS_MAX; i++) {
		snprintf(name, sizeof(name), "more-%d", i);
		pale_annotator_add(context, name, look, &seen, NULL);
	}
	tap_ok(pale_annotator_add(context, "another", look, &seen, &error) == -ENOSPC, "%s",
	       error.message);
	for (int i = 0; i < 20; i++)
		run_once(context);
	tap_ok(context->annotations_len > PALE_EVENTS_MAX &&
		       pale_annotations(context, 4, said, 4) == 0,
	       "old ones give way");
	pale_context_free(context);
}

static void test_names(void)
{
	tap_eq_str(pale_event_name(PALE_EVENT_TAMPER), "sandbox.tamper", "kinds have names");
	tap_eq_str(pale_event_name((enum pale_event_kind)99), "unknown", "unknown ones too");
	tap_eq_str(pale_dimension_name(PALE_DIM_NETWORK), "network", "the first dimension");
	tap_eq_str(pale_dimension_name(PALE_DIM_NET_RECEIVED), "net_received", "the last one");
	tap_eq_str(pale_dimension_name(PALE_DIM_NONE), "", "none");
	tap_eq_str(pale_dimension_name((enum pale_dimension)99), "", "one of the future");
}

int main(void)
{
	test_names();
	if (tap_on_valgrind()) {
		tap_skip("needs pidfd_open");
		return tap_done();
	}
	scratch_enter();
	make_program();
	test_incidents();
	test_secrets();
	test_annotators();
	scratch_leave();
	return tap_done();
}
