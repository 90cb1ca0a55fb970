/* SPDX-License-Identifier: MIT */
/*
 * Two shapes of root. As a rule it is an empty tmpfs that gets what the spec
 * allows. When the spec makes all of "/" readable, it is the host's own root
 * with private parts laid over it.
 *
 * What goes where is first collected as places, one per path, then sorted, so
 * that a folder is always mounted before what lies below it.
 */
#include "plan/layout.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "plan/host.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "plan/toolchains.h"
#include "policy/spec.h"

#define DEFAULT_TMPFS (1ull << 30)
#define DEV_TMPFS     (1ull << 20)

enum access { ACCESS_PRIVATE, ACCESS_READ, ACCESS_OVERLAY, ACCESS_WRITE };

struct place {
	const char *dst; /* borrowed */
	const char *src;
	enum access access;
	unsigned flags; /* OP_IDMAP, OP_FILE */
	mode_t mode;
};

struct layout {
	struct plan *plan;
	const struct spec *spec;
	const struct host *host;
	const struct site *site;
	bool whole_root; /* the host's "/" is the root */
	bool write_root;
	const char *aux;
	struct place *places;
	size_t len, cap;
};

static int add_place(struct layout *l, struct place place)
{
	if (l->len == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 32;
		struct place *grown = reallocarray(l->places, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->places = grown;
		l->cap = cap;
	}
	l->places[l->len++] = place;
	return 0;
}

static const struct site_path *find_site(const struct site *site, const char *path)
{
	for (size_t i = 0; i < site->paths_len; i++)
		if (str_eq(site->paths[i].path, path))
			return &site->paths[i];
	BUG("a path of the spec was not probed");
}

static bool is_kernel_path(const char *path)
{
	return path_covers("/proc", path) || path_covers("/dev", path) || path_covers("/sys", path);
}

static int add_rules(struct layout *l, const struct strv *rules, enum access access,
		     struct err *err)
{
	for (size_t i = 0; i < rules->len; i++) {
		const struct site_path *at = find_site(l->site, rules->items[i]);
		struct place place = {.dst = at->real, .src = at->real, .access = access};

		if (at->type == SITE_ABSENT && access == ACCESS_READ)
			continue; /* nothing there to read */
		if (at->type == SITE_ABSENT)
			return err_hint(err,
					err_set(err, ERR_POLICY, -ENOENT,
						"writable path %s does not exist", at->path),
					"create it first: pale makes nothing outside the sandbox");
		if (str_eq(at->real, "/"))
			continue;
		if (is_kernel_path(at->real))
			return err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
				       "%s cannot be opened: /proc, /dev and /sys are the sandbox's own",
				       at->path);
		place.flags = OP_IDMAP | (at->type == SITE_FILE ? OP_FILE : 0);
		if (add_place(l, place) < 0)
			return err_oom(err);
	}
	return 0;
}

static int add_workspace(struct layout *l)
{
	struct place place = {.dst = l->site->workspace,
			      .src = l->site->workspace,
			      .flags = OP_IDMAP,
			      .access = ACCESS_READ};

	if (l->spec->filesystem == FILESYSTEM_NONE)
		return 0;
	if (l->spec->filesystem == FILESYSTEM_WORKSPACE_ONLY)
		place.access = ACCESS_WRITE;
	else if (l->spec->ephemeral)
		place.access = ACCESS_OVERLAY;
	return add_place(l, place);
}

/* Is PATH opened by a rule that covers it? Then it is not replaced by an empty
 * one: the policy says that it is there. */
static bool is_readable(const struct layout *l, const char *path)
{
	for (size_t i = 0; i < l->len; i++)
		if (l->places[i].access != ACCESS_PRIVATE && path_covers(l->places[i].dst, path))
			return true;
	return false;
}

static int add_private(struct layout *l, const char *path, mode_t mode)
{
	return is_readable(l, path)
		       ? 0
		       : add_place(l, (struct place){.dst = path, .mode = mode, .access = ACCESS_PRIVATE});
}

