/* SPDX-License-Identifier: MIT */
/*
 * laws - what holds of every plan.
 *
 * A law returns false when it is broken, and says in NOTE by what.
 */
#pragma once
#include <sched.h>

#include "sim/fake.h"
#include "sim/view.h"

struct trial {
	const struct sim *sim;
	const struct resolved *resolved;
	const struct spec *spec;
	const struct host *host;
	const struct site *site;
	const struct plan *plan;
	const char *const *universe; /* paths of the host; ends in NULL */
};

struct law {
	const char *text;
	bool (*holds)(const struct trial *t, char note[512]);
};

#define LAW_BROKEN(...) (snprintf(note, 512, __VA_ARGS__), false)

static inline bool law_is_mount(const struct op *op)
{
	return view_is_own_mount(op) || op->kind == OP_ROOT_BIND || op->kind == OP_OVERLAY;
}

static bool law_parents_first(const struct trial *t, char note[512])
{
	const struct plan *plan = t->plan;

	for (size_t i = 0; i < plan->ops_len; i++)
		for (size_t k = i + 1; k < plan->ops_len; k++)
			if (law_is_mount(&plan->ops[i]) && law_is_mount(&plan->ops[k]) &&
			    path_covers(plan->ops[k].dst, plan->ops[i].dst))
				return LAW_BROKEN("%s is mounted over %s", plan->ops[k].dst,
						  plan->ops[i].dst);
	return true;
}

static bool law_hide_last(const struct trial *t, char note[512])
{
	const struct plan *plan = t->plan;

	for (size_t i = 0; i < plan->ops_len; i++)
		for (size_t k = i + 1; k < plan->ops_len && plan->ops[i].kind == OP_HIDE; k++)
			if (law_is_mount(&plan->ops[k]) &&
			    (path_covers(plan->ops[k].dst, plan->ops[i].dst) ||
			     path_covers(plan->ops[i].dst, plan->ops[k].dst)))
				return LAW_BROKEN("%s is mounted after %s was hidden",
						  plan->ops[k].dst, plan->ops[i].dst);
	return true;
}

/* The engine stops at a hidden path that is not there. */
static bool law_hide_something(const struct trial *t, char note[512])
{
	const struct plan *plan = t->plan;

	for (size_t i = 0; i < plan->ops_len; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind == OP_HIDE && !(op->flags & OP_OPTIONAL) &&
		    !str_ends(op->dst, "/.pale") && view_at(plan, i, op->dst).sight <= SIGHT_HIDDEN)
			return LAW_BROKEN("there is no %s to hide", op->dst);
	}
	return true;
}

static bool law_has_pin(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if ((plan->ops[i].kind == OP_PIN || law_is_mount(&plan->ops[i]) ||
		     plan->ops[i].kind == OP_HIDE) &&
		    str_eq(plan->ops[i].dst, path))
			return true;
	return false;
}

/* A folder above a hidden path that can be renamed would show it next time. */
static bool law_pins(const struct trial *t, char note[512])
{
	const struct plan *plan = t->plan;

	for (size_t i = 0; i < plan->ops_len; i++) {
		const char *hidden = plan->ops[i].dst;

		if (plan->ops[i].kind != OP_HIDE || plan->ops[i].flags & OP_OPTIONAL)
			continue;
		for (const char *p = strchr(hidden + 1, '/'); p; p = strchr(p + 1, '/')) {
			_cleanup_(freep) char *dir = strndup(hidden, (size_t)(p - hidden));

			fake_must(dir);
			if (view_at(plan, plan->ops_len, dir).sight == SIGHT_WRITE &&
			    !law_has_pin(plan, dir))
				return LAW_BROKEN("%s can be renamed, with %s below", dir, hidden);
		}
	}
	return true;
}

/* What of the rules counts. */
enum law_rules {
	LAW_ALL_RULES,
	LAW_NARROW_RULES, /* without those that open everything */
};

/* A rule that opens is void where its own name is hidden, wherever it leads. */
static bool law_is_void(const struct trial *t, const struct strv *rules, const char *rule)
{
	const struct strv *hidden = &t->spec->paths_hidden;

	for (size_t i = 0; rules != hidden && i < hidden->len; i++)
		if (path_covers(hidden->items[i], rule))
			return true;
	return false;
}

