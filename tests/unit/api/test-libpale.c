/* SPDX-License-Identifier: MIT */
/* What of libpale needs no kernel: specs, errors, requests, events, threads. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pale.h"
#include "tests/tap.h"

static const char *const presets[] = {"readonly",  "test",         "build", "integration",
				      "workspace", "unrestricted", "off"};
#define PRESETS (sizeof(presets) / sizeof(*presets))

static struct pale_spec *preset(const char *workspace, const char *name)
{
	struct pale_spec *spec = NULL;

	if (pale_spec_from_preset(workspace, name, &spec, NULL) < 0)
		abort();
	return spec;
}

static struct pale_spec *toml(const char *workspace, const char *text)
{
	struct pale_spec *spec = NULL;
	struct pale_error error;

	if (pale_spec_from_toml(workspace, text, &spec, &error) < 0) {
		tap_note("%s", error.message);
		abort();
	}
	return spec;
}

static bool same(const struct pale_spec *a, const struct pale_spec *b)
{
	return pale_spec_leq(a, b) && pale_spec_leq(b, a);
}

static void test_zero(void)
{
	struct pale_spec *spec = NULL, *off = preset(NULL, "off");
	char *text = NULL;

	tap_ok(pale_spec_new(NULL, &spec, NULL) == 0, "a spec is made");
	tap_ok(!pale_spec_is_active(spec), "a new one restricts nothing");
	tap_ok(same(spec, off), "and is what `off` is");
	tap_ok(pale_spec_get(spec, "memory", &text, NULL) == 0 && !*text, "no limit is no text");
	free(text);
	for (size_t i = 0; i < PRESETS; i++) {
		struct pale_spec *other = preset(NULL, presets[i]);

		tap_ok(pale_spec_leq(other, spec), "%s is within it", presets[i]);
		tap_ok(pale_spec_is_active(other) == (strcmp(presets[i], "off") != 0),
		       "%s is active, unless it is off", presets[i]);
		pale_spec_free(other);
	}
	pale_spec_set(spec, "timeout", "1s", NULL);
	tap_ok(pale_spec_is_active(spec), "a limit of time alone is a restriction");
	pale_spec_set(spec, "timeout", NULL, NULL);
	tap_ok(!pale_spec_is_active(spec) && same(spec, off), "until it is taken away");
	pale_spec_free(spec);
	pale_spec_free(off);
	pale_spec_free(NULL);
	pale_context_free(NULL);
	pale_plan_free(NULL);
	pale_run_free(NULL);
}

static void test_set(void)
{
	static const struct {
		const char *key, *value, *shown;
	} cases[] = {
		{"network", "none", "\"none\""},
		{"filesystem", "readonly", "\"readonly\""},
		{"ephemeral", "true", "true"},
		{"memory", "512m", "\"512m\""},
		{"timeout", "90s", "\"90s\""},
		{"pids", "64", "64"},
		{"paths_hidden", "/x/", "[\"/x\"]"},
		{"hosts", "a.org", "[\"a.org:443\"]"},
		{"ports", "80", "[80]"},
		{"nested", "false", "false"},
		{"env_pass", "CI_*", "[\"CI_*\"]"},
		{"processes", "isolated", "\"isolated\""},
	};
	struct pale_spec *spec = NULL, *fresh = NULL;

	pale_spec_new(NULL, &spec, NULL);
	pale_spec_new(NULL, &fresh, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = NULL;

		tap_ok(pale_spec_set(spec, cases[i].key, cases[i].value, NULL) == 0 &&
			       pale_spec_get(spec, cases[i].key, &text, NULL) == 0,
		       "%s is set", cases[i].key);
		tap_eq_str(text, cases[i].shown, "and shown as in TOML");
		free(text);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		pale_spec_set(spec, cases[i].key, NULL, NULL);
	tap_ok(same(spec, fresh) && !pale_spec_is_active(spec), "NULL takes each of them away");
	pale_spec_free(spec);
	pale_spec_free(fresh);
}

static void test_lists(const char *workspace)
{
	struct pale_spec *spec = preset(workspace, "workspace"), *copy = NULL;
	struct pale_error error = {0};
	char *text = NULL, want[512];

	tap_ok(pale_spec_add(spec, "paths_readable", "/opt/a", NULL) == 0 &&
		       pale_spec_add(spec, "paths_readable", "${WORKSPACE}/b", NULL) == 0 &&
		       pale_spec_add(spec, "paths_readable", "c/../d", NULL) == 0,
	       "items are added");
	pale_spec_get(spec, "paths_readable", &text, NULL);
	snprintf(want, sizeof(want), "[\"/opt/a\", \"%s/b\", \"%s/d\"]", workspace, workspace);
	tap_ok(strstr(text, "/opt/a") && strlen(text) == strlen(want), "all of them are there: %s",
	       text);
	free(text);
	pale_spec_copy(spec, &copy, NULL);
	pale_spec_set(spec, "paths_readable", "/only", NULL);
	pale_spec_get(spec, "paths_readable", &text, NULL);
	tap_eq_str(text, "[\"/only\"]", "set replaces a list");
	free(text);
	pale_spec_get(copy, "paths_readable", &text, NULL);
	tap_eq_int((long long)strlen(text), (long long)strlen(want), "but not that of a copy");
	free(text);
	tap_ok(pale_spec_add(spec, "network", "none", &error) == -EINVAL &&
		       strstr(error.message, "no list"),
	       "what is no list takes no items");
	tap_ok(pale_spec_add(spec, "hosts", NULL, NULL) == -EINVAL, "nothing is not added");
	pale_spec_free(spec);
	pale_spec_free(copy);
}

static void test_errors(void)
{
	struct pale_spec *spec = NULL, *none = NULL;
	struct pale_error error;
	char *before = NULL, *after = NULL;

	pale_spec_new(NULL, &spec, NULL);
	pale_spec_text(spec, &before, NULL);
	memset(&error, 0xff, sizeof(error));
	tap_ok(pale_spec_set(spec, "netwark", "none", &error) == -EINVAL, "an unknown key");
	tap_ok(strstr(error.message, "netwark") && strstr(error.hint, "network") &&
		       error.code == PALE_CODE_USAGE && error.errnum == EINVAL &&
		       !error.reserved[0] && !error.reserved[sizeof(error.reserved) - 1],
	       "the error is filled, with a hint: %s", error.hint);
	tap_ok(pale_spec_set(spec, "network", "some", &error) == -EINVAL &&
		       strstr(error.message, "some"),
	       "an unknown value: %s", error.message);
	tap_ok(pale_spec_set(spec, "memory", "12q", NULL) == -EINVAL, "a bad size, and no error");
	tap_ok(pale_spec_set(spec, "paths_hidden", "x", &error) == -EINVAL,
	       "a relative path without a workspace: %s", error.message);
	tap_ok(pale_spec_add(spec, "hosts", "*", NULL) < 0, "a host that is none");
	pale_spec_text(spec, &after, NULL);
	tap_eq_str(after, before, "the spec is as it was");
	free(before);
	free(after);
	tap_ok(pale_spec_from_preset(NULL, "buildx", &none, &error) == -EINVAL && !none &&
		       strstr(error.hint, "build"),
	       "an unknown preset: %s", error.hint);
	tap_ok(pale_spec_from_toml(NULL, "network = \"none\"\nnetwrk = 1\n", &none, &error) ==
			       -EINVAL &&
		       strstr(error.message, "spec:2:1") && error.code == PALE_CODE_CONFIG,
	       "an unknown key in a text, with its line: %s", error.message);
	tap_ok(pale_spec_from_toml(NULL, "network = ", &none, &error) == -EINVAL,
	       "what is not TOML: %s", error.message);
	tap_ok(pale_spec_from_toml(NULL, "paths_hidden = [\"x\"]", &none, &error) == -EINVAL,
	       "a relative path in a text: %s", error.message);
	tap_ok(pale_spec_from_toml(NULL, "[sandbox]\nmode = \"direct\"", &none, NULL) == -EINVAL,
	       "a pale.toml is no spec");
	tap_ok(pale_spec_from_toml(NULL, "env = \"clean\"\nenv_pass = [\"A\"]", &none, NULL) < 0,
	       "a contradiction");
	tap_ok(pale_spec_new("/no/such/folder", &none, &error) == -ENOENT && !none,
	       "a workspace that is not there: %s", error.message);
	tap_ok(pale_spec_new("/etc/passwd", &none, NULL) == -ENOTDIR, "one that is no folder");
	pale_spec_free(spec);
}

static void test_text(const char *workspace)
{
	static const char *const texts[] = {
		"",
		"base = \"off\"",
		"base = \"test\"\ntmpfs = \"1m\"",
		"network = \"allowed_hosts\"\nhosts = [\"*.a.org:80,443\", \"10.1.2.3/8:5\", "
		"\"[fd00::1]:7\"]\nports = []",
		"network = \"localhost\"\nports = [1, 65535]\nexpose = [8080]",
		"filesystem = \"scoped_write\"\npaths_writable = [\"out\", \"/a \\\"b\\\"\\n\"]\n"
		"paths_hidden = [\".env\"]\nsockets = [\"/run/x\"]\ncaches = [\"/c\"]",
		"env = \"pass\"\nenv_pass = [\"A\", \"B_*\"]\nnested = true\nmax_output = \"1k\"",
		"pids = 3\ncpu = \"1h1s\"\ndisk = 70000\nprocesses = \"visible\"",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct pale_spec *spec = toml(workspace, texts[i]), *again;
		char *one = NULL, *two = NULL;

		pale_spec_text(spec, &one, NULL);
		again = toml(NULL, one);
		pale_spec_text(again, &two, NULL);
		tap_eq_str(two, one, "text %zu comes back as it was", i);
		tap_ok(same(spec, again), "and means the same");
		tap_ok(strstr(one, workspace) != NULL, "the workspace is part of it");
		free(one);
		free(two);
		pale_spec_free(spec);
		pale_spec_free(again);
	}
}

static void test_defaults(void)
{
	struct pale_spec *empty = toml(NULL, ""), *readonly = preset(NULL, "readonly");
	char *text = NULL;

	tap_ok(pale_spec_leq(readonly, empty) && !pale_spec_leq(empty, readonly),
	       "an empty text is `readonly` without its limits");
	pale_spec_get(empty, "network", &text, NULL);
	tap_eq_str(text, "\"none\"", "what is left out is tight");
	free(text);
	pale_spec_free(empty);
	pale_spec_free(readonly);
}

/* All pairs; the laws themselves are tested where the lattice is. */
static void test_meet(const char *workspace)
{
	size_t tried = 0, broken = 0;

	for (size_t i = 0; i < PRESETS * PRESETS * 2; i++) {
		const char *where = i % 2 ? workspace : NULL;
		struct pale_spec *a = preset(where, presets[i / 2 / PRESETS]);
		struct pale_spec *b = preset(i % 3 ? where : NULL, presets[i / 2 % PRESETS]);
		struct pale_spec *ab = NULL, *ba = NULL, *aa = NULL;

		pale_spec_meet(a, b, &ab, NULL);
		pale_spec_meet(b, a, &ba, NULL);
		pale_spec_meet(a, a, &aa, NULL);
		broken += !pale_spec_leq(ab, a) || !pale_spec_leq(ab, b) || !same(ab, ba) ||
			  !same(aa, a) || (pale_spec_leq(a, b) && !same(ab, a));
		tried++;
		pale_spec_free(a);
		pale_spec_free(b);
		pale_spec_free(ab);
		pale_spec_free(ba);
		pale_spec_free(aa);
	}
	tap_ok(tried == PRESETS * PRESETS * 2 && broken == 0, "meet is below both, in %zu pairs",
	       tried);
}

