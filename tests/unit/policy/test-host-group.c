/* SPDX-License-Identifier: MIT */
/* host groups and the limits of the network: what they resolve to, and who may say so. */
#include <stdlib.h>
#include <time.h>

#include "resolve-case.h"

static void test_network_limits(void)
{
	static const char low[] = "[ceiling]\nconnections = 10\nnet_sent = \"1m\"";

	gives("no preset sets one", (struct given){.preset = "integration"},
	      "connections = \nconnect_rate = \nnet_sent = \nnet_received = ");
	gives("options do",
	      (struct given){.items = {{DIM_CONNECTIONS, "8"},
				       {DIM_CONNECT_RATE, "50"},
				       {DIM_NET_SENT, "2m"},
				       {DIM_NET_RECEIVED, "1g"}}},
	      "network = \"none\"\nconnections = 8\nconnect_rate = 50\nnet_sent = \"2m\"\n"
	      "net_received = \"1g\"");
	gives("a ceiling cuts what nobody wrote", (struct given){.system = low},
	      "connections = 10\nnet_sent = \"1m\"\nnet_received = ");
	gives("a tighter one holds",
	      (struct given){.system = low, .items = {{DIM_CONNECTIONS, "9"}}}, "connections = 9");
	refuses("a looser one", (struct given){.system = low, .items = {{DIM_CONNECTIONS, "11"}}},
		ERR_POLICY,
		"connections = 11 (--connections) is looser than the ceiling 10 (sys.toml:2)");
	refuses("none at all", (struct given){.items = {{DIM_CONNECTIONS, "0"}}}, ERR_USAGE,
		"--connections: connections = 0 is out of range");
	refuses("no bytes", (struct given){.items = {{DIM_NET_SENT, "0"}}}, ERR_USAGE,
		"--net-sent: net_sent = 0 is out of range");
}

static void test_host_groups(void)
{
	static const char both[] = "[host_groups]\nweb = [\"A.org\", \"*.b.org:80,443\"]\n"
				   "empty = []";
	static const char mine[] = "[host_groups]\nweb = [\"mine.org\"]";
	static const char bounded[] = "[host_groups]\nweb = [\"a.org\"]\n"
				      "[ceiling]\nnetwork = \"allowed_hosts\"\nports = []\n"
				      "hosts = [\"@web\"]";

	gives("a group stands for its rules",
	      (struct given){.system = both, .items = {{DIM_HOSTS, "@web"}, {DIM_HOSTS, "c.org"}}},
	      "hosts = [\"*.b.org:443\", \"*.b.org:80\", \"a.org:443\", \"c.org:443\"]");
	gives("in a project's file, too",
	      (struct given){.user = both,
			     .workspace = "[presets.p]\nnetwork = \"allowed_hosts\"\n"
					  "hosts = [\"@web\", \"d.org\"]",
			     .preset = "p"},
	      "hosts = [\"*.b.org:443\", \"*.b.org:80\", \"a.org:443\", \"d.org:443\"]");
	gives("the user's definition wins",
	      (struct given){.system = both, .user = mine, .items = {{DIM_HOSTS, "@web"}}},
	      "hosts = [\"mine.org:443\"]");
	gives("an empty one is none",
	      (struct given){.user = both, .items = {{DIM_HOSTS, "@empty"}}},
	      "network = \"allowed_hosts\"\nhosts = []");
	gives("a ceiling may be a group",
	      (struct given){.system = bounded, .items = {{DIM_HOSTS, "@web"}}},
	      "hosts = [\"a.org:443\"]");
	refuses("and is the system's own, whatever the user calls so",
		(struct given){.system = bounded, .user = mine, .items = {{DIM_HOSTS, "@web"}}},
		ERR_POLICY,
		"hosts = [\"mine.org:443\"] (--host) is looser than the ceiling [\"a.org:443\"] "
		"(sys.toml:6)");
	refuses("a ceiling of the system does not use the user's",
		(struct given){.system = "[ceiling]\nnetwork = \"allowed_hosts\"\n"
					 "hosts = [\"@web\"]",
			       .user = mine},
		ERR_CONFIG, "sys.toml:3:9: unknown host group \"@web\"");
	refuses("an unknown one", (struct given){.user = mine, .items = {{DIM_HOSTS, "@wen"}}},
		ERR_USAGE, "--host: unknown host group \"@wen\"");
	refuses("no name", (struct given){.user = mine, .items = {{DIM_HOSTS, "@"}}}, ERR_USAGE,
		"--host: unknown host group \"@\"");
	refuses("a port behind it", (struct given){.user = mine, .items = {{DIM_HOSTS, "@web:80"}}},
		ERR_USAGE, "--host: unknown host group \"@web:80\"");
	refuses("groups do not nest",
		(struct given){.user = "[host_groups]\na = [\"@b\"]\nb = [\"b.org\"]",
			       .items = {{DIM_HOSTS, "@a"}}},
		ERR_USAGE, "user.toml:2:6: host groups do not hold groups (\"@b\")");
	refuses("a bad rule is found where it stands",
		(struct given){.user = "[host_groups]\na = [\"*\"]", .items = {{DIM_HOSTS, "@a"}}},
		ERR_USAGE, "user.toml:2:6: bad host rule \"*\"");
	refuses("a project defines none",
		(struct given){.workspace = "[host_groups]\nweb = [\"evil.org\"]"}, ERR_CONFIG,
		"ws/pale.toml:2:1: 'web' may stand only in the system's or the user's file");
	refuses("a name", (struct given){.user = "[host_groups]\n\"a b\" = []"}, ERR_CONFIG,
		"'a b' is no name");
}