/* Rules as the site has them: without links. */
static bool law_covers(const struct trial *t, const struct strv *rules, enum law_rules which,
		       const char *path)
{
	for (size_t i = 0; i < rules->len; i++) {
		if ((which == LAW_NARROW_RULES && str_eq(rules->items[i], "/")) ||
		    law_is_void(t, rules, rules->items[i]))
			continue;
		for (size_t k = 0; k < t->site->paths_len; k++)
			if (str_eq(t->site->paths[k].path, rules->items[i]) &&
			    t->site->paths[k].type != SITE_ABSENT &&
			    path_covers(t->site->paths[k].real, path))
				return true;
	}
	return false;
}

/* What the rules of the spec say of the host's PATH, system folders aside. */
static enum sight law_asked(const struct trial *t, enum law_rules which, const char *path)
{
	const struct spec *spec = t->spec;
	bool open = spec->filesystem == FILESYSTEM_UNRESTRICTED;
	bool workspace = path_covers(spec->workspace, path);

	if (law_covers(t, &spec->paths_hidden, LAW_ALL_RULES, path))
		return SIGHT_HIDDEN;
	if ((open && which == LAW_ALL_RULES) || law_covers(t, &spec->paths_writable, which, path) ||
	    (workspace && (open || spec->filesystem == FILESYSTEM_WORKSPACE_ONLY)))
		return SIGHT_WRITE;
	if (workspace && spec->filesystem != FILESYSTEM_NONE)
		return spec->ephemeral ? SIGHT_OVERLAY : SIGHT_READ;
	return law_covers(t, &spec->paths_readable, which, path) ? SIGHT_READ : SIGHT_NOTHING;
}

static bool law_is_secret(const char *path)
{
	return str_ends(path, "/credentials.toml");
}

/* What every sandbox shows. */
static bool law_is_common(const struct trial *t, const char *path)
{
	for (size_t i = 0; i < t->host->dirs_len; i++)
		if (!t->host->dirs[i].link && path_covers(t->host->dirs[i].path, path))
			return true;
	for (size_t i = 0; i < t->site->toolchains_len; i++)
		if (path_covers(t->site->toolchains[i].real, path))
			return !law_is_secret(path);
	return t->spec->network == NETWORK_UNRESTRICTED && strv_has(&t->host->files, path);
}

static bool law_shows_no_more(const struct trial *t, char note[512])
{
	for (const char *const *path = t->universe; *path; path++) {
		enum sight asked = law_asked(t, LAW_ALL_RULES, *path);
		enum sight got = view_of_host(t->plan, *path);

		if (got == SIGHT_NOTHING)
			continue;
		if (asked == SIGHT_HIDDEN)
			return LAW_BROKEN("%s is hidden and yet visible", *path);
		if (asked == SIGHT_NOTHING && !law_is_common(t, *path))
			return LAW_BROKEN("%s is visible", *path);
		if (got == SIGHT_WRITE && asked != SIGHT_WRITE)
			return LAW_BROKEN("%s is writable", *path);
	}
	return true;
}

/* Parts of the root that are the sandbox's own even if "/" is open: there, only
 * narrower rules count. */
static bool law_is_own(const char *path)
{
	static const char *const own[] = {"/run", "/tmp", "/var/tmp", "/dev", "/proc", "/sys"};

	for (size_t i = 0; i < array_len(own); i++)
		if (path_covers(own[i], path))
			return true;
	return false;
}

static bool law_shows_no_less(const struct trial *t, char note[512])
{
	for (const char *const *path = t->universe; *path; path++) {
		enum law_rules which = law_is_own(*path) ? LAW_NARROW_RULES : LAW_ALL_RULES;
		enum sight asked = law_asked(t, which, *path);
		struct view view = view_at(t->plan, t->plan->ops_len, *path);

		if (asked <= SIGHT_HIDDEN || law_is_secret(*path))
			continue;
		if (view.sight < asked || !str_eq(view.host, *path))
			return LAW_BROKEN("%s is not %s", *path,
					  asked == SIGHT_READ ? "readable" : "writable");
	}
	return true;
}

static bool law_grade(const struct trial *t, char note[512])
{
	const char *world = t->plan->world;

	for (const char *const *path = t->universe; *path; path++) {
		enum sight got = view_of_host(t->plan, *path);

		if ((str_eq(world, "sealed") || str_eq(world, "pinhole")) && got == SIGHT_WRITE)
			return LAW_BROKEN("%s, and %s is writable", world, *path);
		if (str_eq(world, "sealed") && got > SIGHT_HIDDEN && !law_is_common(t, *path))
			return LAW_BROKEN("sealed, and %s is readable", *path);
	}
	return true;
}