static void test_no_workspace(void)
{
	struct pale_spec *writes = preset(NULL, "workspace"), *reads = toml(NULL, "");
	struct pale_spec *both = NULL;
	char *text = NULL;

	tap_ok(!pale_spec_leq(writes, reads) && pale_spec_leq(reads, writes),
	       "without a workspace, writing in it is still more than reading");
	pale_spec_meet(writes, reads, &both, NULL);
	pale_spec_text(both, &text, NULL);
	tap_ok(text && !strstr(text, "workspace = ") && strstr(text, "filesystem = \"readonly\"") &&
		       strstr(text, "paths_readable = []"),
	       "and the meet names none: %s", text);
	free(text);
	pale_spec_free(writes);
	pale_spec_free(reads);
	pale_spec_free(both);
}

static void test_argv(const char *workspace)
{
	static const char *const command[] = {"sh", "-c", "a b", "--", "", NULL};
	static const char *const weak[] = {"memory", NULL};
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_context *context = NULL;
	struct pale_spec *spec = preset(workspace, "build");
	struct pale_error error;
	char **argv = NULL, *text = NULL;
	size_t n = 0, spec_at = 0, dashes = 0;

	tap_ok(pale_context_new("bin/pale", &context, &error) == -EINVAL, "%s", error.message);
	pale_context_new("/x/pale", &context, NULL);
	tap_ok(pale_argv(context, spec, &request, &argv, &error) == -EINVAL, "%s", error.message);
	request.argv = command;
	request.allow_degraded = weak;
	tap_ok(pale_argv(context, spec, &request, &argv, NULL) == 0, "an argv is made");
	for (; argv[n]; n++) {
		if (strcmp(argv[n], "--spec") == 0 && !spec_at)
			spec_at = n;
		if (strcmp(argv[n], "--") == 0 && !dashes)
			dashes = n;
	}
	pale_spec_text(spec, &text, NULL);
	tap_ok(strcmp(argv[0], "/x/pale") == 0 && strcmp(argv[1], "run") == 0,
	       "of the program that the context names");
	tap_eq_str(argv[spec_at + 1], text, "with the spec as text");
	tap_ok(n == dashes + 6 && strcmp(argv[dashes + 3], "a b") == 0 && !argv[dashes + 5][0],
	       "and the command as it is");
	free(text);
	free(argv);
	request.flags = 1;
	tap_ok(pale_argv(context, spec, &request, &argv, NULL) == -EINVAL, "unknown flags");
	request.flags = 0;
	request.size = 0;
	tap_ok(pale_argv(context, spec, &request, &argv, NULL) == -EINVAL, "no size");
	pale_spec_free(spec);
	pale_context_free(context);
}