static void test_groups_named(void)
{
	struct given g = {.user = "[host_groups]\nweb = [\"a.org\"]\n[presets.p]\n"
				  "hosts = [\"@web\"]\n[presets.q]\nbase = \"p\"\n"
				  "hosts = [\"b.org\"]",
			  .preset = "p"};
	_cleanup_(config_release) struct config config = {0}, config2 = {0};
	_cleanup_(resolved_release) struct resolved out = {0}, out2 = {0};
	struct err err = {0};
	int r = resolve(&g, &config, &out, &err);

	tap_ok(r == 0 && out.groups.len == 1 && str_starts(out.groups.items[0], "@web (") &&
		       strstr(out.groups.items[0], "user.toml:2)"),
	       "the group and where it is defined are told");
	g.preset = "q";
	r = resolve(&g, &config2, &out2, &err);
	tap_ok(r == 0 && out2.groups.len == 0, "not that of a list that was replaced");
}

static void may_reach(const char *system, const char *user, const char *rule, bool may)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(resolved_release) struct resolved out = {0};
	struct given g = {.system = system, .user = user};
	struct err err = {0};
	int r = resolve(&g, &config, &out, &err);

	tap_ok(r == 0 && resolved_may_reach(&out, rule) == may, "%s %s be opened later under %s %s",
	       rule, may ? "may" : "may not", system ? system : "nothing", user ? user : "");
}

static void test_later(void)
{
	static const char hosts[] = "[ceiling]\nnetwork = \"allowed_hosts\"\nports = [80]\n"
				    "hosts = [\"*.a.org\"]";
	static const char none[] = "[ceiling]\nnetwork = \"none\"";

	may_reach(NULL, NULL, "x.org:443", true);
	may_reach(NULL, "[ceiling]\nmemory = \"1g\"", "x.org:443", true);
	may_reach(hosts, NULL, "b.a.org:443", true);
	may_reach(hosts, NULL, "b.a.org:80", false);
	may_reach(hosts, NULL, "b.b.org:443", false);
	may_reach(hosts, NULL, "localhost:80", true);
	may_reach(hosts, NULL, "localhost:81", false);
	may_reach(hosts, NULL, "localhost", false);
	may_reach("[ceiling]\nnetwork = \"localhost\"", NULL, "localhost", true);
	may_reach("[ceiling]\nnetwork = \"localhost\"", NULL, "a.org:443", false);
	may_reach(none, NULL, "localhost:80", false);
	may_reach(hosts, none, "b.a.org:443", false);
	may_reach(none, hosts, "b.a.org:443", false);
}

