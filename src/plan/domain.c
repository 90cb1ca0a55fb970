/* SPDX-License-Identifier: MIT */
#include "plan/domain.h"

#include "plan/host.h"
#include "plan/op.h"
#include "plan/place.h"
#include "policy/spec.h"

unsigned domain_flags(const struct spec *spec, const struct host *host)
{
	unsigned flags = 0;

	/* A domain that is about files forbids to mount. One that is so old that it
	 * lets no file move to another folder would break too much. */
	if (!spec->nested && host->landlock_abi >= LANDLOCK_REFER_ABI)
		flags |= OP_FILES;
	/* Who may write everything has a hundred ways to those who listen. */
	if (flags & OP_FILES && host->landlock_abi >= LANDLOCK_SOCKET_ABI &&
	    spec->filesystem != FILESYSTEM_UNRESTRICTED)
		flags |= OP_SOCKETS;
	if (host->landlock_abi >= LANDLOCK_SIGNAL_ABI)
		flags |= OP_SIGNALS | OP_ABSTRACT;
	return flags;
}

static bool is_allowed(const struct places *places, size_t len, const char *path)
{
	for (size_t i = 0; i < len; i++)
		if (places->items[i].access != ACCESS_READ &&
		    path_covers(places->items[i].dst, path))
			return true;
	return path_covers("/dev", path);
}

int domain_compile(struct plan *plan, const struct places *places, unsigned flags)
{
	const struct place *root = places_at(places, "/");
	int r;

	if (root && root->access == ACCESS_WRITE)
		return plan_add(plan, OP_ALLOW, NULL, "/", OP_DEVICES);
	r = plan_add(plan, OP_ALLOW, NULL, "/", OP_RDONLY);
	if (r == 0)
		r = plan_add(plan, OP_ALLOW, NULL, "/dev", OP_DEVICES);
	/* Of a process its own name, its score when memory is short, and such. */
	if (r == 0)
		r = plan_add(plan, OP_ALLOW, NULL, "/proc", 0);
	for (size_t i = 0; i < places->len && r == 0; i++) {
		const struct place *place = &places->items[i];

		if (place->is_socket && flags & OP_SOCKETS)
			r = plan_add(plan, OP_ALLOW, NULL, place->dst,
				     OP_RDONLY | OP_FILE | OP_SOCKETS);
		else if (place->access != ACCESS_READ && !is_allowed(places, i, place->dst))
			r = plan_add(plan, OP_ALLOW, NULL, place->dst, place->flags & OP_FILE);
	}
	return r;
}

/* Whole devices and /proc would be those of all processes of the user. */
static int allow_kernel(struct plan *plan)
{
	static const char *const nodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					    "/dev/random", "/dev/urandom", "/dev/tty"};
	int r = plan_add(plan, OP_ALLOW, NULL, "/proc", OP_RDONLY);

	for (size_t i = 0; i < array_len(nodes) && r == 0; i++)
		r = plan_add(plan, OP_ALLOW, NULL, nodes[i], OP_FILE | OP_DEVICES);
	return r;
}

int domain_compile_bare(struct plan *plan, const struct places *places, const char *scratch)
{
	const struct place *root = places_at(places, "/");
	int r;

	if (root && root->access == ACCESS_WRITE)
		return plan_add(plan, OP_ALLOW, NULL, "/", OP_DEVICES);
	r = plan_add_mode(plan, OP_SCRATCH, scratch, 0700);
	if (r == 0)
		r = plan_add(plan, OP_ALLOW, NULL, scratch, 0);
	if (r == 0)
		r = allow_kernel(plan);
	for (size_t i = 0; i < places->len && r == 0; i++) {
		const struct place *place = &places->items[i];

		r = plan_add_bind(plan, OP_ALLOW, NULL, place->src,
				  (place->flags & OP_FILE) |
					  (place->access == ACCESS_WRITE ? 0 : OP_RDONLY),
				  place->id);
	}
	return r;
}