static bool law_root(const struct trial *t, char note[512])
{
	const struct plan *plan = t->plan;
	bool readonly = false, pivot = false;

	for (size_t i = 0; i < plan->ops_len; i++) {
		const struct op *op = &plan->ops[i];

		if (pivot && (law_is_mount(op) || op->kind == OP_HIDE || op->kind == OP_READONLY))
			return LAW_BROKEN("%s after the pivot", op_name(op->kind));
		if (readonly && law_is_mount(op))
			return LAW_BROKEN("%s after the root is read-only", op_name(op->kind));
		readonly = readonly || (op->kind == OP_READONLY && str_eq(op->dst, "/"));
		pivot = pivot || op->kind == OP_PIVOT;
	}
	if (!pivot || (plan->ops[0].kind == OP_ROOT && !readonly) ||
	    (plan->ops[0].kind != OP_ROOT && plan->ops[0].kind != OP_ROOT_BIND))
		return LAW_BROKEN("no root, a writable one, or no pivot");
	return true;
}

static bool law_confinement(const struct trial *t, char note[512])
{
	const struct plan *plan = t->plan;
	size_t n = plan->ops_len;

	n -= n > 0 && plan->ops[n - 1].kind == OP_LANDLOCK;
	if (n < 3 || plan->ops[n - 1].kind != OP_SECCOMP ||
	    plan->ops[n - 2].kind != OP_NO_NEW_PRIVS || plan->ops[n - 3].kind != OP_DROP_CAPS)
		return LAW_BROKEN("does not end in drop-caps, no-new-privs, seccomp");
	if (t->spec->processes == PROCESSES_VISIBLE && n == plan->ops_len &&
	    !(t->resolved->allow_degraded & DIM_BIT(DIM_PROCESSES)))
		return LAW_BROKEN("visible processes without a signal scope");
	return true;
}

static inline bool law_may_write(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == OP_ALLOW && !(plan->ops[i].flags & OP_RDONLY) &&
		    path_covers(plan->ops[i].dst, path))
			return true;
	return false;
}

/* The second layer says the same as the mounts, and is made while paths can
 * still be opened: the filter refuses that. */
static bool law_domain(const struct trial *t, char note[512])
{
	bool pivot = false, sealed = false;

	for (size_t i = 0; i < t->plan->ops_len; i++) {
		const struct op *op = &t->plan->ops[i];

		pivot = pivot || op->kind == OP_PIVOT;
		sealed = sealed || op->kind == OP_SECCOMP;
		if (op->kind != OP_ALLOW)
			continue;
		if (!pivot || sealed)
			return LAW_BROKEN("allow %s at the wrong time", op->dst);
		if (!(op->flags & OP_RDONLY) && view_at(t->plan, i, op->dst).sight == SIGHT_READ)
			return LAW_BROKEN("allow %s, which is read-only", op->dst);
	}
	for (const char *const *path = t->universe; *path; path++)
		if (view_at(t->plan, t->plan->ops_len, *path).sight >= SIGHT_OVERLAY &&
		    !law_may_write(t->plan, *path))
			return LAW_BROKEN("%s is writable but not allowed", *path);
	return true;
}

static bool law_namespaces(const struct trial *t, char note[512])
{
	unsigned long want = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;

	if (t->spec->network != NETWORK_UNRESTRICTED)
		want |= CLONE_NEWNET;
	if (t->spec->processes == PROCESSES_ISOLATED)
		want |= CLONE_NEWPID;
	return t->plan->namespaces == want ||
	       LAW_BROKEN("%lx instead of %lx", t->plan->namespaces, want);
}

static bool law_cwd(const struct trial *t, char note[512])
{
	return view_exists(t->plan, t->plan->cwd) ||
	       LAW_BROKEN("%s is not there inside", t->plan->cwd);
}

static bool law_may_pass(const struct trial *t, const char *pair)
{
	static const char *const always[] = {"PATH=",
					     "HOME=",
					     "PWD=",
					     "USER=",
					     "LANG=",
					     "LC_",
					     "TERM=",
					     "EDITOR=",
					     "TMPDIR=/tmp/pale-",
					     "GIT_CONFIG_GLOBAL=/dev/null"};

	for (size_t i = 0; i < array_len(always); i++)
		if (str_starts(pair, always[i]))
			return true;
	if (strv_has(&t->resolved->env_set, pair))
		return true;
	for (size_t i = 0; i < t->spec->env_pass.len; i++) {
		const char *rule = t->spec->env_pass.items[i];
		size_t len = strcspn(rule, "*");

		if (strncmp(pair, rule, len) != 0)
			continue;
		if (rule[len] == '*' ? !strstr(pair, "TOKEN") : pair[len] == '=')
			return true;
	}
	return t->spec->env == ENV_INHERIT;
}