static void asks(const char *name, const char *user, const char *preset, bool option, bool want,
		 const char *network)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(str_release) struct str got = {0};
	const struct ask ask = {.preset = preset, .asks = option};
	struct err err = {0};
	int r = files_load(NULL, user, NULL, &config, &err);

	if (r == 0)
		r = spec_resolve(&config, NULL, &ask, &test_ws, &test_user, &out, &err);
	spec_print_dim(&out.spec, DIM_NETWORK, &got);
	tap_ok(r == 0 && out.asks == want && str_eq(str_text(&got), network), "%s: %s %s%s", name,
	       out.asks ? "asks" : "asks nobody", str_text(&got), err.message);
}

static void refuses_to_ask(const char *preset, const char *want)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(resolved_release) struct resolved out = {0};
	const struct ask ask = {.preset = preset, .asks = true};
	struct err err = {0};
	int r = files_load(NULL, NULL, NULL, &config, &err);

	if (r == 0)
		r = spec_resolve(&config, NULL, &ask, &test_ws, &test_user, &out, &err);
	tap_ok(r == -EINVAL && err.code == ERR_USAGE && str_eq(err.message, want), "--ask, %s: %s",
	       preset, err.message);
}

static void test_asks(void)
{
	asks("by default", NULL, NULL, false, false, "\"none\"");
	asks("--ask", NULL, NULL, true, true, "\"allowed_hosts\"");
	asks("--ask with the loopback", NULL, "integration", true, true, "\"localhost\"");
	asks("ask = true", "sandbox.ask = true", "integration", false, true, "\"localhost\"");
	asks("ask = true, without a network", "sandbox.ask = true", NULL, false, false, "\"none\"");
	asks("ask = true, unrestricted", "sandbox.ask = true", "unrestricted", false, false,
	     "\"unrestricted\"");
	refuses_to_ask("unrestricted",
		       "--ask bounds nothing: network is \"unrestricted\" (--preset)");
	refuses("a project does not ask", (struct given){.workspace = "sandbox.ask = true"},
		ERR_CONFIG, "'ask' may stand only in the system's or the user's file");
}

/* Ten thousand took seconds when every one of them was put in its place anew. */
static void test_many(void)
{
	static const char user[] = "[ceiling]\nnetwork = \"allowed_hosts\"\nports = []\nhosts = [";
	const size_t n = getenv("PALE_QUICK") ? 500 : 20000;
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(resolved_release) struct resolved out = {0};
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(freep) struct ask_item *items = calloc(n, sizeof(*items));
	const struct ask ask = {.items = items, .len = n};
	struct err err = {0};
	clock_t begin;
	int r = str_append(&text, user);

	for (size_t i = 0; i < n && r == 0 && items; i++) {
		r = strv_addf(&names, "h%zu.example.org", i * 7919 % n);
		items[i] = (struct ask_item){DIM_HOSTS, r == 0 ? names.items[i] : NULL};
		if (r == 0)
			r = str_appendf(&text, "\"%s\", ", names.items[i]);
	}
	if (r == 0)
		r = str_append(&text, "]\n");
	if (r == 0)
		r = files_load(NULL, str_text(&text), NULL, &config, &err);
	begin = clock();
	if (r == 0)
		r = spec_resolve(&config, NULL, &ask, &test_ws, &test_user, &out, &err);
	tap_ok(r == 0 && out.spec.hosts.len == n, "%zu hosts under a ceiling of as many: %s", n,
	       err.message);
	tap_ok(clock() - begin < 4 * CLOCKS_PER_SEC, "take no time (%.3f s)",
	       (double)(clock() - begin) / CLOCKS_PER_SEC);
}

int main(void)
{
	files_enter();
	test_many();
	test_network_limits();
	test_host_groups();
	test_groups_named();
	test_later();
	test_asks();
	files_leave();
	return tap_done();
}
