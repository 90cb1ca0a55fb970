/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "config/git-identity.h"
#include "tap.h"

static void parses(const char *text, const char *name, const char *email, const char *what)
{
	_cleanup_(git_identity_release) struct git_identity got = {0};

	tap_eq_int(git_identity_parse(text, &got), 0, "%s: parsed", what);
	tap_eq_str(got.name, name, "%s: the name", what);
	tap_eq_str(got.email, email, "%s: the address", what);
}

int main(void)
{
	parses("[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n", "Ada Lovelace",
	       "ada@example.org", "as git writes it");
	parses("[USER]\nName=Ada\r\nEMAIL=a@b\r\n", "Ada", "a@b", "any case, CRLF, no blanks");
	parses("[user]\nname = \"Ada # L\" ; poet\nemail = a@b # mine\n", "Ada # L", "a@b",
	       "quotes and comments");
	parses("[user]\nname = \"A \\\"x\\\" \\\\ B\"\n", "A \"x\" \\ B", NULL, "escapes");
	parses("[user]\nname = one\n[core]\nname = two\n[user]\nemail = e\n", "one", "e",
	       "other sections");
	parses("[user]\nname = one\nname = two\n", "two", NULL, "the last one counts");
	parses("[user \"x\"]\nname = sub\n[userx]\nname = no\n", NULL, NULL, "not quite it");
	parses("[user]\nname\nemail =\nnames = x\n", NULL, NULL, "nothing said");
	parses("[user]\nname = a\x1b[31mb\nemail = ok\n", NULL, "ok", "control characters");
	parses("name = before\n[user", NULL, NULL, "malformed");
	parses("", NULL, NULL, "empty");
	return tap_done();
}
