/* SPDX-License-Identifier: MIT */
/* suggest: hosts, ports and groups, out of what a broker let out and did not. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "config/workspace.h"
#include "learn/suggest.h"
#include "observe/profile.h"
#include "policy/lattice.h"
#include "policy/spec-text.h"
#include "tap.h"

static const struct user user = {.home = "/home/ann"};

static const struct {
	const char *name, *asked; /* TOML */
	const char *peers;        /* "NAME:PORT …"; +: reached, -: refused */
	const char *lines;        /* "key = value; …", of the network */
	const char *note;         /* part of one; NULL: no notes at all */
} cases[] = {
	{"a broker: names that are not in the list",
	 "network='allowed_hosts'\nhosts=['*.a.test','b.test:80','c.test']",
	 "+x.a.test:443 +x.a.test:443 -d.test:0",
	 "network = \"allowed_hosts\"; hosts = [\"x.a.test:443\"]; "
	 "ports = []",
	 "it wanted d.test, and was refused: hosts = [\"d.test\"] would allow it at port 443"},
	{"a broker: the group that has all of them",
	 "network='allowed_hosts'\nhosts=['g1.test','g2.test','c.test']",
	 "+g1.test:443 +g2.test:443",
	 "network = \"allowed_hosts\"; hosts = [\"@pair\"]; ports = []", NULL},
	{"a broker: a group that opens more than the run had is none",
	 "network='allowed_hosts'\nhosts=['g1.test','c.test']", "+g1.test:443 +c.test:443",
	 "network = \"allowed_hosts\"; hosts = [\"g1.test:443\", "
	 "\"c.test:443\"]; ports = []",
	 "[host_groups] NAME = [\"g1.test:443\", \"c.test:443\"]"},
	{"a broker: the loopback alone", "network='localhost'", "+127.0.0.1:5432 +::1:6379",
	 "network = \"localhost\"; ports = [5432, 6379]", NULL},
	{"a broker that let nothing out", "network='localhost'\nports=[1]",
	 "-127.0.0.1:5432 -192.0.2.1:80", "network = \"none\"",
	 "hosts = [\"192.0.2.1:80\"] would allow it"},
};

static char *pair[] = {"g1.test:443", "g2.test:443"};
static char *three[] = {"g1.test:443", "g2.test:443", "c.test:443"};
static const struct suggest_group groups[] = {{"three", {.items = three, .len = 3}},
					      {"pair", {.items = pair, .len = 2}}};

static enum path_type look(const char *path, void *data)
{
	(void)path;
	(void)data;
	return PATH_FILE;
}

static void add_peers(const char *text, struct profile *ret)
{
	_cleanup_(freep) char *copy = strdup(text);
	char *rest = NULL;

	for (char *at = strtok_r(copy, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
		char *colon = strrchr(at, ':');

		*colon = '\0';
		profile_add_peer(ret, at + 1, (unsigned)atoi(colon + 1),
				 *at == '+' ? PROFILE_REACHED : PROFILE_REFUSED);
	}
}

static bool has_note(const struct suggestion *s, const char *part)
{
	for (size_t i = 0; i < s->notes.len; i++)
		if (strstr(s->notes.items[i], part))
			return true;
	return false;
}

static void show_lines(const struct suggestion *s, struct str *out)
{
	for (size_t i = 0; i < s->lines_len; i++)
		if (s->lines[i].dim == DIM_NETWORK || s->lines[i].dim == DIM_HOSTS ||
		    s->lines[i].dim == DIM_PORTS)
			str_appendf(out, "%s%s = %s", out->len ? "; " : "",
				    dim_name(s->lines[i].dim), s->lines[i].value);
}

static void test_case(size_t i)
{
	_cleanup_(profile_release) struct profile profile = {0};
	_cleanup_(spec_release) struct spec asked = {0};
	_cleanup_(suggestion_release) struct suggestion got = {0};
	_cleanup_(str_release) struct str lines = {0};
	const struct strv changed = {0};
	const struct suggest_input in = {.asked = &asked,
					 .user = &user,
					 .profile = &profile,
					 .changed = &changed,
					 .groups = groups,
					 .groups_len = array_len(groups),
					 .look = look};
	struct err err = {0};

	add_peers(cases[i].peers, &profile);
	if (!tap_ok(spec_parse(cases[i].asked, "/home/ann/w", &user, &asked, &err) == 0 &&
			    suggest(&in, &got, &err) == 0,
		    "%s", cases[i].name)) {
		tap_note("%s", err.message);
		return;
	}
	show_lines(&got, &lines);
	tap_eq_str(str_text(&lines), cases[i].lines, "%s: lines", cases[i].name);
	tap_ok(cases[i].note ? has_note(&got, cases[i].note) : got.notes.len == 0, "%s: notes",
	       cases[i].name);
	tap_ok(spec_excess(&got.spec, &asked) == 0, "%s: within what was asked for", cases[i].name);
}

int main(void)
{
	for (size_t i = 0; i < array_len(cases); i++)
		test_case(i);
	return tap_done();
}
