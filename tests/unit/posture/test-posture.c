/* SPDX-License-Identifier: MIT */
/* Every dimension is judged, on hosts that are made up; a refusal is told. */
#include "posture/posture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/host.h"
#include "scratch.h"
#include "tap.h"

static struct facts fine = {.kernel = "6.12.0",
			    .major = 6,
			    .minor = 12,
			    .max_userns = 1000,
			    .userns_clone = -1,
			    .apparmor_userns = -1,
			    .has_seccomp = true};
static struct host host = {.uid = 1000, .gid = 1000, .landlock_abi = 7};

static struct context context; /* a posture borrows from it */

static struct context make_context(const char *toml)
{
	struct context made = {.user = {.uid = 1000, .gid = 1000}};
	struct err err = {0};

	scratch_write("ws/pale.toml", toml);
	made.workspace.root = path_join(scratch_path, "ws");
	made.workspace.cwd = path_join(scratch_path, "ws");
	made.workspace.state_dir = path_join(scratch_path, "state/ws");
	made.workspace_file = path_join(scratch_path, "ws/pale.toml");
	if (config_load(NULL, NULL, made.workspace_file, &made.config, &err) < 0)
		tap_ok(false, "config: %s", err.message);
	return made;
}

static struct posture look(const char *toml, const char *preset, const struct facts *facts)
{
	struct ask ask = {.preset = preset};
	struct posture posture = {0};
	struct host adapted = host;
	struct err err = {0};

	context_release(&context); /* of the posture before */
	context = make_context(toml);
	tap_ok(posture_adapt_host(facts, &adapted, &err) == 0 &&
		       posture_compute(&context, &ask, facts, &adapted, &posture, &err) == 0,
	       "%s: computed %s", preset ? preset : toml, err.message);
	free(adapted.bwrap);
	return posture;
}

static void expect(const struct posture *posture, enum dim dim, bool asked, const char *state,
		   const char *part)
{
	const struct posture_dim *at = &posture->dims[dim];

	tap_eq_str(at->refused ? "refused" : enforcement_name(at->state), state, "%s is %s",
		   dim_name(dim), state);
	tap_ok(at->asked == asked && strstr(at->by, part), "%s: %s, by %s", dim_name(dim),
	       asked ? "asked for" : "not asked for", at->by);
}

static void test_default(void)
{
	struct posture posture = look("", NULL, &fine);
	unsigned silent = 0;

	for (int dim = 0; dim < DIM_COUNT_; dim++)
		silent += posture.dims[dim].by[0] == '\0';
	tap_eq_int(silent, 0, "every dimension says by what");
	tap_ok(!posture.refused && str_eq(posture.world, "scoped"), "it would run");
	tap_eq_str(engine_name(posture.engine), "native", "engine");
	expect(&posture, DIM_NETWORK, true, "enforced", "network namespace");
	expect(&posture, DIM_TMPFS, true, "enforced", "tmpfs");
	expect(&posture, DIM_MEMORY, false, "degraded", "no cgroup");
	expect(&posture, DIM_PIDS, false, "enforced", "RLIMIT_NPROC");
	expect(&posture, DIM_PATHS_WRITABLE, false, "enforced", "mounts");
	expect(&posture, DIM_EPHEMERAL, false, "enforced", "overlay");
	tap_ok(posture.backends_len == 1 && str_eq(posture.backends[0].name, "local") &&
		       posture.backends[0].ready && posture.backends[0].background,
	       "the local backend is ready, for background commands, too");
	posture_release(&posture);

	host.cgroup.rung = RUNG_CGROUP2;
	posture = look("", NULL, &fine);
	expect(&posture, DIM_MEMORY, false, "enforced", "cgroup v2");
	posture_release(&posture);
	host.cgroup.rung = RUNG_WATCHDOG;
}

static void test_open(void)
{
	struct posture posture = look("", "off", &fine);

	tap_ok(!posture.refused && str_eq(posture.world, "open"), "off would run");
	expect(&posture, DIM_NETWORK, false, "enforced", "network namespace");
	expect(&posture, DIM_FILESYSTEM, false, "enforced", "mounts");
	expect(&posture, DIM_PATHS_READABLE, false, "enforced", "mounts");
	expect(&posture, DIM_ENV, false, "enforced", "built environment");
	posture_release(&posture);
}

static void test_refused(void)
{
	struct posture posture = look("", "build", &fine);

	tap_ok(posture.refused && !posture.world, "what would be degraded is refused");
	tap_ok(strstr(posture.refusal.message, "memory") != NULL, "by name");
	expect(&posture, DIM_MEMORY, true, "degraded", "no cgroup");
	expect(&posture, DIM_NETWORK, true, "enforced", "network namespace");
	posture_release(&posture);

	posture = look("[sandbox]\nmode = \"staged\"\n", NULL, &fine);
	tap_ok(!posture.refused && str_eq(posture.resolved.mode, "staged"), "staged mode is none");
	expect(&posture, DIM_NETWORK, true, "enforced", "network namespace");
	posture_release(&posture);

	posture = look("[sandbox]\nbackend = \"docker\"\n", NULL, &fine);
	tap_ok(posture.refused && posture.backends_len == 2 &&
		       str_eq(posture.backends[1].name, "docker") && !posture.backends[1].ready,
	       "a backend that is configured is listed, and not ready");
	posture_release(&posture);
}

static void test_trust(void)
{
	struct posture posture = look("[sandbox]\npreset = \"off\"\n", NULL, &fine);

	tap_ok(posture.trust == TRUST_NONE && posture.refused && posture.refusal.code == ERR_TRUST,
	       "what is not trusted does not run");
	posture_release(&posture);
}

static void test_no_namespaces(void)
{
	struct facts facts = fine;
	struct posture posture;

	facts.max_userns = 0;
	posture = look("", NULL, &facts);
	tap_ok(posture.userns == PROMISE_REFUSED && posture.refused &&
		       strstr(posture.refusal.message, "max_user_namespaces is 0"),
	       "without namespaces: %s", posture.refusal.message);
	tap_ok(posture.engine != ENGINE_NATIVE && !posture.backends[0].ready &&
		       posture.backends[0].reason[0],
	       "another engine would be used; local says why it is not ready");
	posture_release(&posture);
}

/* Verdicts are those of a run: nothing is given up that it would not give up. */
static void test_old_tmpfs(void)
{
	struct posture posture;

	host.no_tmpfs_xattr = true;
	posture = look("", "test", &fine);
	expect(&posture, DIM_EPHEMERAL, true, "enforced", "on the disk");
	posture_release(&posture);
	posture = look("", NULL, &fine);
	expect(&posture, DIM_EPHEMERAL, false, "enforced", "on the disk");
	posture_release(&posture);
	host.no_tmpfs_xattr = false;
}

int main(void)
{
	scratch_enter();
	mkdir("ws", 0755);
	test_default();
	test_open();
	test_refused();
	test_trust();
	test_no_namespaces();
	test_old_tmpfs();
	context_release(&context);
	scratch_leave();
	return tap_done();
}
