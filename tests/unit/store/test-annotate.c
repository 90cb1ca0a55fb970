/* SPDX-License-Identifier: MIT */
/* annotate: what an annotator may answer, and what of it is kept. */
#include "store/annotate.h"
#include "store-test.h"

#include "base/cleanup.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		const char *want; /* "type display data", or the beginning of the message */
	} rows[] = {
		{"{\"type\":\"a\",\"display\":\"inline\",\"data\":{\"x\":[1, 2]}}",
		 "a inline {\"x\":[1,2]}"},
		{" {\"display\":\"detail\", \"type\":\"a.b-c_d9\"}\n", "a.b-c_d9 detail -"},
		{"{\"type\":\"a\",\"display\":\"hidden\",\"data\":null}", "a hidden -"},
		{"{\"type\":\"a\",\"display\":\"hidden\",\"data\":\"t\\u00e4xt\",\"more\":1}",
		 "a hidden \"täxt\""},
		{"", "none hidden -"},
		{" \n\t", "none hidden -"},
		{"null", "its answer is no JSON"},
		{"[]", "its answer is no JSON object"},
		{"\"x\"", "its answer is no JSON"},
		{"{}", "\"type\" is not"},
		{"{\"type\":\"\",\"display\":\"inline\"}", "\"type\" is not"},
		{"{\"type\":7,\"display\":\"inline\"}", "\"type\" is not"},
		{"{\"type\":\"a b\",\"display\":\"inline\"}", "\"type\" is not"},
		{"{\"type\":\"a\"}", "\"display\" is not"},
		{"{\"type\":\"a\",\"display\":\"INLINE\"}", "\"display\" is not"},
		{"{\"type\":\"a\",\"type\":\"b\",\"display\":\"inline\"}", "its answer is no JSON"},
		{"{\"type\":\"a\",\"display\":\"inline\"} x", "its answer is no JSON"},
		{"{\"type\":\"a\",\"display\":\"inline\"", "its answer is no JSON"},
	};

	for (size_t i = 0; i < array_len(rows); i++) {
		_cleanup_(annotation_release) struct annotation got = {0};
		_cleanup_(freep) char *text = NULL;
		struct err why = {0};
		int r = annotation_parse(rows[i].text, strlen(rows[i].text), &got, &why);

		text = r < 0 ? strndup(why.message, strlen(rows[i].want))
			     : str_printf("%s %s %s", got.type, got.display,
					  got.data ? got.data : "-");
		tap_eq_str(text, rows[i].want, "answer %s", rows[i].text);
	}
}

static void say(struct store *store, int64_t event, const char *annotator, const char *answer)
{
	_cleanup_(annotation_release) struct annotation annotation = {0};

	if (answer)
		annotation_parse(answer, strlen(answer), &annotation, NULL);
	else
		annotation_fail("it \"failed\"", &annotation);
	annotation.event = event;
	annotation.annotator = strdup(annotator);
	annotation.time_ms = 5;
	tap_ok(store_annotate(store, &annotation, &err) == 0, "stored");
}

/* How many events ANNOTATOR has not seen. */
static size_t open_events(struct store *store, struct unannotated_query query)
{
	struct store_event *events = NULL;
	size_t len = 0;

	query.annotator = "x";
	if (store_unannotated(store, &query, &events, &len, &err) < 0)
		tap_note("%s", err.message);
	for (size_t i = 1; i < len; i++)
		tap_ok(events[i].id > events[i - 1].id, "oldest first");
	store_events_free(events, len);
	return len;
}

static void test_store(void)
{
	struct store *store;
	struct annotation *said = NULL;
	size_t len = 0, all;

	begin();
	put_run("1a-01", "t", 1000, true, 1);
	put_run("1a-02", "t", 2000, true, 1);
	store = open_store();
	all = open_events(store, (struct unannotated_query){0});
	tap_ok(all >= 4, "nothing is annotated at first");
	tap_eq_int((long long)open_events(store, (struct unannotated_query){.max = 3}), 3,
		   "so many");
	tap_eq_int((long long)open_events(store, (struct unannotated_query){.run = "1a-02"}),
		   (long long)all / 2, "of one run");
	tap_eq_int((long long)open_events(store, (struct unannotated_query){.mishaps = true}), 0,
		   "of runs that went wrong");
	say(store, 1, "x", "{\"type\":\"a\",\"display\":\"inline\",\"data\":1}");
	say(store, 1, "b", "{\"type\":\"b\",\"display\":\"detail\"}");
	say(store, 1, "x", "{\"type\":\"c\",\"display\":\"hidden\",\"data\":[2]}");
	say(store, 2, "x", NULL);
	tap_ok(store_annotations(store, 1, &said, &len, &err) == 0 && len == 2 &&
		       str_eq(said[0].annotator, "b") && str_eq(said[1].type, "c") &&
		       str_eq(said[1].display, "hidden") && str_eq(said[1].data, "[2]") &&
		       said[1].time_ms == 5,
	       "the last word of each counts");
	annotations_free(said, len);
	tap_ok(store_annotations(store, 2, &said, &len, &err) == 0 && len == 1 &&
		       str_eq(said[0].type, "error") &&
		       str_eq(said[0].data, "{\"message\":\"it \\\"failed\\\"\"}"),
	       "a failure is kept");
	annotations_free(said, len);
	tap_ok(store_annotations(store, 99, &said, &len, &err) == 0 && len == 0, "of no event");
	annotations_free(said, len);
	tap_eq_int((long long)open_events(store, (struct unannotated_query){0}), (long long)all - 2,
		   "two are not open any more");
	tap_eq_int((long long)open_events(store, (struct unannotated_query){.failed = true}),
		   (long long)all - 1, "one that failed is, when it is asked again");
	store_close(store);
	end();
}

int main(void)
{
	test_parse();
	test_store();
	return tap_done();
}