/* A caller with a newer header: what it does not use is zero. */
static void test_growth(void)
{
	static const char *const command[] = {"true", NULL};
	struct {
		struct pale_request request;
		long more;
	} newer = {PALE_REQUEST_INIT, 0};
	struct pale_context *context = NULL;
	struct pale_spec *spec = preset(NULL, "off");
	char **argv = NULL;

	pale_context_new("/x/pale", &context, NULL);
	newer.request.size = sizeof(newer);
	newer.request.argv = command;
	tap_ok(pale_argv(context, spec, &newer.request, &argv, NULL) == 0,
	       "a longer request is fine as long as the rest is zero");
	free(argv);
	newer.more = 1;
	tap_ok(pale_argv(context, spec, &newer.request, &argv, NULL) == -E2BIG,
	       "and refused when it is not");
	pale_spec_free(spec);
	pale_context_free(context);
}

static void test_no_program(void)
{
	static const char *const command[] = {"true", NULL};
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_context *context = NULL;
	struct pale_spec *spec = preset(NULL, "off");
	struct pale_run *run = NULL;
	struct pale_plan *plan = NULL;
	struct pale_event event;
	struct pale_error error;

	if (tap_on_valgrind()) {
		tap_skip("the exec of a vfork does not report back");
		pale_spec_free(spec);
		return;
	}
	request.argv = command;
	pale_context_new("/no/such/pale", &context, NULL);
	tap_ok(pale_spawn(context, spec, &request, &run, &error) == -ENOENT && !run &&
		       strstr(error.message, "/no/such/pale") && error.hint[0],
	       "without pale nothing is run: %s", error.message);
	tap_ok(pale_plan_new(context, spec, &request, &plan, NULL) == -ENOENT && !plan,
	       "nor planned");
	tap_ok(pale_probe(context, NULL, NULL) == -ENOENT, "nor said to work");
	tap_ok(pale_events(context, 0, &event, 1) == 0, "nor recorded");
	request.fds[1] = 12345;
	tap_ok(pale_spawn(context, spec, &request, &run, &error) == -EBADF,
	       "a descriptor that is not open: %s", error.message);
	pale_spec_free(spec);
	pale_context_free(context);
}

