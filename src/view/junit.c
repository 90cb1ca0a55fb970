/* SPDX-License-Identifier: MIT */
#include "view/junit.h"

#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "view/xml.h"

/* The first failed append is the result. */
struct writer {
	struct str *out;
	int error;
};

static void put(struct writer *w, const char *text)
{
	if (w->error == 0)
		w->error = str_append(w->out, text);
}

static void put_escaped(struct writer *w, const char *text, size_t len)
{
	if (w->error == 0)
		w->error = xml_append(w->out, text, len);
}

static void put_attribute(struct writer *w, const char *name, const char *value)
{
	_cleanup_(str_release) struct str line = {0};

	/* A parser would make blanks of these. */
	if (w->error == 0)
		w->error = str_append_escaped(&line, value, strlen(value));
	put(w, " ");
	put(w, name);
	put(w, "=\"");
	put_escaped(w, str_text(&line), line.len);
	put(w, "\"");
}

static void put_number(struct writer *w, const char *name, size_t value)
{
	if (w->error == 0)
		w->error = str_appendf(w->out, " %s=\"%zu\"", name, value);
}

static void put_time(struct writer *w, uint64_t ms)
{
	if (w->error == 0)
		w->error = str_appendf(w->out, " time=\"%llu.%03u\"",
				       (unsigned long long)(ms / 1000), (unsigned)(ms % 1000));
}

static void put_verdict(struct writer *w, const struct junit_case *at)
{
	static const char *const tags[] = {
		[JUNIT_FAILURE] = "failure", [JUNIT_ERROR] = "error", [JUNIT_SKIPPED] = "skipped"};

	if (at->kind == JUNIT_PASSED)
		return;
	put(w, "\n   <");
	put(w, tags[at->kind]);
	if (at->message)
		put_attribute(w, "message", at->message);
	if (at->type && at->kind != JUNIT_SKIPPED)
		put_attribute(w, "type", at->type);
	put(w, "/>");
}

static void put_case(struct writer *w, const char *suite, const struct junit_case *at)
{
	put(w, "  <testcase");
	put_attribute(w, "classname", suite);
	put_attribute(w, "name", at->name);
	put_time(w, at->duration_ms);
	put(w, ">");
	put_verdict(w, at);
	if (at->output) {
		put(w, "\n   <system-out>");
		put_escaped(w, at->output, at->output_len);
		put(w, "</system-out>");
	}
	put(w, at->output || at->kind != JUNIT_PASSED ? "\n  </testcase>\n" : "</testcase>\n");
}

static void put_counts(struct writer *w, const struct junit_case *cases, size_t len)
{
	size_t counts[JUNIT_SKIPPED + 1] = {0};

	for (size_t i = 0; i < len; i++)
		counts[cases[i].kind]++;
	put_number(w, "tests", len);
	put_number(w, "failures", counts[JUNIT_FAILURE]);
	put_number(w, "errors", counts[JUNIT_ERROR]);
	put_number(w, "skipped", counts[JUNIT_SKIPPED]);
}

int junit_print(const char *suite, uint64_t began_ms, uint64_t duration_ms,
		const struct junit_case *cases, size_t len, struct str *out)
{
	struct writer w = {out, 0};
	time_t began = (time_t)(began_ms / 1000);
	char stamp[32] = "";
	struct tm tm;

	if (gmtime_r(&began, &tm))
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	put(&w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
	put_counts(&w, cases, len);
	put_time(&w, duration_ms);
	put(&w, ">\n <testsuite");
	put_attribute(&w, "name", suite);
	put_counts(&w, cases, len);
	put_time(&w, duration_ms);
	put_attribute(&w, "timestamp", stamp);
	put(&w, ">\n");
	for (size_t i = 0; i < len; i++)
		put_case(&w, suite, &cases[i]);
	put(&w, " </testsuite>\n</testsuites>\n");
	return w.error;
}
