/* SPDX-License-Identifier: MIT */
/* remedy: the smallest rule for a refused attempt, and what no rule may open. */
#include <errno.h>

#include "config/toml.h"
#include "config/value.h"
#include "files.h"
#include "policy/lattice.h"
#include "policy/remedy.h"
#include "policy/spec-text.h"
#include "tap.h"

/* `{}` is the scratch folder; the workspace is {}/ws, the home {}/home. */
struct row {
	const char *name, *spec, *dimension, *op, *target;
	/* "KEY = VALUE", "KEY += ITEM", "OPTION" when no key does it; NULL: not possible */
	const char *rule;
	const char *option; /* or, when it is not possible, part of the reason */
};

static const struct row rows[] = {
	/* files of the workspace */
	{"a file that exists is opened alone", "filesystem = 'readonly'", "filesystem", "open",
	 "{}/ws/src/a.c", "paths_writable += \"src/a.c\"", "--write {}/ws/src/a.c"},
	{"a new one takes its folder", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/ws/src/new.c", "paths_writable += \"src\"", "--write {}/ws/src"},
	{"O_CREAT of what exists takes the file", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/ws/src/a.c", "paths_writable += \"src/a.c\"", "--write {}/ws/src/a.c"},
	{"removing takes the folder", "filesystem = 'readonly'", "filesystem", "unlink",
	 "{}/ws/src/a.c", "paths_writable += \"src\"", "--write {}/ws/src"},
	{"so does renaming", "filesystem = 'readonly'", "filesystem", "rename", "{}/ws/src/a.c",
	 "paths_writable += \"src\"", "--write {}/ws/src"},
	{"also of a file that may be written",
	 "filesystem = 'readonly'\npaths_writable = ['src/a.c']", "filesystem", "rename",
	 "{}/ws/src/a.c", "paths_writable += \"src\"", "--write {}/ws/src"},
	{"at the top it is the workspace", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/ws/out.txt", "filesystem = \"workspace_only\"", "--filesystem workspace_only"},
	{"in scoped_write a rule", "filesystem = 'scoped_write'", "filesystem", "create",
	 "{}/ws/out.txt", "paths_writable += \".\"", "--write {}/ws"},
	{"with ephemeral there is none", "filesystem = 'readonly'\nephemeral = true", "filesystem",
	 "create", "{}/ws/out.txt", NULL, "ephemeral"},
	{"a folder that is not there", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/ws/no/such/file", NULL, "does not exist"},
	{"what is allowed already", "filesystem = 'workspace_only'", "filesystem", "open",
	 "{}/ws/src/a.c", NULL, "the policy allows it"},
	{"reading", "filesystem = 'none'", "filesystem", "read", "{}/ws/src/a.c",
	 "paths_readable += \"src/a.c\"", "--read {}/ws/src/a.c"},
	{"reading a folder", "filesystem = 'none'", "filesystem", "list", "{}/ws/src",
	 "paths_readable += \"src\"", "--read {}/ws/src"},
	/* names */
	{"a blank", "filesystem = 'readonly'", "filesystem", "open", "{}/ws/src/a b",
	 "paths_writable += \"src/a b\"", "--write '{}/ws/src/a b'"},
	{"a quote", "filesystem = 'readonly'", "filesystem", "open", "{}/ws/src/it's",
	 "paths_writable += \"src/it's\"", "--write '{}/ws/src/it'\\''s'"},
	{"an escape character", "filesystem = 'readonly'", "filesystem", "open",
	 "{}/ws/src/\033[2J", "paths_writable += \"src/\\u001B[2J\"",
	 "--write $'{}/ws/src/\\x1b[2J'"},
	{"not UTF-8: the option alone", "filesystem = 'readonly'", "filesystem", "open",
	 "{}/ws/src/\377", "paths_writable += ", "--write $'{}/ws/src/\\xff'"},
	{"a tilde", "filesystem = 'readonly'", "filesystem", "open", "{}/ws/~x",
	 "paths_writable += \"./~x\"", "--write '{}/ws/~x'"},
	{"what a program of no table obeys", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/home/.config/x/env.sh", NULL, "may obey"},
	{"hooks of another repository", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/home/proj/.git/hooks/x", NULL, "may obey"},
	{"what would be a variable", "filesystem = 'readonly'", "filesystem", "open",
	 "{}/ws/src/$X", NULL, "no rule can name"},
	{"what would be a pattern", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/ws/src/**/x", NULL, "no rule can name"},
	/* protections */
	{"policy", "filesystem = 'workspace_only'", "filesystem", "open", "{}/ws/pale.toml",
	 "OPTION", "--staged"},
	{"hooks", "filesystem = 'workspace_only'", "filesystem", "create", "{}/ws/.git/hooks/x",
	 "OPTION", "--staged"},
	{"hooks of a submodule", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/ws/.git/modules/m/hooks/x", "OPTION", "--staged"},
	{"git's other files are files", "filesystem = 'readonly'", "filesystem", "create",
	 "{}/ws/.git/refs/config", "paths_writable += \".git/refs\"", "--write {}/ws/.git/refs"},
	{"editors", "filesystem = 'readonly'", "filesystem", "create", "{}/ws/.vscode/tasks.json",
	 "OPTION", "--staged"},
	{"only at the top", "filesystem = 'readonly'", "filesystem", "open", "{}/ws/src/.envrc",
	 "paths_writable += \"src/.envrc\"", "--write {}/ws/src/.envrc"},
	{"hidden by a rule", "filesystem = 'readonly'\npaths_hidden = ['src']", "filesystem",
	 "open", "{}/ws/src/a.c", NULL, "paths_hidden"},
	{"hidden through a link", "filesystem = 'readonly'\npaths_hidden = ['src']", "filesystem",
	 "open", "{}/ws/link-to-src/a.c", NULL, "paths_hidden"},
	{"hidden by .paleignore", "filesystem = 'readonly'", "filesystem", "open",
	 "{}/ws/secret.key", NULL, ".paleignore"},
	{"kernel files", "filesystem = 'readonly'", "filesystem", "open",
	 "/proc/sys/kernel/core_pattern", NULL, "sandbox's own"},
	{"devices", "filesystem = 'readonly'", "filesystem", "open", "/dev/sda", NULL,
	 "sandbox's own"},
	/* outside */
	{"a file outside", "filesystem = 'workspace_only'", "filesystem", "open",
	 "{}/other/data.txt", "paths_writable += \"{}/other/data.txt\"",
	 "--write {}/other/data.txt"},
	{"a new one outside", "filesystem = 'workspace_only'", "filesystem", "create",
	 "{}/other/new.txt", "paths_writable += \"{}/other\"", "--write {}/other"},
	{"in the home", "filesystem = 'workspace_only'", "filesystem", "create", "{}/home/proj/x",
	 "paths_writable += \"~/proj\"", "--write ~/proj"},
	{"the whole home", "filesystem = 'workspace_only'", "filesystem", "create", "{}/home/x",
	 NULL, "whole home"},
	{"around the workspace", "filesystem = 'workspace_only'", "filesystem", "create", "{}/x",
	 NULL, "around the workspace"},
	{"the whole filesystem", "filesystem = 'workspace_only'", "filesystem", "create", "/x",
	 NULL, "around the workspace"},
	{"keys", "filesystem = 'workspace_only'", "filesystem", "open", "{}/home/.ssh/id", NULL,
	 "credentials"},
	{"keys through a link of the workspace", "filesystem = 'readonly'", "filesystem", "open",
	 "{}/ws/link-to-ssh/id", NULL, "credentials"},
	{"a link of the workspace to a folder outside", "filesystem = 'readonly'", "filesystem",
	 "create", "{}/ws/link-to-other/x", "paths_writable += \"{}/other\"", "--write {}/other"},
	{"start-up files", "filesystem = 'workspace_only'", "filesystem", "open", "{}/home/.bashrc",
	 NULL, "programs outside"},
	{"pale's own", "filesystem = 'workspace_only'", "filesystem", "open",
	 "{}/home/.config/pale/pale.toml", NULL, "pale itself"},
	{"the system's", "filesystem = 'workspace_only'", "filesystem", "create", "/etc/new-file",
	 NULL, "every user"},
	{"passwords", "filesystem = 'workspace_only'", "filesystem", "open", "/etc/shadow", NULL,
	 "system alone"},
	{"a cache", "filesystem = 'workspace_only'", "filesystem", "create",
	 "{}/home/.cache/go-build/aa/bb", "caches += \"~/.cache/go-build\"",
	 "--cache ~/.cache/go-build"},
	{"a cache", "filesystem = 'workspace_only'", "filesystem", "create", "{}/home/.cache/list",
	 "caches += \"~/.cache\"", "--cache ~/.cache"},
	{"a cache in a toolchain", "filesystem = 'workspace_only'", "filesystem", "mkdir",
	 "{}/home/.cargo/registry/x", "caches += \"~/.cargo/registry\"",
	 "--cache ~/.cargo/registry"},
	{"a toolchain itself", "filesystem = 'workspace_only'", "filesystem", "open",
	 "{}/home/.cargo/config.toml", NULL, "programs outside"},
	{"a program of the system", "filesystem = 'workspace_only'", "filesystem", "open",
	 "/usr/bin/env", NULL, "every user"},
	{"no path", "filesystem = 'readonly'", "filesystem", "open", NULL, NULL, "not known"},
	{"a relative path", "filesystem = 'readonly'", "filesystem", "open", "a", NULL,
	 "not known"},
	/* the network */
	{"the loopback", "network = 'none'", "network", "connect", "127.0.0.1:8080",
	 "ports += 8080 and network = \"localhost\"", "--port 8080"},
	{"the other loopback", "network = 'localhost'\nports = [79]", "network", "connect",
	 "[::1]:80", "ports += 80", "--port 80"},
	{"a loopback that is open", "network = 'localhost'", "network", "connect", "127.0.0.1:80",
	 NULL, "nobody listens"},
	{"elsewhere", "network = 'none'", "network", "connect", "192.0.2.1:443",
	 "hosts += \"192.0.2.1:443\" and network = \"allowed_hosts\" and ports = []",
	 "--host 192.0.2.1:443"},
	{"a new address", "network = 'allowed_hosts'\nhosts = ['x.org']", "network", "connect",
	 "[2001:db8::1]:443", "hosts += \"[2001:db8::1]:443\"", "--host '[2001:db8::1]:443'"},
	{"a name", "network = 'allowed_hosts'\nhosts = ['x.org']", "network", "connect",
	 "registry.example.org:8443", "hosts += \"registry.example.org:8443\"",
	 "--host registry.example.org:8443"},
	{"a name that was not resolved", "network = 'localhost'", "network", "resolve",
	 "example.org", "hosts += \"example.org:443\" and network = \"allowed_hosts\"",
	 "--host example.org:443"},
	{"a name that is allowed", "network = 'allowed_hosts'\nhosts = ['*.x.org']", "network",
	 "connect", "a.x.org:443", NULL, "the policy allows it"},
	{"a name that leads to the loopback", "network = 'allowed_hosts'\nhosts = ['x.org']",
	 "network", "resolve", "127.0.0.1:443", NULL, "loopback"},
	{"one that leads to this machine", "network = 'allowed_hosts'\nhosts = ['x.org']",
	 "network", "resolve", "192.0.2.7:443", "hosts += \"192.0.2.7:443\"",
	 "--host 192.0.2.7:443"},
	{"a metadata service", "network = 'allowed_hosts'\nhosts = ['x.org']", "network", "connect",
	 "169.254.169.254:80", NULL, "credentials"},
	{"a metadata service", "network = 'allowed_hosts'\nhosts = ['x.org']", "network", "connect",
	 "198.19.0.7:80", NULL, "stands for a name"},
	{"a neighbour", "network = 'none'", "network", "connect", "[fe80::1]:80", NULL,
	 "neighbours"},
	{"a name that is none", "network = 'none'", "network", "resolve", "a_b!c", NULL,
	 "no rule can name"},
	{"a datagram", "network = 'none'", "network", "send", "192.0.2.1:53", NULL, "datagrams"},
	{"connections at once", "network = 'localhost'\nconnections = 4", "connections", "connect",
	 "127.0.0.1:80", "connections = 8", "--connections 8"},
	{"a socket of the host", "network = 'none'", "sockets", "connect", "/srv/x.sock",
	 "sockets += \"/srv/x.sock\"", "--socket /srv/x.sock"},
	{"one of a container engine", "network = 'none'", "sockets", "connect", "/run/docker.sock",
	 NULL, ""},
	{"one of a terminal", "network = 'none'", "sockets", "connect", "/tmp/tmux-1000/default",
	 NULL, "whatever it is told"},
	{"one of an agent", "network = 'none'", "sockets", "connect", "/tmp/ssh-XX1/agent.7", NULL,
	 "whatever it is told"},
	{"one of a display", "network = 'none'", "sockets", "connect", "/tmp/.X11-unix/X0", NULL,
	 "whatever it is told"},
	{"one in a dot folder", "network = 'none'", "sockets", "connect", "{}/home/.x/y.sock", NULL,
	 "whatever it is told"},
	{"one without a path", "network = 'none'", "sockets", "connect", "@x", NULL,
	 "without a path"},
	{"serving", "network = 'none'", "network", "bind", "0.0.0.0:80", NULL, "expose"},
	{"raw sockets", "network = 'none'", "network", "socket", NULL, NULL, "every sandbox"},
	{"an open network", "network = 'unrestricted'", "network", "connect", "192.0.2.1:443", NULL,
	 "machine's own"},
	/* the rest */
	{"namespaces", "", "nested", "unshare", NULL, "nested = true", "--nested"},
	{"mounts", "", "nested", "mount", NULL, "nested = true", "--nested"},
	{"namespaces that are allowed", "nested = true", "nested", "unshare", NULL, NULL, "kernel"},
	{"keyrings", "", "nested", "keyctl", NULL, NULL, "every sandbox"},
	{"something unknown", "", "seccomp", "bpf", NULL, NULL, "every sandbox"},
	{"memory", "memory = '512m'", "memory", "limit", NULL, "memory = \"1g\"", "--memory 1g"},
	{"time", "timeout = '90s'", "timeout", "limit", NULL, "timeout = \"3m\"", "--timeout 3m"},
	{"processes", "pids = 20", "pids", "limit", NULL, "pids = 40", "--pids 40"},
	{"no limit", "", "memory", "limit", NULL, NULL, "does not limit"},
	{"tracing where all are seen", "processes = 'visible'", "processes", "ptrace", NULL,
	 "OPTION", "--processes isolated"},
	{"tracing without namespaces", "", "seccomp", "ptrace", NULL, NULL, "native"},
	{"tracing what is not its own", "", "processes", "prlimit64", NULL, NULL,
	 "out of its reach"},
	{"signals", "processes = 'visible'", "processes", "kill", NULL, NULL, "out of its reach"},
};

static char *filled(const char *text)
{
	_cleanup_(str_release) struct str out = {0};

	for (; text && *text; text++) {
		if (str_starts(text, "{}")) {
			str_append(&out, scratch_path);
			text++;
		} else {
			str_append_char(&out, *text);
		}
	}
	return text ? strdup(str_text(&out)) : NULL;
}

static char *rule_of(const struct remedy *remedy)
{
	_cleanup_(str_release) struct str out = {0};

	if (!remedy->possible)
		return NULL;
	if (remedy->dim == DIM_COUNT_)
		return strdup("OPTION");
	str_appendf(&out, "%s %s %s", dim_name(remedy->dim), remedy->is_item ? "+=" : "=",
		    remedy->value ? remedy->value : "");
	for (size_t i = 0; i < remedy->also_len; i++)
		str_appendf(&out, " and %s = %s", dim_name(remedy->also[i].dim),
			    remedy->also[i].value);
	return take_ptr(out.data);
}

static void set(struct spec *with, enum dim dim, const char *value, bool is_item)
{
	_cleanup_(strv_release) struct strv texts = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};

	str_appendf(&text, "key = %s\n", value);
	toml_parse(str_text(&text), text.len, &doc, NULL, &err);
	toml_texts(toml_get(toml_root(doc), "key"), &texts);
	if (texts.len == 0 && dim == DIM_PORTS)
		with->ports_set = true;
	else if (spec_set(with, dim, texts.items[0], is_item, &test_user, &err) < 0)
		tap_note("%s", err.message);
}

/* The rule makes the spec looser, in that key and those that it takes. */
static void check_rule(const struct row *row, const struct spec *spec, const struct remedy *remedy)
{
	_cleanup_(spec_release) struct spec with = {0};
	dim_set excess, wanted = DIM_BIT(remedy->dim);

	if (!remedy->possible || remedy->dim == DIM_COUNT_ || !remedy->value)
		return;
	spec_copy(&with, spec);
	for (size_t i = 0; i < remedy->also_len; i++) {
		set(&with, remedy->also[i].dim, remedy->also[i].value, false);
		wanted |= DIM_BIT(remedy->also[i].dim);
	}
	set(&with, remedy->dim, remedy->value, remedy->is_item);
	excess = spec_excess(&with, spec);
	tap_ok(excess & DIM_BIT(remedy->dim) && (excess & ~wanted) == 0,
	       "%s: it opens something, by that key alone", row->name);
}

static void test_row(const struct row *row)
{
	_cleanup_(freep) char *target = filled(row->target), *rule = filled(row->rule);
	_cleanup_(freep) char *option = filled(row->option), *got = NULL;
	_cleanup_(spec_release) struct spec spec = {0};
	struct remedy remedy = {0};
	struct err err = {0};
	int r = spec_parse(row->spec, test_ws.root, &test_user, &spec, &err);

	if (r == 0)
		r = remedy_find(&spec, &test_user, row->dimension, row->op, target, &remedy, &err);
	if (r < 0)
		tap_note("%s", err.message);
	got = rule_of(&remedy);
	tap_eq_str(got, rule, "%s: %s", row->name, rule ? rule : "nothing");
	if (row->rule)
		tap_eq_str(remedy.option, option, "%s: %s", row->name, option);
	else
		tap_ok(remedy.why && strstr(remedy.why, row->option), "%s: %s", row->name,
		       remedy.why);
	tap_ok(!row->rule || (remedy.opens && remedy.opens[0]), "%s: opens: %s", row->name,
	       remedy.opens ? remedy.opens : "nothing");
	check_rule(row, &spec, &remedy);
	remedy_release(&remedy);
}

static void make_tree(void)
{
	static const char *const folders[] = {
		"ws/src",       "ws/src/**",        "ws/.git",
		"ws/.git/refs", "ws/.git/hooks",    "other",
		"home",         "home/proj",        "home/.ssh",
		"home/.cache",  "home/.cargo",      "home/.cargo/registry",
		"home/.config", "home/.config/pale"};
	static const char *const files[] = {"ws/src/a.c",
					    "ws/src/a b",
					    "ws/src/it's",
					    "ws/src/\033[2J",
					    "ws/src/\377",
					    "ws/src/$X",
					    "ws/~x",
					    "ws/src/.envrc",
					    "ws/secret.key",
					    "other/data.txt",
					    "home/.ssh/id",
					    "home/.bashrc",
					    "home/.config/pale/pale.toml",
					    "home/.cargo/config.toml"};

	for (size_t i = 0; i < array_len(folders); i++)
		mkdir(folders[i], 0755);
	for (size_t i = 0; i < array_len(files); i++)
		scratch_write(files[i], "");
	scratch_write("ws/.paleignore", "*.key\n");
	if (symlink("src", "ws/link-to-src") < 0 || symlink("../home/.ssh", "ws/link-to-ssh") < 0 ||
	    symlink("../other", "ws/link-to-other") < 0)
		perror("symlink");
	free(test_user.home);
	free(test_user.state_dir);
	test_user.home = str_printf("%s/home", scratch_path);
	test_user.config_dir = str_printf("%s/home/.config/pale", scratch_path);
	test_user.state_dir = str_printf("%s/home/.local/state/pale", scratch_path);
}

int main(void)
{
	files_enter();
	make_tree();
	for (size_t i = 0; i < array_len(rows); i++)
		test_row(&rows[i]);
	files_leave();
	return tap_done();
}