static void test_current(void)
{
	struct pale_spec *spec = NULL;
	struct pale_error error;

	if (access("/run/.pale/spec", F_OK) == 0) {
		tap_skip("this test runs inside a sandbox");
		return;
	}
	tap_ok(pale_spec_current(&spec, &error) == -ENOENT && !spec, "%s", error.message);
}

/* Something that is not pale, under the name of it. */
static void test_liar(void)
{
	static const char *const command[] = {"true", NULL};
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_context *context = NULL;
	struct pale_spec *spec = preset(NULL, "off");
	struct pale_run *run = NULL;
	struct pale_event events[4];
	struct pale_error error;

	if (tap_on_valgrind()) {
		tap_skip("needs pidfd_open");
		pale_spec_free(spec);
		return;
	}
	request.argv = command;
	request.fds[0] = request.fds[1] = request.fds[2] = -1;
	pale_context_new("/bin/true", &context, NULL);
	tap_ok(pale_spawn(context, spec, &request, &run, NULL) == 0, "it starts");
	tap_ok(pale_run_outcome(run) == PALE_RUNNING && pale_run_status(run) == -1 &&
		       !*pale_run_json(run) && !pale_run_error(run, NULL),
	       "before the end there is no result");
	tap_ok(pale_run_kill(run, SIGALRM, &error) == -EINVAL, "%s", error.message);
	tap_ok(pale_run_wait(run, 10000, NULL) == 0 && pale_run_outcome(run) == PALE_ERROR &&
		       pale_run_status(run) == 125,
	       "a program that gives no result is an error, not a success");
	tap_ok(pale_run_error(run, &error) == 1 && strstr(pale_run_json(run), "\"error\""),
	       "that says so: %s", error.message);
	tap_ok(pale_run_kill(run, SIGTERM, NULL) == -ESRCH, "what has ended cannot be signalled");
	tap_ok(pale_run_wait(run, 0, NULL) == 0, "but waited for again");
	pale_context_free(context);
	tap_ok(pale_events(context, 0, events, 4) == 2 && events[0].kind == PALE_EVENT_START &&
		       events[1].kind == PALE_EVENT_EXIT && events[1].outcome == PALE_ERROR &&
		       events[1].number == 2 && events[1].run == 1 && events[1].time_ms > 0,
	       "a run keeps its context, and both events are there");
	pale_run_free(run);
	pale_spec_free(spec);
}