static bool law_environment(const struct trial *t, char note[512])
{
	for (size_t i = 0; i < t->plan->env.len; i++)
		if (!law_may_pass(t, t->plan->env.items[i]))
			return LAW_BROKEN("%s is passed on", t->plan->env.items[i]);
	return true;
}

static const struct law laws[] = {
	{"a folder is mounted before what is below it, and once", law_parents_first},
	{"what is hidden is hidden after everything that could show it", law_hide_last},
	{"what is hidden is there to be hidden", law_hide_something},
	{"nothing above a hidden path can be renamed", law_pins},
	{"no path of the host is visible or writable beyond the spec", law_shows_no_more},
	{"every path that the spec opens is there", law_shows_no_less},
	{"the grade is no better than what can be reached", law_grade},
	{"the root is read-only and entered after all mounts", law_root},
	{"capabilities and privileges go last", law_confinement},
	{"what is mounted writable is writable to Landlock, and nothing else", law_domain},
	{"the namespaces are those of the spec", law_namespaces},
	{"the working folder exists inside", law_cwd},
	{"no variable is passed on that the spec does not name", law_environment},
};

/* -- Without namespaces ------------------------------------------------- */

static inline enum sight law_bare_sight(const struct plan *plan, const char *path)
{
	enum sight sight = SIGHT_NOTHING;

	for (size_t i = 0; i < plan->ops_len; i++) {
		const struct op *op = &plan->ops[i];
		enum sight here = op->flags & OP_RDONLY ? SIGHT_READ : SIGHT_WRITE;

		if (op->kind == OP_ALLOW && path_covers(op->dst, path) && here > sight)
			sight = here;
	}
	return sight;
}

static bool law_bare_rules(const struct trial *t, char note[512])
{
	for (const char *const *path = t->universe; *path; path++) {
		enum sight asked = law_asked(t, LAW_ALL_RULES, *path);
		enum sight got = law_bare_sight(t->plan, *path);

		if (got != SIGHT_NOTHING && asked == SIGHT_HIDDEN)
			return LAW_BROKEN("%s is hidden and yet open", *path);
		if (got != SIGHT_NOTHING && asked == SIGHT_NOTHING && !law_is_common(t, *path))
			return LAW_BROKEN("%s is open", *path);
		if (got == SIGHT_WRITE && asked != SIGHT_WRITE)
			return LAW_BROKEN("%s is writable", *path);
		if (asked > SIGHT_HIDDEN && got < asked && !law_is_secret(*path))
			return LAW_BROKEN("%s is not open as asked", *path);
	}
	return true;
}

static bool law_bare_shape(const struct trial *t, char note[512])
{
	const struct plan *plan = t->plan;
	size_t n = plan->ops_len;

	if (plan->namespaces || (plan->idmap != IDMAP_NONE && plan->idmap != IDMAP_SWITCH))
		return LAW_BROKEN("namespaces, or a map of ids");
	for (size_t i = 0; i < n; i++)
		if (plan->ops[i].kind <= OP_HOSTNAME)
			return LAW_BROKEN("%s without a namespace", op_name(plan->ops[i].kind));
	if (n < 4 || plan->ops[n - 1].kind != OP_LANDLOCK || plan->ops[n - 2].kind != OP_SECCOMP ||
	    plan->ops[n - 3].kind != OP_NO_NEW_PRIVS || plan->ops[n - 4].kind != OP_DROP_CAPS)
		return LAW_BROKEN("does not end in drop-caps, no-new-privs, seccomp, landlock");
	if (!(plan->ops[n - 1].flags & OP_FILES) || !(plan->ops[n - 2].flags & OP_BARE) ||
	    !(plan->ops[n - 2].flags & OP_OFFLINE) != (t->spec->network != NETWORK_NONE))
		return LAW_BROKEN("a domain or a filter of another kind");
	return true;
}

static const struct law laws_bare[] = {
	{"landlock: the rules open what the spec opens, and nothing else", law_bare_rules},
	{"landlock: no namespaces, the filter for that, and a domain", law_bare_shape},
	{"landlock: no variable is passed on that the spec does not name", law_environment},
};
