/* SPDX-License-Identifier: MIT */
/*
 * Two shapes of root. As a rule it is an empty tmpfs that gets what the spec
 * allows. When the spec makes all of "/" readable, it is the host's own root
 * with private parts laid over it.
 */
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
#include "plan/network.h"
#include "plan/op.h"
#include "plan/place.h"
#include "plan/protect.h"
#include "plan/toolchains.h"
#include "policy/spec.h"

bool layout_writes_root(const struct spec *spec)
{
	return spec->filesystem == FILESYSTEM_UNRESTRICTED || strv_has(&spec->paths_writable, "/");
}

/* Hide the host's PATH under every name that a place gives it. */
static int hide_everywhere(struct layout *l, const char *path)
{
	if (path_covers("/proc", path) || path_covers("/dev", path))
		return strv_add(&l->hides, path);
	for (size_t i = 0; i < l->places.len; i++) {
		const struct place *place = &l->places.items[i];
		_cleanup_(freep) char *name = NULL;
		int r;

		if (place->access == ACCESS_PRIVATE || !path_covers(place->src, path))
			continue;
		name = place_name_of(place, path);
		if (!name)
			return -ENOMEM;
		if (places_at(&l->places, name) != place)
			continue;
		r = strv_add(&l->hides, name);
		/* In a stage a folder of the host cannot be renamed. */
		if (r == 0 && place->access == ACCESS_WRITE && !l->staged)
			r = place_pin_parents(place, name, &l->pins);
		if (r < 0)
			return r;
	}
	return 0;
}

static int hide_all(struct layout *l)
{
	int r = 0;

	for (size_t i = 0; i < l->hidden.len && r == 0; i++)
		r = hide_everywhere(l, l->hidden.items[i]);
	paths_fold(&l->hides);
	return r;
}

bool layout_is_hidden(const struct layout *l, const char *path)
{
	return paths_cover(&l->hides, path);
}

/* Is the host's file of that name to be seen? A place that is hidden as a whole is none. */
static bool is_shown(const struct layout *l, const char *path)
{
	const struct place *place = places_at(&l->places, path);

	return place && !place->is_cache && !layout_is_hidden(l, path);
}

/* A link cannot be hidden: where it can be replaced, it is no way to policy. */
static int check_own_links(const struct layout *l, struct err *err)
{
	for (size_t i = 0; i < l->site->own_links.len; i++) {
		const char *link = l->site->own_links.items[i];
		const struct place *at = places_at(&l->places, link);

		if (!at || at->access != ACCESS_WRITE || l->staged || layout_is_hidden(l, link))
			continue;
		err_set(err, ERR_POLICY, -EPERM,
			"%s is writable, and pale's own files are reached through a link there, %s",
			at->dst, link);
		return err_hint(err, -EPERM,
				"set XDG_CONFIG_HOME and XDG_STATE_HOME to where they really are");
	}
	return 0;
}

/* What does not exist cannot be hidden, and must not be made by the command.
 * Where everything is writable, files are no boundary anyway. */
static int check_own(const struct layout *l, struct err *err)
{
	if (l->write_root)
		return 0;
	for (size_t i = 0; i < array_len(l->site->own); i++) {
		const struct site_path *own = &l->site->own[i];
		const struct place *at = own->real ? places_at(&l->places, own->real) : NULL;

		if (own->type != SITE_ABSENT || !at || at->access != ACCESS_WRITE || l->staged ||
		    layout_is_hidden(l, own->real))
			continue;
		err_set(err, ERR_POLICY, -EPERM,
			"%s is writable, and pale's own %s would be made there", at->dst,
			own->path);
		return err_hint_word(err, -EPERM,
				     "make it first, so that it can be hidden: mkdir -p ",
				     own->path, "");
	}
	return check_own_links(l, err);
}

/* Nothing is mounted over what is shown by another mount: it would have to be followed for good. */
static int check_mirrors(const struct layout *l, struct err *err)
{
	const struct strv *mirrors = &l->site->protection.mirrors;

	for (size_t i = 0; i < mirrors->len; i++) {
		const char *path = mirrors->items[i];
		const struct place *at = places_at(&l->places, path);

		if (!at || at->access != ACCESS_WRITE || layout_is_hidden(l, path))
			continue;
		err_set(err, ERR_POLICY, -EPERM,
			"%s is what is protected elsewhere, shown once more by a mount of the host",
			path);
		return err_hint_word(err, -EPERM, "unmount it, or hide it: --hide ", path, "");
	}
	return 0;
}

