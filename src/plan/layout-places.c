/* SPDX-License-Identifier: MIT */
/* What the spec, the system and the user put where, before anything is settled. */
#include "plan/layout-impl.h"
#include "plan/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "plan/domain.h"
#include "plan/fixtures.h"
#include "plan/host.h"
#include "plan/op.h"
#include "plan/place.h"
#include "plan/protect.h"
#include "plan/toolchains.h"
#include "policy/spec.h"

/* They were probed list by list, and so they are asked for. */
const struct site_path *layout_find_site(struct layout *l, const char *path)
{
	const struct site *site = l->site;

	for (size_t i = 0; i < site->paths_len; i++) {
		const struct site_path *at = &site->paths[(l->site_next + i) % site->paths_len];

		if (!str_eq(at->path, path))
			continue;
		l->site_next = (size_t)(at - site->paths) + 1;
		return at;
	}
	BUG("a path of the spec was not probed");
}

bool layout_is_kernel_path(const char *path)
{
	return path_covers("/proc", path) || path_covers("/dev", path) || path_covers("/sys", path);
}

int layout_collect_hidden(struct layout *l, struct err *err)
{
	const struct strv *rules = &l->spec->paths_hidden;

	for (size_t i = 0; i < rules->len; i++) {
		const struct site_path *at = layout_find_site(l, rules->items[i]);

		if (at->type == SITE_ABSENT)
			continue;
		if (str_eq(at->real, "/"))
			return err_hint(err,
					err_set(err, ERR_CONFIG, -EINVAL,
						"paths_hidden = \"/\" leaves nothing to run"),
					"use filesystem = \"none\"");
		if (strv_add(&l->hidden, at->real) < 0)
			return err_oom(err);
	}
	for (size_t i = 0; i < l->site->ignored.len; i++)
		if (strv_add(&l->hidden, l->site->ignored.items[i]) < 0)
			return err_oom(err);
	for (size_t i = 0; i < array_len(l->site->own); i++)
		if (l->site->own[i].type != SITE_ABSENT &&
		    strv_add(&l->hidden, l->site->own[i].real) < 0)
			return err_oom(err);
	paths_fold(&l->hidden);
	return 0;
}

/* By the name that the rule gives: hidden beats it, wherever that leads. */
static bool is_hidden_by_name(const struct layout *l, const char *path)
{
	for (size_t i = 0; i < l->spec->paths_hidden.len; i++)
		if (path_covers(l->spec->paths_hidden.items[i], path))
			return true;
	return false;
}

static int refuse_kernel_path(const char *path, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
		       "%s cannot be opened: /proc, /dev and /sys are the sandbox's own", path);
}

static int add_rules(struct layout *l, const struct strv *rules, enum access access,
		     struct err *err)
{
	for (size_t i = 0; i < rules->len; i++) {
		const struct site_path *at = layout_find_site(l, rules->items[i]);
		struct place place = {
			.dst = at->real, .src = at->real, .access = access, .id = at->id};

		if (is_hidden_by_name(l, at->path))
			continue;
		if (at->type == SITE_ABSENT && access == ACCESS_READ)
			continue; /* nothing there to read */
		if (at->type == SITE_ABSENT)
			return err_hint(err,
					err_set(err, ERR_POLICY, -ENOENT,
						"writable path %s does not exist", at->path),
					"create it first: pale makes nothing outside the sandbox");
		if (str_eq(at->real, "/"))
			continue;
		if (layout_is_kernel_path(at->real))
			return refuse_kernel_path(at->path, err);
		if (at->type == SITE_SOCKET)
			return err_hint(err,
					err_set(err, ERR_POLICY, -EPERM,
						"%s is a socket: it is no path to read or write",
						at->path),
					"name it in sockets");
		place.flags = OP_IDMAP | (at->type == SITE_FILE ? OP_FILE : 0);
		if (places_add(&l->places, place) < 0)
			return err_oom(err);
	}
	return 0;
}

static bool is_own(const struct layout *l, const char *path)
{
	for (size_t i = 0; i < array_len(l->site->own); i++)
		if (l->site->own[i].real && path_covers(l->site->own[i].real, path))
			return true;
	return false;
}