static int add_home(struct layout *l)
{
	const struct site *site = l->site;
	int r;

	if (!site->home || is_readable(l, site->home))
		return 0;
	r = add_private(l, site->home, 0700);
	for (size_t i = 0; i < site->toolchains_len && r == 0; i++)
		r = add_place(l, (struct place){.dst = site->toolchains[i].path,
						.src = site->toolchains[i].real,
						.access = ACCESS_READ,
						.flags = OP_IDMAP});
	return r;
}

static int add_system(struct layout *l)
{
	int r = 0;

	for (size_t i = 0; i < l->host->dirs_len && r == 0; i++) {
		const struct host_dir *dir = &l->host->dirs[i];

		if (!dir->link)
			r = add_place(l, (struct place){.dst = dir->path,
							.src = dir->path,
							.access = ACCESS_READ});
	}
	for (size_t i = 0; i < l->host->files.len && r == 0; i++)
		if (l->spec->network != NETWORK_NONE)
			r = add_place(l, (struct place){.dst = l->host->files.items[i],
							.src = l->host->files.items[i],
							.access = ACCESS_READ,
							.flags = OP_FILE});
	return r;
}

static int collect(struct layout *l, struct err *err)
{
	int r = 0;

	if (!l->whole_root)
		r = add_system(l);
	if (r == 0 && !l->write_root)
		r = add_workspace(l);
	if (r < 0)
		return err_oom(err);
	if (!l->whole_root)
		r = add_rules(l, &l->spec->paths_readable, ACCESS_READ, err);
	if (r == 0 && !l->write_root)
		r = add_rules(l, &l->spec->paths_writable, ACCESS_WRITE, err);
	if (r < 0)
		return r;
	if (!l->whole_root)
		r = add_home(l);
	if (r == 0 && !l->whole_root)
		r = add_private(l, "/run", 0755);
	if (r == 0 && !l->write_root)
		r = add_private(l, "/tmp", 01777);
	if (r == 0 && !l->write_root)
		r = add_private(l, "/var/tmp", 01777);
	return r < 0 ? err_oom(err) : 0;
}

/* By path, and of one path the loosest first: it is the one that counts. */
static int compare_places(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;
	int order = strcmp(pa->dst, pb->dst);

	return order ? order : (int)pb->access - (int)pa->access;
}

static const struct place *covering(const struct layout *l, size_t i)
{
	const struct place *nearest = NULL;

	for (size_t k = 0; k < i; k++)
		if (path_covers(l->places[k].dst, l->places[i].dst) &&
		    (!nearest || strlen(l->places[k].dst) >= strlen(nearest->dst)))
			nearest = &l->places[k];
	return nearest;
}

/* A rule below a folder that already gives at least as much adds nothing:
 * writable beats readable. Only the bare folder of a home is in the way. */
static bool is_redundant(const struct layout *l, size_t i)
{
	const struct place *place = &l->places[i], *above = covering(l, i);

	if (!above || above->access == ACCESS_PRIVATE)
		return above && place->access == ACCESS_PRIVATE && str_eq(above->dst, place->dst);
	return place->access <= above->access;
}

static int emit_place(struct layout *l, const struct place *place)
{
	struct plan *plan = l->plan;

	switch (place->access) {
	case ACCESS_PRIVATE:
		return l->whole_root ? plan_add_sized(plan, OP_TMPFS, place->dst, l->spec->tmpfs)
				     : plan_add_mode(plan, OP_PRIVATE, place->dst, place->mode);
	case ACCESS_READ:
		return plan_add(plan, OP_BIND, place->src, place->dst, place->flags | OP_RDONLY);
	case ACCESS_OVERLAY:
		return plan_add(plan, OP_OVERLAY, place->src, place->dst,
				place->flags | OP_RDONLY);
	case ACCESS_WRITE:
		return plan_add(plan, OP_BIND, place->src, place->dst, place->flags);
	}
	return -EINVAL;
}

