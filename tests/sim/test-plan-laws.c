/* SPDX-License-Identifier: MIT */
/* Generated specs and sites: every law of laws.h holds of each plan. */
#include "sim/laws.h"
#include "tests/tap.h"

#define TRIALS 2000

static const char *const workspaces[] = {
	FAKE_WORKSPACE, FAKE_WORKSPACE,     FAKE_WORKSPACE,         "/srv/data/project",
	"/tmp/project", "/usr/src/project", "/home/ana/go/project", "/run/user/1000/project",
};

static const char *const rules[] = {
	"/",
	"/home",
	"/home/ana",
	"/home/ana/project",
	"/home/ana/project/a",
	"/home/ana/project/a/b",
	"/home/ana/project/a/b/c",
	"/home/ana/project/d",
	"/home/ana/.cargo",
	"/home/ana/.cargo/registry",
	"/home/ana/.config/tool",
	"/srv",
	"/srv/data",
	"/srv/data/in",
	"/srv/data/out/x",
	"/srv/data-2",
	"/tmp",
	"/tmp/shared",
	"/run/db",
	"/var",
	"/etc/ssl",
	"/opt",
	"/data/cargo",
};

/* What else there is on the host. */
static const char *const others[] = {
	"/home/ana/.ssh/id",
	"/home/ana/.config/tool/key",
	"/home/ana/.cargo/bin/cargo",
	"/home/ana/.cargo/credentials.toml",
	"/home/ana/go/project/x",
	"/home/eve/x",
	"/data/cargo/registry/x",
	"/data/cargo/credentials.toml",
	"/srv/data/project/x",
	"/tmp/project/x",
	"/usr/src/project/x",
	"/usr/bin/cc",
	"/etc/passwd",
	"/run/user/1000/project/x",
	"/run/user/1000/bus",
	"/run/systemd/resolve/stub-resolv.conf",
	"/var/lib/x",
	"/var/tmp/x",
	"/root/x",
	"/boot/x",
};

static uint64_t state = 1;

/* xorshift64* */
static unsigned below(unsigned n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned)((state * 0x2545f4914f6cdd1d) >> 33) % n;
}

#define PICK(pool) ((pool)[below(array_len(pool))])

struct options {
	struct strv texts;
	struct sim *sim;
};

__attribute__((format(printf, 2, 3))) static void add(struct options *o, const char *fmt, ...)
{
	size_t n = o->texts.len;
	va_list ap;
	char text[256];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n == array_len(o->sim->options))
		return;
	fake_must(strv_add(&o->texts, text) == 0);
	o->sim->options[n] = o->texts.items[n];
}

static void add_rules(struct options *o, const char *dim)
{
	static const unsigned lengths[] = {0, 0, 1, 1, 2};

	for (unsigned n = PICK(lengths); n > 0; n--) {
		const char *rule = PICK(rules);

		/* "/" is rare: it makes a plan of another kind. */
		add(o, "%s=%s", dim, str_eq(rule, "/") && below(3) ? "/srv" : rule);
	}
}

static void generate(struct sim *sim, struct options *o, bool bare)
{
	static const char *const filesystems[] = {"none",           "readonly",
						  "workspace_only", "workspace_only",
						  "scoped_write",   "unrestricted"};
	static const char *const passed[] = {"env=clean", "env=inherit", "env_pass=FOO_TOKEN",
					     "env_pass=FOO_*", "setenv=CI=1"};
	const char *filesystem = PICK(filesystems);

	*sim = (struct sim){.name = "generated"};
	*o = (struct options){.sim = sim};
	sim->workspace = PICK(workspaces);
	sim->root = below(4) == 0;
	sim->owner = below(2) ? 1000 : 0;
	sim->home = FAKE_HOME;
	sim->host = (enum fake_host)below(3);
	sim->toolchains = below(2) ? ".cargo go" : ".cargo .local/bin";
	if (below(4) == 0) {
		sim->facts[0] = "link /home/ana/.cargo /data/cargo";
		sim->facts[1] = "link /home/ana/.cargo/registry /data/cargo/registry";
	}
	add(o, "filesystem=%s", filesystem);
	if (bare) {
		add(o, "engine=landlock");
		sim->degraded[0] = "filesystem"; /* root's own workspace */
		sim->degraded[1] = "processes";
		sim->facts[sim->facts[0] ? 2 : 0] = "secret /home/ana/.cargo";
	}
	if (!bare && str_eq(filesystem, "readonly") && below(2))
		add(o, "ephemeral=true");
	add(o, "%s", PICK(passed));
	if (below(3) == 0)
		add(o, "network=unrestricted");
	if (below(3) == 0)
		add(o, "processes=visible");
	add_rules(o, "paths_hidden");
	add_rules(o, "paths_readable");
	add_rules(o, "paths_writable");
}