/* What is wrong with a rule that shows a socket, or NULL. */
static const char *misfit(const struct layout *l, const struct site_path *at)
{
	if (at->type == SITE_ABSENT)
		return "it does not exist";
	if (at->type != SITE_SOCKET)
		return "it is no socket";
	if (layout_is_kernel_path(at->real))
		return "/proc, /dev and /sys are the sandbox's own";
	return is_own(l, at->real) ? "it is pale's own" : NULL;
}

/* Each by itself: nothing else of its folder is seen. To read is enough to connect. */
static int add_sockets(struct layout *l, struct err *err)
{
	for (size_t i = 0; i < l->spec->sockets.len; i++) {
		const struct site_path *at = layout_find_site(l, l->spec->sockets.items[i]);
		const char *why = misfit(l, at);

		if (is_hidden_by_name(l, at->path))
			continue;
		if (why)
			return err_hint(err,
					err_set(err, ERR_POLICY,
						at->type == SITE_ABSENT ? -ENOENT : -EPERM,
						"socket %s cannot be shown: %s", at->path, why),
					"leave it out of sockets, or name another");
		if (places_add(&l->places, (struct place){.dst = at->real,
							  .src = at->real,
							  .access = ACCESS_READ,
							  .id = at->id,
							  .flags = OP_IDMAP | OP_FILE,
							  .is_socket = true}) < 0)
			return err_oom(err);
	}
	return 0;
}

static int add_workspace(struct layout *l)
{
	struct place place = {.dst = l->site->workspace,
			      .src = l->site->workspace,
			      .flags = OP_IDMAP,
			      .access = ACCESS_READ,
			      .id = l->site->workspace_id};

	if (l->spec->filesystem == FILESYSTEM_NONE)
		return 0;
	if (l->spec->filesystem == FILESYSTEM_WORKSPACE_ONLY || l->write_root)
		place.access = ACCESS_WRITE;
	else if (l->spec->ephemeral)
		place.access = ACCESS_OVERLAY;
	return places_add(&l->places, place);
}

/* The repository that the workspace is a working tree of. */
static int add_repository(struct layout *l)
{
	const struct protection *p = &l->site->protection;
	bool writes = l->spec->filesystem == FILESYSTEM_WORKSPACE_ONLY;

	if (l->spec->filesystem == FILESYSTEM_NONE || !p->git_common)
		return 0;
	return places_add(&l->places, (struct place){.dst = p->git_common,
						     .src = p->git_common,
						     .flags = OP_IDMAP,
						     .access = writes ? ACCESS_WRITE : ACCESS_READ,
						     .id = p->git_common_id});
}

/* The root of the host, or its system directories. */
static int add_system(struct layout *l)
{
	int r = 0;

	if (l->whole_root)
		return places_add(&l->places, (struct place){.dst = "/",
							     .src = "/",
							     .access = l->write_root ? ACCESS_WRITE
										     : ACCESS_READ,
							     .is_root = true});
	for (size_t i = 0; i < l->host->dirs_len && r == 0; i++) {
		const struct host_dir *dir = &l->host->dirs[i];

		if (!dir->link)
			r = places_add(&l->places, (struct place){.dst = dir->path,
								  .src = dir->path,
								  .access = ACCESS_READ,
								  .is_system = true});
	}
	return r;
}

static int add_resolver(struct layout *l)
{
	int r = 0;

	for (size_t i = 0; i < l->host->files.len && r == 0; i++)
		if (l->spec->network == NETWORK_UNRESTRICTED)
			r = places_add(&l->places, (struct place){.dst = l->host->files.items[i],
								  .src = l->host->files.items[i],
								  .access = ACCESS_READ,
								  .flags = OP_FILE});
	return r;
}

/* Something that the policy shows is not replaced by an empty folder. */
static int add_private(struct layout *l, const char *path, mode_t mode)
{
	if (l->bare || places_show(&l->places, path))
		return 0;
	return places_add(&l->places,
			  (struct place){.dst = path, .mode = mode, .access = ACCESS_PRIVATE});
}