/* A rule that opens what is protected could not be kept. */
static int protect_names(struct layout *l, struct err *err)
{
	const struct strv *rules = &l->spec->paths_writable;

	for (size_t i = 0; i < rules->len; i++) {
		const struct site_path *at = layout_find_site(l, rules->items[i]);

		if (at->type == SITE_ABSENT || !protection_covers(&l->site->protection, at->real))
			continue;
		err_set(err, ERR_POLICY, -EPERM, "%s is protected: it cannot be made writable",
			at->path);
		return err_hint(err, -EPERM,
				"programs of the host act on it; change it outside of the sandbox");
	}
	if (protect_compile(&l->site->protection, &l->places, &l->hides, l->plan, &l->pins,
			    &l->readonly) < 0)
		return err_oom(err);
	return check_mirrors(l, err);
}

/* A folder that is not there inside is no place to start in. */
static bool is_there(const struct layout *l, const char *path)
{
	const struct place *place = path ? places_at(&l->places, path) : NULL;

	if (!place || layout_is_hidden(l, path))
		return false;
	return place->access != ACCESS_PRIVATE || str_eq(place->dst, path);
}

static int choose_cwd(struct layout *l)
{
	const char *cwd = "/";

	if (is_there(l, l->site->cwd))
		cwd = l->site->cwd;
	else if (is_there(l, l->site->workspace))
		cwd = l->site->workspace;
	else if (is_there(l, l->site->home_real))
		cwd = l->site->home_real;
	l->plan->cwd = strdup(cwd);
	return l->plan->cwd ? 0 : -ENOMEM;
}

/* What can only be read is read-only as a mount; the stage's layers are not. */
static int emit_staged(struct layout *l, const struct place *place)
{
	struct plan *plan = l->plan;
	bool writes = place->access == ACCESS_WRITE || plan->throws_away;
	int r;

	if (place->is_part)
		return plan_add(plan, OP_WRITABLE, NULL, place->dst, place->flags & OP_FILE);
	r = plan_add_bind(plan, OP_STAGED, place->src, place->dst,
			  place->flags | (writes ? 0 : OP_RDONLY), place->id);
	if (r == 0 && place->access == ACCESS_OVERLAY && !plan->throws_away)
		r = plan_add(plan, OP_OVERLAY, NULL, place->dst, 0);
	return r;
}

static int emit_place(struct layout *l, const struct place *place, const struct place *around)
{
	struct plan *plan = l->plan;

	if (place->is_staged || place->is_part)
		return emit_staged(l, place);
	switch (place->access) {
	case ACCESS_PRIVATE:
		/* The root's own tmpfs can lend a folder only where it is to be seen. */
		return around && around->access != ACCESS_PRIVATE
			       ? plan_add_apart(plan, place->dst, l->spec->tmpfs, place->mode)
			       : plan_add_mode(plan, OP_PRIVATE, place->dst, place->mode);
	case ACCESS_READ:
		return plan_add_bind(plan, OP_BIND, place->src, place->dst,
				     place->flags | OP_RDONLY, place->id);
	case ACCESS_OVERLAY:
		return plan_add_bind(plan, OP_OVERLAY, place->src, place->dst, place->flags,
				     place->id);
	case ACCESS_WRITE:
		return plan_add_bind(plan, OP_BIND, place->src, place->dst, place->flags,
				     place->id);
	}
	return -EINVAL;
}

static int emit_places(struct layout *l)
{
	struct places above = l->places;
	int r = 0;

	for (size_t i = 0; i < l->places.len && r == 0; i++) {
		const struct place *place = &l->places.items[i];

		above.len = i;
		if (!place->is_root && !fixture_is_made(l->whole_root, place->dst))
			r = emit_place(l, place, places_at(&above, place->dst));
	}
	return r;
}