/* Whatever pale says is wrong, a caller is told by a code of the header. */
static void test_codes(const char *workspace)
{
	static const struct {
		const char *said;
		int code, errnum;
	} cases[] = {
		{"system", PALE_CODE_SYSTEM, EIO},
		{"not_executable", PALE_CODE_NOT_EXECUTABLE, EACCES},
		{"no_namespaces", PALE_CODE_UNSUPPORTED, ENOTSUP},
		{"no_idmap", PALE_CODE_UNSUPPORTED, ENOTSUP},
		{"lost", PALE_CODE_SYSTEM, EIO},
		{"of a later version", PALE_CODE_SYSTEM, EIO},
	};
	static const char *const command[] = {"true", NULL};
	struct pale_request request = PALE_REQUEST_INIT;
	char program[64];

	if (tap_on_valgrind()) {
		tap_skip("needs pidfd_open");
		return;
	}
	snprintf(program, sizeof(program), "%s/pale", workspace);
	request.argv = command;
	request.fds[0] = request.fds[1] = request.fds[2] = -1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pale_context *context = NULL;
		struct pale_spec *spec = preset(NULL, "off");
		struct pale_plan *plan = NULL;
		struct pale_error error = {0};
		FILE *file = fopen(program, "w");

		fprintf(file,
			"#!/bin/sh\necho '{\"outcome\":\"error\",\"error\":{\"code\":\"%s\","
			"\"message\":\"m\"}}' >&4\n",
			cases[i].said);
		fclose(file);
		chmod(program, 0755);
		pale_context_new(program, &context, NULL);
		tap_eq_int(pale_plan_new(context, spec, &request, &plan, &error), -cases[i].errnum,
			   cases[i].said);
		tap_eq_int(error.code, cases[i].code, "as a code that a caller knows");
		pale_context_free(context);
		pale_spec_free(spec);
	}
	unlink(program);
}