static int add_home(struct layout *l)
{
	const struct site *site = l->site;
	int r = 0;

	/* Service users live in places like /usr/sbin. */
	if (!site->home_real || l->whole_root || path_covers("/usr", site->home_real) ||
	    places_show(&l->places, site->home_real))
		return 0;
	/* As another user, bwrap cannot reach what is in root's home. */
	if (l->plan->engine == ENGINE_BWRAP && l->host->uid != l->plan->uid)
		return add_private(l, site->home_real, 0700);
	for (size_t i = 0; i < site->toolchains_len && r == 0; i++) {
		const struct site_path *at = &site->toolchains[i];

		/* Without mounts, what is secret in it could not be covered. */
		if (!l->bare || !at->has_secrets)
			r = places_add(&l->places, (struct place){.dst = at->path,
								  .src = at->real,
								  .id = at->id,
								  .access = ACCESS_READ,
								  .flags = OP_IDMAP});
	}
	return r < 0 ? r : add_private(l, site->home_real, 0700);
}

/* They are in no order yet. */
static const struct place *find_around(const struct places *places, const char *path)
{
	const struct place *found = NULL;

	for (size_t i = 0; i < places->len; i++) {
		const struct place *place = &places->items[i];

		if (!path_covers(place->dst, path))
			continue;
		if (!found ||
		    (str_eq(found->dst, place->dst) ? place->access > found->access
						    : path_covers(found->dst, place->dst)))
			found = place;
	}
	return found;
}

/* Where the host's own files are shown, a folder has to be there to mount on. */
static int check_cache(const struct layout *l, const struct site_cache *cache, struct err *err)
{
	const struct place *around = find_around(&l->places, cache->dst);

	/* Nothing is made in it, so that there is nothing to mount these on. */
	for (size_t i = 0; i < l->places.len; i++)
		if (path_covers(cache->dst, l->places.items[i].dst) &&
		    !str_eq(cache->dst, l->places.items[i].dst)) {
			err_set(err, ERR_POLICY, -EINVAL, "cache %s would lie around %s",
				cache->dst, l->places.items[i].dst);
			return err_hint(err, -EINVAL, "name a folder below");
		}
	if (!around || !around->src || around->is_cache)
		return 0;
	if (around->access == ACCESS_WRITE && str_eq(around->dst, cache->dst)) {
		err_set(err, ERR_POLICY, -EINVAL,
			"cache %s would take the place of a folder that can be written",
			cache->dst);
		return err_hint(err, -EINVAL, "leave one of the two out");
	}
	if (cache->is_file)
		return err_set(err, ERR_POLICY, -ENOTDIR,
			       "cache %s is a file, and caches are folders", cache->dst);
	if (!cache->is_absent)
		return 0;
	err_set(err, ERR_POLICY, -ENOENT, "cache %s does not exist", cache->dst);
	return err_hint(err, -ENOENT, "create it first: pale makes nothing outside the sandbox");
}

static int add_caches(struct layout *l, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < l->site->caches_len; i++) {
		struct place place = {.dst = l->site->caches[i].dst,
				      .src = l->site->caches[i].src,
				      .access = ACCESS_WRITE,
				      .flags = OP_IDMAP,
				      .is_cache = true};

		/* The warden goes by what is in /proc. */
		if (layout_is_kernel_path(place.dst))
			return refuse_kernel_path(place.dst, err);
		r = check_cache(l, &l->site->caches[i], err);
		if (r < 0)
			return r;
		if (places_add(&l->places, place) < 0)
			return err_oom(err);
	}
	return 0;
}

int layout_collect_places(struct layout *l, struct err *err)
{
	int r = add_system(l);

	if (r == 0)
		r = add_workspace(l);
	if (r == 0)
		r = add_repository(l);
	if (r < 0)
		return err_oom(err);
	r = add_rules(l, &l->spec->paths_readable, ACCESS_READ, err);
	if (r == 0)
		r = add_rules(l, &l->spec->paths_writable, ACCESS_WRITE, err);
	if (r == 0)
		r = add_sockets(l, err);
	if (r < 0)
		return r;
	if (add_home(l) < 0)
		return err_oom(err);
	r = add_caches(l, err);
	if (r < 0)
		return r;
	r = add_resolver(l);
	if (r == 0)
		r = add_private(l, "/run", 0755);
	if (r == 0 && !l->write_root)
		r = add_private(l, "/tmp", 01777);
	if (r == 0 && !l->write_root)
		r = add_private(l, "/var/tmp", 01777);
	return r < 0 ? err_oom(err) : 0;
}