/* A rule that was written through a link works under that name as well. */
static int emit_alias(struct layout *l, const char *path, const char *real)
{
	const struct place *at = places_at(&l->places, path);

	if (str_eq(path, real) || !is_there(l, real) || (at && at->access != ACCESS_PRIVATE) ||
	    (at && str_eq(at->dst, path)))
		return 0;
	return plan_add(l->plan, OP_SYMLINK, real, path, 0);
}

static int emit_aliases(struct layout *l, const struct strv *rules)
{
	int r = 0;

	for (size_t i = 0; i < rules->len && r == 0; i++) {
		const struct site_path *at = layout_find_site(l, rules->items[i]);

		if (at->type != SITE_ABSENT)
			r = emit_alias(l, at->path, at->real);
	}
	return r;
}

/* The credentials that lie in a toolchain, unless they were asked for. */
static int hide_toolchain_secrets(struct layout *l)
{
	for (const struct toolchain *t = toolchains; l->site->home_real && t->path; t++) {
		_cleanup_(freep) char *dir = NULL;
		const struct place *at;

		if (!t->secrets)
			continue;
		dir = path_join(l->site->home_real, t->path);
		if (!dir)
			return -ENOMEM;
		at = places_at(&l->places, dir);
		if (!at || !str_eq(at->dst, dir))
			continue;
		for (size_t i = 0; t->secrets[i]; i++) {
			_cleanup_(freep) char *file = path_join(dir, t->secrets[i]);

			if (!file)
				return -ENOMEM;
			if (places_at(&l->places, file) == at && !layout_is_hidden(l, file) &&
			    plan_add(l->plan, OP_HIDE, NULL, file, OP_OPTIONAL) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static unsigned hide_flags(const struct layout *l, const char *path)
{
	const struct place *at = places_at(&l->places, path);

	if (layout_is_kernel_path(path))
		return OP_OPTIONAL;
	return at && (at->is_staged || at->is_part) ? OP_LOOSE : 0;
}

/* D-Bus has one of its own, or a link to the other. */
static int hide_machine_id(struct layout *l)
{
	int r = 0;

	if (l->write_root)
		return 0;
	if (l->host->has_machine_id && is_shown(l, MACHINE_ID))
		r = plan_add(l->plan, OP_HIDE, NULL, MACHINE_ID, 0);
	if (r == 0 && is_shown(l, DBUS_MACHINE_ID))
		r = plan_add(l->plan, OP_HIDE, NULL, DBUS_MACHINE_ID, OP_OPTIONAL);
	return r;
}

static int emit_hidden(struct layout *l)
{
	int r = 0;

	for (size_t i = 0; i < l->pins.len && r == 0; i++)
		r = plan_add(l->plan, OP_PIN, NULL, l->pins.items[i], 0);
	if (r == 0)
		r = layout_pin_sockets(l);
	for (size_t i = 0; i < l->readonly.len && r == 0; i++)
		r = plan_add(l->plan, OP_READONLY, NULL, l->readonly.items[i], 0);
	for (size_t i = 0; i < l->hides.len && r == 0; i++)
		r = plan_add(l->plan, OP_HIDE, NULL, l->hides.items[i],
			     hide_flags(l, l->hides.items[i]));
	if (r == 0)
		r = layout_emit_sockets(l);
	if (r == 0)
		r = hide_machine_id(l);
	return r < 0 ? r : hide_toolchain_secrets(l);
}

/* Names are the broker's to resolve: what the host knows of them is of no use, or none of the
 * sandbox's business. */
static int emit_names(struct layout *l)
{
	const struct {
		const char *path, *text;
	} files[] = {{l->host->resolv_conf, network_resolv_conf}, {l->host->hosts, network_hosts}};
	int r = 0;

	for (size_t i = 0; i < array_len(files) && r == 0; i++)
		if (files[i].path && !layout_is_hidden(l, files[i].path))
			r = plan_add(l->plan, OP_NOTE, files[i].text, files[i].path, OP_OPTIONAL);
	return r;
}

/* A rule opens everything below: nothing there can be hidden. */
static int check_bare(const struct layout *l, struct err *err)
{
	const char *path = l->hides.len ? l->hides.items[0] : NULL;

	for (size_t i = 0; i < l->site->toolchains_len && !path; i++) {
		const struct site_path *at = &l->site->toolchains[i];
		const struct place *place = places_at(&l->places, at->path);

		if (at->has_secrets && place && str_eq(place->dst, at->path))
			path = at->path;
	}
	if (!path)
		return 0;
	return err_hint(err,
			err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
				"engine \"landlock\" cannot hide what is below an open folder: %s",
				path),
			"use --engine native, or open only what lies beside it");
}

static int emit_bare(struct layout *l)
{
	int r = choose_cwd(l);

	if (r == 0)
		r = domain_compile_bare(l->plan, &l->places, l->site->scratch);
	if (r < 0 || !l->host->outer_path)
		return r;
	/* For a pale further inside. */
	return plan_add(l->plan, OP_ALLOW, NULL, l->host->outer_path, OP_RDONLY | OP_FILE);
}

static int emit(struct layout *l)
{
	const struct fixtures fixtures = {.whole_root = l->whole_root,
					  .write_root = l->write_root,
					  .nested = l->spec->nested,
					  .tmpfs = l->spec->tmpfs};
	int r = choose_cwd(l);

	if (r == 0)
		r = fixtures_begin(l->plan, &fixtures, l->host);
	if (r == 0)
		r = emit_places(l);
	if (r == 0)
		r = emit_aliases(l, &l->spec->paths_readable);
	if (r == 0)
		r = emit_aliases(l, &l->spec->paths_writable);
	if (r == 0 && l->site->home)
		r = emit_alias(l, l->site->home, l->site->home_real);
	if (r == 0)
		r = emit_aliases(l, &l->spec->sockets);
	if (r == 0)
		r = emit_hidden(l);
	if (r == 0 && l->plan->net.brokered)
		r = emit_names(l);
	if (r == 0)
		r = fixtures_end(l->plan, &fixtures);
	if (r == 0 && domain_flags(l->spec, l->host) & OP_FILES)
		r = domain_compile(l->plan, &l->places, domain_flags(l->spec, l->host));
	return r;
}

/* An overlay that lies below something writable would throw nothing away. */
static int check_ephemeral(const struct layout *l, struct err *err)
{
	const struct place *at = places_at(&l->places, l->site->workspace);

	if (!l->spec->ephemeral || !at || at->access != ACCESS_WRITE)
		return 0;
	return err_hint(err,
			err_set(err, ERR_CONFIG, -EINVAL,
				"ephemeral, but %s is writable and holds the workspace", at->dst),
			"drop one of them");
}

int layout_compile(struct plan *plan, const struct spec *spec, const struct host *host,
		   const struct site *site, struct err *err)
{
	struct layout l = {.plan = plan, .spec = spec, .host = host, .site = site};
	int r;

	l.bare = plan->engine == ENGINE_LANDLOCK;
	l.write_root = layout_writes_root(spec);
	l.whole_root = l.write_root || strv_has(&spec->paths_readable, "/");
	l.staged = plan->stage;
	r = layout_collect_hidden(&l, err);
	if (r == 0)
		r = layout_collect_places(&l, err);
	if (r == 0) {
		places_settle(&l.places, &l.hidden);
		r = check_ephemeral(&l, err);
	}
	if (r == 0)
		r = layout_stage(&l, err);
	if (r == 0 && hide_all(&l) < 0)
		r = err_oom(err);
	if (r == 0)
		r = check_own(&l, err);
	if (r == 0 && !l.write_root && !l.bare && !l.staged)
		r = protect_names(&l, err);
	strv_sort_unique(&l.pins);
	if (r == 0 && layout_hide_sockets(&l) < 0)
		r = err_oom(err);
	if (r == 0 && l.bare)
		r = check_bare(&l, err);
	if (r == 0 && (l.bare ? emit_bare(&l) : emit(&l)) < 0)
		r = err_oom(err);
	places_release(&l.places);
	strv_release(&l.hidden);
	strv_release(&l.hides);
	strv_release(&l.pins);
	strv_release(&l.readonly);
	strv_release(&l.sockets);
	strv_release(&l.socket_pins);
	return r;
}