struct tally {
	unsigned broken;
	char note[512];
	char options[512];
};

static void describe(const struct sim *sim, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s workspace %s,", sim->root ? "root" : "user",
			 sim->workspace);

	for (size_t i = 0; i < array_len(sim->options) && sim->options[i]; i++)
		n += snprintf(ret + n, size - (size_t)n, " %s", sim->options[i]);
	if (sim->facts[0])
		snprintf(ret + n, size - (size_t)n, ", %s", sim->facts[0]);
}

static const char *const *universe(bool linked)
{
	static const char *all[array_len(rules) + array_len(workspaces) + array_len(others) + 1];
	const struct {
		const char *const *paths;
		size_t len;
	} pools[] = {
		{rules + 1, array_len(rules) - 1}, /* "/" itself is mostly the sandbox's own */
		{workspaces, array_len(workspaces)},
		{others, array_len(others)},
	};
	size_t n = 0;

	for (size_t i = 0; i < array_len(pools); i++)
		for (size_t k = 0; k < pools[i].len; k++)
			if (!linked || !path_covers("/home/ana/.cargo", pools[i].paths[k]))
				all[n++] = pools[i].paths[k];
	all[n] = NULL;
	return all;
}

static void judge(const struct trial *t, const struct law *which, size_t len, struct tally *tallies)
{
	for (size_t i = 0; i < len; i++) {
		char note[512];

		if (which[i].holds(t, note))
			continue;
		if (tallies[i].broken++)
			continue;
		snprintf(tallies[i].note, sizeof(tallies[i].note), "%s", note);
		describe(t->sim, tallies[i].options, sizeof(tallies[i].options));
	}
}

/* 1 when a plan came out of it, else 0. */
static unsigned run_trial(bool bare, struct tally *tallies)
{
	static char arg0[] = "true";
	char *argv[] = {arg0, NULL};
	_cleanup_(plan_freep) struct plan *plan = NULL;
	struct resolved resolved = {0};
	struct options options;
	struct host host = {0};
	struct site site = {0};
	struct err err = {0};
	struct sim sim;
	struct trial trial = {.sim = &sim,
			      .resolved = &resolved,
			      .spec = &resolved.spec,
			      .host = &host,
			      .site = &site};

	generate(&sim, &options, bare);
	trial.universe = universe(sim.facts[0] && str_starts(sim.facts[0], "link "));
	if (fake_resolve(&sim, &resolved, &err) == 0) {
		fake_host_init(sim.host, sim.root, sim.landlock_abi, &host);
		fake_site_init(&sim, &resolved.spec, &site);
		if (plan_compile(&resolved, &host, &site, argv, &plan, &err) == 0) {
			trial.plan = plan;
			judge(&trial, bare ? laws_bare : laws,
			      bare ? array_len(laws_bare) : array_len(laws), tallies);
		}
		site_release(&site);
		host_release(&host);
		resolved_release(&resolved);
	}
	strv_release(&options.texts);
	return plan ? 1 : 0;
}

static void report(const struct law *which, size_t len, const struct tally *tallies)
{
	for (size_t i = 0; i < len; i++)
		if (!tap_ok(tallies[i].broken == 0, "%s", which[i].text))
			tap_note("%u plans, the first: %s\nof %s", tallies[i].broken,
				 tallies[i].note, tallies[i].options);
}

int main(void)
{
	struct tally tallies[array_len(laws)] = {0}, tallies_bare[array_len(laws_bare)] = {0};
	unsigned plans = 0, bare = 0;

	for (unsigned i = 0; i < TRIALS; i++)
		plans += run_trial(false, tallies);
	tap_ok(plans > TRIALS * 3 / 4, "%u plans out of %u specs", plans, TRIALS);
	report(laws, array_len(laws), tallies);
	/* Many are refused: what is below an open folder cannot be hidden. */
	for (unsigned i = 0; i < TRIALS; i++)
		bare += run_trial(true, tallies_bare);
	tap_ok(bare > TRIALS / 3, "landlock: %u plans out of %u specs", bare, TRIALS);
	report(laws_bare, array_len(laws_bare), tallies_bare);
	return tap_done();
}