static void test_ring(void)
{
	static const char *const command[] = {"true", NULL};
	static struct pale_event events[2 * PALE_EVENTS_MAX];
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_context *context = NULL;
	struct pale_spec *spec = preset(NULL, "off");
	size_t n, in_order = 1;

	if (tap_on_valgrind()) {
		tap_skip("needs pidfd_open");
		pale_spec_free(spec);
		return;
	}
	request.argv = command;
	request.fds[0] = request.fds[1] = request.fds[2] = -1;
	pale_context_new("/bin/true", &context, NULL);
	for (int i = 0; i < 150; i++) {
		struct pale_run *run = NULL;

		if (pale_spawn(context, spec, &request, &run, NULL) < 0)
			break;
		pale_run_free(run);
	}
	n = pale_events(context, 0, events, 2 * PALE_EVENTS_MAX);
	for (size_t i = 1; i < n; i++)
		in_order += events[i].number == events[i - 1].number + 1;
	tap_ok(n == PALE_EVENTS_MAX && in_order == n && events[n - 1].number == 300,
	       "of 300 events the last %zu are kept, in order", n);
	tap_ok(pale_events(context, 298, events, 100) == 2 && events[0].number == 299,
	       "a reader goes on where it was");
	tap_ok(pale_events(context, 300, events, 100) == 0, "and sees when there is no more");
	pale_spec_free(spec);
	pale_context_free(context);
}

#define THREADS 8

struct worker {
	const struct pale_spec *shared;
	const char *workspace;
	int rounds, done;
};

static void *work(void *data)
{
	struct worker *w = data;

	for (int i = 0; i < w->rounds; i++) {
		struct pale_spec *a = preset(w->workspace, presets[(size_t)i % PRESETS]);
		struct pale_spec *b = NULL, *meet = NULL;
		struct pale_error error;
		char *text = NULL;
		bool good;

		good = pale_spec_set(a, "nonsense", "1", &error) == -EINVAL &&
		       pale_spec_set(a, "pids", "77", NULL) == 0 &&
		       pale_spec_add(a, "paths_hidden", "~/x", NULL) == 0 &&
		       pale_spec_meet(a, w->shared, &meet, NULL) == 0 &&
		       pale_spec_text(meet, &text, NULL) == 0 &&
		       pale_spec_from_toml(NULL, text, &b, NULL) == 0 && same(meet, b) &&
		       pale_spec_leq(meet, w->shared);
		w->done += good;
		free(text);
		pale_spec_free(a);
		pale_spec_free(b);
		pale_spec_free(meet);
	}
	return NULL;
}

static void test_threads(const char *workspace)
{
	struct pale_spec *shared = preset(workspace, "build");
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	int rounds = getenv("PALE_QUICK") ? 10 : 200, done = 0;

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.shared = shared, .workspace = workspace, .rounds = rounds};
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		done += workers[i].done;
	}
	tap_eq_int(done, THREADS * rounds, "%d threads do %d rounds each", THREADS, rounds);
	pale_spec_free(shared);
}

int main(void)
{
	char workspace[] = "/tmp/pale-libpale-XXXXXX";

	if (!mkdtemp(workspace))
		return 1;
	setenv("HOME", "/home/somebody", 1);
	tap_ok(strlen(pale_version()) >= 5, "version %s", pale_version());
	tap_eq_str(pale_outcome_name(PALE_REFUSED), "refused", "outcomes have names");
	tap_eq_str(pale_outcome_name(PALE_RUNNING), "running", "all of them");
	tap_eq_str(pale_outcome_name((enum pale_outcome)99), "unknown", "even those to come");
	test_zero();
	test_set();
	test_lists(workspace);
	test_errors();
	test_text(workspace);
	test_defaults();
	test_meet(workspace);
	test_no_workspace();
	test_argv(workspace);
	test_growth();
	test_no_program();
	test_current();
	test_liar();
	test_codes(workspace);
	test_ring();
	test_threads(workspace);
	rmdir(workspace);
	return tap_done();
}
