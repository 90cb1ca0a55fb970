/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "policy/host-rule.h"
#include "tests/tap.h"

static char *joined(const struct strv *v)
{
	struct str s = {0};

	for (size_t i = 0; i < v->len; i++)
		str_appendf(&s, "%s%s", i ? " " : "", v->items[i]);
	return s.data ? s.data : strdup("");
}

static void test_accepted(void)
{
	static const struct {
		const char *text, *rules;
	} cases[] = {
		{"example.org", "example.org:443"},
		{"Example.ORG.", "example.org:443"},
		{"example.org:80", "example.org:80"},
		{"*.Example.org:80,443", "*.example.org:80 *.example.org:443"},
		{"example.org:80,80", "example.org:80"},
		{"db:5432", "db:5432"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example:443"},
		{"_srv.my_host.example:65535", "_srv.my_host.example:65535"},
		{"3com.example", "3com.example:443"},
		{"10.1.2.3", "10.1.2.3:443"},
		{"10.1.2.3/8:5432", "10.0.0.0/8:5432"},
		{"10.1.2.3/32:1", "10.1.2.3:1"},
		{"0.0.0.0/0", "0.0.0.0/0:443"},
		{"192.168.255.255/17", "192.168.128.0/17:443"},
		{"[::1]:6379", "[::1]:6379"},
		{"[::]", "[::]:443"},
		{"[0:0:0:0:0:0:0:1]", "[::1]:443"},
		{"[2001:DB8::0:1]:80", "[2001:db8::1]:80"},
		{"[2001:db8:0:1:1:1:1:1]", "[2001:db8:0:1:1:1:1:1]:443"},
		{"[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]:443"},
		{"[1:0:0:2:2:0:0:3]", "[1::2:2:0:0:3]:443"},
		{"[1:2:3:4:5:6:0:0]", "[1:2:3:4:5:6::]:443"},
		{"[fd00::1:2/8]:80,81", "[fd00::/8]:80 [fd00::/8]:81"},
		{"[::/0]", "[::/0]:443"},
		{"[::1.2.3.4]", "[::102:304]:443"},
		{"[::ffff:1.2.3.4]:22", "1.2.3.4:22"},
		{"[::ffff:10.1.2.3/104]:22", "10.0.0.0/8:22"},
		{"[::ffff:10.1.2.3/95]:22", "[::fffe:0:0/95]:22"},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(strv_release) struct strv rules = {0}, again = {0};
		_cleanup_(freep) char *got = NULL;
		struct err err = {0};
		int r = host_rule_parse(cases[i].text, &rules, &err);

		got = joined(&rules);
		tap_ok(r == 0 && str_eq(got, cases[i].rules), "%s becomes %s", cases[i].text,
		       cases[i].rules);
		if (r < 0 || !str_eq(got, cases[i].rules))
			tap_note("got '%s' %s", got, err.message);
		for (size_t k = 0; k < rules.len; k++)
			host_rule_parse(rules.items[k], &again, NULL);
		tap_ok(strv_eq(&rules, &again), "and is canonical");
	}
}

static void refused(const char *text, const char *what)
{
	_cleanup_(strv_release) struct strv rules = {0};
	struct err err = {0};
	_cleanup_(str_release) struct str shown = {0};
	int r;

	strv_add(&rules, "kept.example:443");
	str_append_escaped(&shown, text, strnlen(text, 40));
	r = host_rule_parse(text, &rules, &err);
	if (!tap_ok(r == -EINVAL && err.code == ERR_CONFIG && rules.len == 1 &&
			    (strstr(err.message, what) || strstr(err.hint, what)),
		    "refused (%s): %s", what, str_text(&shown)))
		tap_note("%s | %s", err.message, err.hint);
}

static void test_refused(void)
{
	static const char *const cases[][2] = {
		{"", "empty"},
		{"*", "network = \"unrestricted\""},
		{"*:80", "network = \"unrestricted\""},
		{"*.org", "*.example.org"},
		{"*.org.", "*.example.org"},
		{"*.", "every host"},
		{"a.*.example.org", "leftmost"},
		{"a*.example.org", "leftmost"},
		{"**.example.org", "leftmost"},
		{"*.*.example.org", "leftmost"},
		{"https://example.org", "scheme"},
		{"user@example.org", "user name"},
		{"user:pass@example.org", "user name"},
		{"example.org/path", "path"},
		{"exa mple.org", "blanks"},
		{" example.org", "blanks"},
		{"example.org\n", "blanks"},
		{"example.org\r", "blanks"},
		{"example.org\t:443", "blanks"},
		{"example.org: 443", "blanks"},
		{"@packages", "user name"},
		{"*.com", "*.example.org"},
		{"*.com:443", "*.example.org"},
		{"*example.org", "leftmost"},
		{"example.org:1-65535", "65535"},
		{"example.org:*", "65535"},
		{"example.org:https", "65535"},
		{"example\x7f.org", "blanks"},
		{"\x01.org", "control"},
		{"b\xc3\xbc"
		 "cher.example",
		 "punycode"},
		{"\xff.example", "ASCII"},
		{"a%2eb.example", "%"},
		{"[fe80::1%eth0]", "%"},
		{"a..b", "empty"},
		{".a.b", "empty"},
		{"a.b..", "empty"},
		{".", "empty"},
		{"-a.example", "hyphen"},
		{"a-.example", "hyphen"},
		{"a!.example", "letters"},
		{"example.org:0", "65535"},
		{"example.org:65536", "65535"},
		{"example.org:080", "65535"},
		{"example.org:", "65535"},
		{"example.org:80,", "65535"},
		{"example.org:,80", "65535"},
		{"example.org:+80", "65535"},
		{"example.org:80-90", "65535"},
		{"example.org:99999999999999999999", "65535"},
		{":443", "no host"},
		{"::1", "brackets"},
		{"[::1", "]"},
		{"[::1]80", "]"},
		{"[fd00::]/8", "[ADDRESS/BITS]"},
		{"[]", "IPv6"},
		{"[1.2.3.4]", "IPv6"},
		{"[example.org]", "IPv6"},
		{"[::1/129]", "IPv6"},
		{"[::1/]", "IPv6"},
		{"[::1/08]", "IPv6"},
		{"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]", "IPv6"},
		{"1.2.3", "IPv4"},
		{"1.2.3.4.5", "IPv4"},
		{"1.2.3.4.", "IPv4"},
		{"256.1.1.1", "IPv4"},
		{"010.1.1.1", "IPv4"},
		{"2130706433", "IPv4"},
		{"1.2.3.4/33", "IPv4"},
		{"1.2.3.4/", "IPv4"},
		{"1.2.3.4/08", "IPv4"},
		{"0x7f.1", "number"},
		{"0x7f000001", "number"},
		{"example.0x1f", "number"},
		{"a.example.12", "number"},
	};
	char label[80] = {0}, name[300] = {0};

	for (size_t i = 0; i < array_len(cases); i++)
		refused(cases[i][0], cases[i][1]);
	memset(label, 'a', 64);
	refused(label, "63");
	for (size_t i = 0; i < 254; i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	refused(name, "253");
}

static void test_longest(void)
{
	_cleanup_(strv_release) struct strv rules = {0};
	char name[300] = {0};

	for (size_t i = 0; i < 253; i++)
		name[i] = i % 64 == 63 ? '.' : 'a';
	tap_ok(host_rule_parse(name, &rules, NULL) == 0,
	       "labels of 63 and a name of 253 characters are accepted");
}

static void test_message_is_escaped(void)
{
	_cleanup_(strv_release) struct strv rules = {0};
	struct err err = {0};

	host_rule_parse("a\x1b[2Jb", &rules, &err);
	tap_ok(!strchr(err.message, '\x1b'), "control bytes do not reach the message");
}

static void test_covers(void)
{
	static const struct {
		const char *wide, *narrow;
		bool covers;
	} cases[] = {
		{"a.example.org:443", "a.example.org:443", true},
		{"a.example.org:443", "a.example.org:80", false},
		{"example.org:443", "a.example.org:443", false},
		{"*.example.org:443", "a.example.org:443", true},
		{"*.example.org:443", "b.a.example.org:443", true},
		{"*.example.org:443", "*.a.example.org:443", true},
		{"*.example.org:443", "*.example.org:443", true},
		{"*.a.example.org:443", "*.example.org:443", false},
		{"*.example.org:443", "example.org:443", false},
		{"*.example.org:443", "evilexample.org:443", false},
		{"*.example.org:443", "a.example.org:4443", false},
		{"*.example.org:443", "a.example.org.evil.net:443", false},
		{"10.0.0.0/8:80", "10.2.3.4:80", true},
		{"10.0.0.0/8:80", "10.2.0.0/16:80", true},
		{"10.2.0.0/16:80", "10.0.0.0/8:80", false},
		{"10.0.0.0/8:80", "11.0.0.0/8:80", false},
		{"10.0.0.0/9:80", "10.128.0.0:80", false},
		{"0.0.0.0/0:80", "1.2.3.4:80", true},
		{"0.0.0.0/0:80", "[::1]:80", false},
		{"[::/0]:80", "1.2.3.4:80", false},
		{"[fd00::/8]:80", "[fd12::1]:80", true},
		{"[fd00::/8]:80", "[fd12::/16]:80", true},
		{"[fd00::/8]:80", "[fe80::1]:80", false},
		{"[::/96]:80", "[::1]:80", true},
		{"0.0.0.0/0:80", "example.org:80", false},
		{"*.example.org:80", "1.2.3.4:80", false},
	};

	for (size_t i = 0; i < array_len(cases); i++)
		tap_ok(host_rule_covers(cases[i].wide, cases[i].narrow) == cases[i].covers,
		       "%s %s %s", cases[i].wide, cases[i].covers ? "covers" : "does not cover",
		       cases[i].narrow);
}

int main(void)
{
	test_accepted();
	test_refused();
	test_longest();
	test_message_is_escaped();
	test_covers();
	return tap_done();
}
