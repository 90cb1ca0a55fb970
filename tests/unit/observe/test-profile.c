/* SPDX-License-Identifier: MIT */
#include "observe/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "tap.h"

static void test_counts(void)
{
	struct profile p = {0};
	char path[64];
	bool good = true;

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 3000; i++) {
			snprintf(path, sizeof(path), "/p/%d", i);
			good &= profile_add_path(&p, path, round ? PROFILE_WRITE : PROFILE_READ) ==
				0;
		}
	tap_ok(good && p.paths_len == 3000, "each path is there once");
	for (size_t i = 0; i < p.paths_len; i++)
		good &= p.paths[i].count == 2 && p.paths[i].what == (PROFILE_READ | PROFILE_WRITE);
	tap_ok(good, "with all that was done to it, counted");
	profile_add_connection(&p, "127.0.0.1", 80);
	profile_add_connection(&p, "127.0.0.1", 80);
	profile_add_connection(&p, "127.0.0.1", 81);
	tap_ok(p.connections_len == 2 && p.connections[0].count == 2, "connections likewise");
	profile_release(&p);
	tap_ok(p.paths_len == 0 && !p.paths, "and all of it can go");
}

static void test_bounds(void)
{
	struct profile p = {0};
	char path[64];

	for (int i = 0; i < PROFILE_PATHS_MAX + 10; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		profile_add_path(&p, path, PROFILE_READ);
	}
	for (int i = 0; i < PROFILE_CONNECTIONS_MAX + 5; i++)
		profile_add_connection(&p, "192.0.2.1", (unsigned)i + 1);
	profile_add_path(&p, "/1", PROFILE_READ);
	tap_ok(p.paths_len == PROFILE_PATHS_MAX && p.connections_len == PROFILE_CONNECTIONS_MAX,
	       "it does not grow without end");
	tap_eq_int((long long)p.dropped, 15, "what found no room is counted");
	tap_eq_int((long long)p.paths[1].count, 2, "what has its place is counted there");
	profile_release(&p);
}

/* A name may be as long as the kernel takes it. */
static void test_long_names(void)
{
	struct profile p = {0};
	char path[4096];

	memset(path, 'x', sizeof(path));
	for (int i = 0; i < 4096; i++) {
		snprintf(path, sizeof(path), "/%04d", i);
		path[5] = 'x';
		path[sizeof(path) - 1] = '\0';
		profile_add_path(&p, path, PROFILE_READ);
	}
	tap_ok(p.paths_len == PROFILE_BYTES_MAX / sizeof(path), "nor by long names");
	tap_eq_int((long long)p.dropped, 4096 - PROFILE_BYTES_MAX / (long long)sizeof(path),
		   "what found no room is counted");
	profile_release(&p);
}

static void test_round_trip(void)
{
	struct profile p = {.spawns = 3, .dropped = 1}, back = {0};
	_cleanup_(str_release) struct str first = {0}, second = {0};
	struct json json = {.out = &first};

	profile_add_path(&p, "/a \"b\"\n", PROFILE_READ | PROFILE_EXECUTE);
	profile_add_path(&p, "/ü", PROFILE_CREATE | PROFILE_REMOVE | PROFILE_WRITE);
	profile_add_connection(&p, "::1", 443);
	profile_add_connection(&p, "/run/x", 0);
	profile_add_peer(&p, "a.test", 443, PROFILE_REACHED);
	profile_add_peer(&p, "a.test", 443, PROFILE_REFUSED);
	profile_add_peer(&p, "b.test", 0, PROFILE_REFUSED);
	profile_json(&p, NULL, &json);
	tap_ok(json_finish(&json) == 0, "as JSON");
	tap_note("%s", str_text(&first));
	tap_eq_int(profile_parse(first.data, first.len, &back, NULL), 0, "and back");
	tap_ok(back.paths_len == 2 && back.connections_len == 4 && back.spawns == 3 &&
		       back.dropped == 1 && strcmp(back.paths[0].path, "/a \"b\"\n") == 0,
	       "what it was");
	tap_ok(back.connections[0].how == 0 &&
		       back.connections[2].how == (PROFILE_REACHED | PROFILE_REFUSED) &&
		       back.connections[2].count == 2 && back.connections[3].how == PROFILE_REFUSED,
	       "with what became of connections");
	json = (struct json){.out = &second};
	profile_json(&back, NULL, &json);
	json_finish(&json);
	tap_eq_str(str_text(&second), str_text(&first), "to the byte");
	profile_release(&p);
	profile_release(&back);
}

static void test_broken(void)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[]",
		"{\"paths\":[]}",
		"{\"paths\":[{}],\"connections\":[]}",
		"{\"paths\":[{\"path\":3}],\"connections\":[]}",
		"{\"paths\":[],\"connections\":[{\"port\":1}]}",
		"{\"paths\":[{\"path\":\"/a\"",
	};
	struct profile back = {0};
	struct err err;

	for (size_t i = 0; i < array_len(texts); i++)
		tap_ok(profile_parse(texts[i], strlen(texts[i]), &back, &err) == -EBADMSG &&
			       back.paths_len == 0,
		       "no profile: %s", texts[i]);
}

int main(void)
{
	test_counts();
	test_bounds();
	test_long_names();
	test_round_trip();
	test_broken();
	return tap_done();
}
