/* SPDX-License-Identifier: MIT */
/* evidence: what is kept of a rehearsal comes back as it was; nothing else is believed. */
#include "learn/evidence.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "tap.h"

static void print(const struct evidence *evidence, struct str *out)
{
	struct json json = {.out = out};

	evidence_json(evidence, &json);
	json_finish(&json);
}

static int fill(struct evidence *e)
{
	const struct command command = {.cmd = "make"};
	struct violation *made;

	command_digest(&command, e->digest);
	e->asked = strdup("filesystem = \"readonly\"\n");
	e->outcome = OUTCOME_FAILED;
	e->exit_code = 2;
	e->duration_ms = 1234;
	e->usage = (struct usage){1 << 20, 17, USAGE_UNKNOWN, 4096};
	e->violations.observed = true;
	violations_add(&e->violations, "filesystem", "open", "/x \"y\"", 0, &made);
	made->rule = strdup("filesystem = \"readonly\"");
	violations_add(&e->violations, "network", "connect", "192.0.2.1:80", 0, &made);
	strv_add(&e->changed, "/w/ü\n");
	profile_add_path(&e->profile, "/w/a", PROFILE_READ | PROFILE_REMOVE);
	profile_add_connection(&e->profile, "::1", 8080);
	e->profile.spawns = 3;
	e->profile.dropped = 1;
	return 0;
}

static void test_roundtrip(void)
{
	_cleanup_(evidence_release) struct evidence e = {0}, back = {0};
	_cleanup_(str_release) struct str first = {0}, second = {0};
	struct err err = {0};

	fill(&e);
	print(&e, &first);
	tap_ok(evidence_parse(str_text(&first), first.len, &back, &err) == 0, "read back: %s",
	       err.message);
	print(&back, &second);
	tap_eq_str(str_text(&second), str_text(&first), "and the same");
	tap_eq_str(back.violations.items[1].target, "192.0.2.1:80", "with what was refused");
	tap_ok(back.usage.pids_peak == USAGE_UNKNOWN, "and what is not known");
}

/* Cut anywhere, or with a byte changed: an error or not, but never a crash. */
static void test_broken(void)
{
	_cleanup_(evidence_release) struct evidence e = {0};
	_cleanup_(str_release) struct str text = {0};
	size_t refused = 0, n = 0;

	fill(&e);
	print(&e, &text);
	for (size_t len = 0; len < text.len; len++, n++) {
		_cleanup_(evidence_release) struct evidence back = {0};

		refused += evidence_parse(str_text(&text), len, &back, NULL) < 0;
	}
	tap_ok(refused > n / 2, "cut: %zu of %zu refused", refused, n);
	n = 0;
	for (size_t at = 0; at < text.len; at++, n++) {
		_cleanup_(evidence_release) struct evidence back = {0};

		text.data[at] ^= 1;
		(void)evidence_parse(str_text(&text), text.len, &back, NULL);
		text.data[at] ^= 1;
	}
	tap_ok(n == text.len, "changed: %zu bytes, one by one", n);
}

static const struct {
	const char *name, *text;
	int r;
	const char *message; /* NULL: it is accepted */
} results[] = {
	{"it ran",
	 "{\"outcome\":\"ok\",\"exit_code\":0,\"duration_ms\":5,\"usage\":{\"memory_peak\":null},"
	 "\"violations\":null}",
	 0, NULL},
	{"it was not run",
	 "{\"outcome\":\"refused\",\"error\":{\"code\":\"trust\",\"message\":\"no trust\",\"hint\":"
	 "\"pale trust\"}}",
	 -EPERM, "no trust"},
	{"empty", "", -EBADMSG, "the result of the run is not what pale writes: it is empty"},
	{"something else", "{\"a\":1}", -EBADMSG,
	 "the result of the run is not what pale writes: outcome"},
	{"an outcome that is none", "{\"outcome\":\"fine\"}", -EBADMSG,
	 "the result of the run is not what pale writes: outcome"},
};

static void test_results(void)
{
	for (size_t i = 0; i < array_len(results); i++) {
		_cleanup_(evidence_release) struct evidence e = {0};
		struct err err = {0};

		tap_eq_int(evidence_read_result(&e, results[i].text, strlen(results[i].text), &err),
			   results[i].r, "result: %s", results[i].name);
		tap_eq_str(err.message, results[i].message ? results[i].message : "",
			   "result: %s: message", results[i].name);
	}
}

/* Only what programs merely try for is no reason to doubt. */
static const struct {
	const char *name, *text;
	bool sound;
} judged[] = {
	{"it succeeded", "{\"outcome\":\"ok\",\"violations\":[]}", true},
	{"it succeeded, and something was refused",
	 "{\"outcome\":\"ok\",\"violations\":[{\"dimension\":\"filesystem\",\"op\":\"open\"}]}",
	 true},
	{"it failed by itself", "{\"outcome\":\"failed\",\"exit_code\":1,\"violations\":[]}", true},
	{"it failed, and something was refused",
	 "{\"outcome\":\"failed\",\"violations\":[{\"dimension\":\"filesystem\",\"op\":\"open\"}]}",
	 false},
	{"it failed, and only a probe was refused",
	 "{\"outcome\":\"failed\",\"violations\":[{\"dimension\":\"filesystem\",\"op\":\"open\","
	 "\"probe\":true}]}",
	 true},
	{"it failed, and nobody looked", "{\"outcome\":\"failed\",\"violations\":null}", false},
	{"it was killed", "{\"outcome\":\"signaled\",\"violations\":[]}", false},
	{"it ran out of time", "{\"outcome\":\"timeout\",\"violations\":[]}", false},
};

static void test_judged(void)
{
	for (size_t i = 0; i < array_len(judged); i++) {
		_cleanup_(evidence_release) struct evidence e = {0};

		evidence_read_result(&e, judged[i].text, strlen(judged[i].text), NULL);
		tap_ok(evidence_is_sound(&e) == judged[i].sound, "%s: %s", judged[i].name,
		       judged[i].sound ? "evidence" : "no evidence");
	}
}

static void test_digest(void)
{
	struct command line = {.cmd = "make all"}, list = {0};
	char a[SHA256_HEX], b[SHA256_HEX];

	command_digest(&line, a);
	strv_add(&list.argv, "make");
	strv_add(&list.argv, "all");
	command_digest(&list, b);
	tap_ok(!str_eq(a, b), "a line and a list are not the same");
	strv_release(&list.argv);
	strv_add(&list.argv, "make all");
	command_digest(&list, b);
	tap_ok(!str_eq(a, b), "nor a list of one word");
	line.cmd = "make  all";
	command_digest(&line, b);
	tap_ok(!str_eq(a, b), "another line is another command");
	strv_release(&list.argv);
}

int main(void)
{
	test_roundtrip();
	test_broken();
	test_results();
	test_judged();
	test_digest();
	return tap_done();
}