static int emit_places(struct layout *l)
{
	int r = 0;

	qsort(l->places, l->len, sizeof(*l->places), compare_places);
	for (size_t i = 0; i < l->len && r == 0; i++)
		if (!is_redundant(l, i))
			r = emit_place(l, &l->places[i]);
	return r;
}

static bool is_shown(const struct layout *l, const char *path)
{
	return l->whole_root || is_readable(l, path);
}

/* Every folder between the writable place and what is hidden in it becomes a
 * mount point, so that none can be renamed away for the next run. */
static int emit_pins(struct layout *l, const char *hidden)
{
	for (size_t i = 0; i < l->len; i++) {
		const char *top = l->places[i].dst;
		size_t top_len = strlen(top);

		if (l->places[i].access != ACCESS_WRITE || !path_covers(top, hidden))
			continue;
		for (const char *p = strchr(hidden + top_len + 1, '/'); p; p = strchr(p + 1, '/')) {
			_cleanup_(freep) char *dir = strndup(hidden, (size_t)(p - hidden));
			int r = dir ? plan_add(l->plan, OP_PIN, NULL, dir, 0) : -ENOMEM;

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int emit_hidden(struct layout *l)
{
	int r = 0;

	for (size_t i = 0; i < l->spec->paths_hidden.len && r == 0; i++) {
		const struct site_path *at = find_site(l->site, l->spec->paths_hidden.items[i]);

		if (at->type == SITE_ABSENT || !is_shown(l, at->real))
			continue;
		r = emit_pins(l, at->real);
		if (r == 0)
			r = plan_add(l->plan, OP_HIDE, NULL, at->real, 0);
	}
	return r;
}

static int emit_toolchain_secrets(struct layout *l)
{
	int r = 0;

	if (!l->site->home || l->whole_root || is_readable(l, l->site->home))
		return 0;
	for (const struct toolchain *t = toolchains; t->path; t++)
		for (size_t i = 0; t->secrets && t->secrets[i] && r == 0; i++) {
			_cleanup_(freep) char *dir = path_join(l->site->home, t->path);
			_cleanup_(freep) char *file = dir ? path_join(dir, t->secrets[i]) : NULL;

			if (!file)
				return -ENOMEM;
			if (is_readable(l, file))
				r = plan_add(l->plan, OP_HIDE, NULL, file, OP_OPTIONAL);
		}
	return r;
}

static int emit_root(struct layout *l)
{
	struct plan *plan = l->plan;
	int r;

	if (l->whole_root) {
		r = plan_add(plan, OP_ROOT_BIND, "/", "/", l->write_root ? 0 : OP_RDONLY);
		if (r == 0)
			r = plan_add_sized(plan, OP_TMPFS, "/run", l->spec->tmpfs);
	} else {
		r = plan_add_sized(plan, OP_ROOT, "/", l->spec->tmpfs);
		for (size_t i = 0; i < l->host->dirs_len && r == 0; i++)
			if (l->host->dirs[i].link)
				r = plan_add(plan, OP_SYMLINK, l->host->dirs[i].link,
					     l->host->dirs[i].path, 0);
	}
	return r < 0 ? r : plan_add_mode(plan, OP_AUX, l->aux, 0700);
}

/* Who is nobody outside is kept from most of /proc by its permissions. What is
 * left: settings that belong to our own namespaces, and other people's keys. */
static const char *const proc_readonly[] = {"/proc/sys", NULL};
static const char *const proc_hidden[] = {"/proc/keys", "/proc/scsi", "/proc/asound", NULL};
/* Root outside is not. */
static const char *const proc_readonly_root[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sysrq-trigger", NULL,
};
static const char *const proc_hidden_root[] = {
	"/proc/acpi", "/proc/kcore", "/proc/sched_debug", "/proc/timer_list", NULL,
};

static int emit_each(struct plan *plan, enum op_kind kind, const char *const *paths)
{
	int r = 0;

	for (; *paths && r == 0; paths++)
		r = plan_add(plan, kind, NULL, *paths, OP_NOEXEC | OP_OPTIONAL);
	return r;
}

static int emit_proc(struct layout *l)
{
	struct plan *plan = l->plan;
	bool own = plan->namespaces & CLONE_NEWPID, root = plan->idmap == IDMAP_IDENTITY;
	int r;

	r = own ? plan_add(plan, OP_PROC, NULL, "/proc", 0)
		: plan_add(plan, OP_BIND, "/proc", "/proc", OP_NOEXEC);
	if (r == 0 && !l->spec->nested)
		r = plan_add(plan, OP_LIMIT_USERNS, NULL, NULL, 0);
	if (r == 0 && !own)
		r = plan_add(plan, OP_READONLY, NULL, "/proc", OP_NOEXEC);
	if (r == 0 && own)
		r = emit_each(plan, OP_READONLY, proc_readonly);
	if (r == 0 && own && root)
		r = emit_each(plan, OP_READONLY, proc_readonly_root);
	if (r == 0)
		r = emit_each(plan, OP_HIDE, proc_hidden);
	if (r == 0 && root)
		r = emit_each(plan, OP_HIDE, proc_hidden_root);
	return r;
}

static int emit_dev(struct layout *l)
{
	static const char *const nodes[] = {"/dev/null",   "/dev/zero",	   "/dev/full",
					    "/dev/random", "/dev/urandom", "/dev/tty"};
	static const char *const links[][2] = {
		{"/dev/fd", "/proc/self/fd"},	  {"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
		{"/dev/ptmx", "pts/ptmx"},
	};
	struct plan *plan = l->plan;
	int r = 0;

	if (l->whole_root)
		r = plan_add_sized(plan, OP_TMPFS, "/dev", DEV_TMPFS);
	for (size_t i = 0; i < array_len(nodes) && r == 0; i++)
		r = plan_add(plan, OP_DEVICE, NULL, nodes[i], OP_FILE);
	for (size_t i = 0; i < array_len(links) && r == 0; i++)
		r = plan_add(plan, OP_SYMLINK, links[i][1], links[i][0], 0);
	if (r == 0)
		r = plan_add(plan, OP_DEVPTS, NULL, "/dev/pts", 0);
	if (r == 0)
		r = l->whole_root ? plan_add_sized(plan, OP_TMPFS, "/dev/shm", l->spec->tmpfs)
				  : plan_add_mode(plan, OP_PRIVATE, "/dev/shm", 01777);
	return r;
}

static int emit_end(struct layout *l)
{
	int r = plan_add(l->plan, OP_HIDE, NULL, l->aux, 0);

	if (r == 0 && !l->whole_root)
		r = plan_add(l->plan, OP_READONLY, NULL, "/", 0);
	return r < 0 ? r : plan_add(l->plan, OP_PIVOT, NULL, NULL, 0);
}

static bool covers_root(const struct strv *rules)
{
	return strv_has(rules, "/");
}

int layout_compile(struct plan *plan, const struct spec *spec, const struct host *host,
		   const struct site *site, struct err *err)
{
	struct layout l = {.plan = plan, .spec = spec, .host = host, .site = site};
	int r;

	l.write_root = spec->filesystem == FILESYSTEM_UNRESTRICTED ||
		       covers_root(&spec->paths_writable);
	l.whole_root = l.write_root || covers_root(&spec->paths_readable);
	l.aux = l.whole_root ? "/run/.pale" : "/.pale";

	r = collect(&l, err);
	if (r < 0)
		goto out;
	r = emit_root(&l);
	if (r == 0)
		r = emit_proc(&l);
	if (r == 0)
		r = emit_dev(&l);
	if (r == 0)
		r = emit_places(&l);
	if (r == 0)
		r = emit_hidden(&l);
	if (r == 0)
		r = emit_toolchain_secrets(&l);
	if (r == 0)
		r = emit_end(&l);
	if (r < 0)
		err_oom(err);
out:
	free(l.places);
	return r;
}
