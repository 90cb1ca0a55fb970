/* SPDX-License-Identifier: MIT */
#include "engine/bwrap-args.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"
#include "warden/step.h"

enum { NAME_LEN_MAX = PATH_MAX - 64 };

struct writer {
	const struct plan *plan;
	const struct bwrap_host *host;
	struct strv *out;
	bool *done; /* per operation: written ahead of its turn */
	const char *aux;
	uint64_t root_size;
	bool has_dev;
};

/* What `--dev` brings, all at once. */
static const char *const dev_names[] = {
	"/dev/null", "/dev/zero", "/dev/full",  "/dev/random", "/dev/urandom",
	"/dev/tty",  "/dev/fd",   "/dev/stdin", "/dev/stdout", "/dev/stderr",
	"/dev/ptmx", "/dev/pts",  "/dev/shm",
};

static bool is_dev_name(const char *path)
{
	for (size_t i = 0; i < array_len(dev_names); i++)
		if (strcmp(dev_names[i], path) == 0)
			return true;
	return false;
}

static int put(struct writer *w, const char *a, const char *b, const char *c)
{
	int r = strv_add(w->out, a);

	if (r == 0 && b)
		r = strv_add(w->out, b);
	return r < 0 || !c ? r : strv_add(w->out, c);
}

static int put_fd(struct writer *w, const char *option, int fd, const char *dst)
{
	int r = strv_add(w->out, option);

	if (r == 0)
		r = strv_addf(w->out, "%d", fd);
	return r < 0 ? r : strv_add(w->out, dst);
}

static int put_perms(struct writer *w, mode_t mode)
{
	int r = strv_add(w->out, "--perms");

	return r < 0 ? r : strv_addf(w->out, "%04o", mode);
}

static bool is_place(enum op_kind kind)
{
	return kind == OP_ROOT || kind == OP_ROOT_BIND || kind == OP_TMPFS || kind == OP_BIND ||
	       kind == OP_PRIVATE || kind == OP_PROC;
}

/* The operation before N that decides what is at PATH, or -1. */
static ssize_t place_of(const struct plan *plan, size_t n, const char *path)
{
	ssize_t found = -1;

	for (size_t i = 0; i < n; i++) {
		const struct op *op = &plan->ops[i];

		if (is_place(op->kind) && path_covers(op->dst, path) &&
		    (found < 0 || strlen(op->dst) >= strlen(plan->ops[found].dst)))
			found = (ssize_t)i;
	}
	return found;
}

/* The host's name of what is at PATH before operation N: *ret_name is NULL where
 * it is the sandbox's own. Our own /proc is the host's, too, as far as names go. */
static int host_name(const struct plan *plan, size_t n, const char *path, char **ret_name)
{
	ssize_t at = place_of(plan, n, path);
	const struct op *op = at < 0 ? NULL : &plan->ops[at];
	const char *rest;

	*ret_name = NULL;
	if (!op || (op->kind != OP_BIND && op->kind != OP_ROOT_BIND && op->kind != OP_PROC))
		return 0;
	rest = path + (strcmp(op->dst, "/") == 0 ? 0 : strlen(op->dst));
	*ret_name = op->kind != OP_BIND ? strdup(path)
		    : *rest             ? path_join(op->src, rest)
					: strdup(op->src);
	return *ret_name ? 0 : -ENOMEM;
}

/* What cannot be looked at may be there: nothing is left out for that. */
static int look(struct writer *w, const char *path, enum bwrap_type *ret, struct err *err)
{
	*ret = w->host->type(w->host->data, path);
	return *ret == BWRAP_UNKNOWN ? err_sys(err, -EIO, "look at %s", path) : 0;
}

/* bwrap would make a missing mount point: on the host, where that is writable. */
static int check_target(struct writer *w, size_t n, struct err *err)
{
	const char *dst = w->plan->ops[n].dst;
	enum bwrap_type type = BWRAP_UNKNOWN;
	_cleanup_(freep) char *name = NULL;
	int r;

	if (host_name(w->plan, n, dst, &name) < 0)
		return err_oom(err);
	r = name ? look(w, name, &type, err) : 0;
	return r < 0 || type != BWRAP_ABSENT ? r : err_sys(err, -ENOENT, "mount point %s", dst);
}

static int bind(struct writer *w, const char *src, const struct op *op, bool readonly,
		struct err *err)
{
	int fd = w->host->open_source(w->host->data, src, &op->id, err);

	if (fd < 0)
		return fd;
	return put_fd(w, readonly ? "--ro-bind-fd" : "--bind-fd", fd, op->dst) < 0 ? err_oom(err)
										   : 0;
}

static int write_bind(struct writer *w, size_t n, struct err *err)
{
	const struct op *op = &w->plan->ops[n];
	int r = check_target(w, n, err);

	return r < 0 ? r : bind(w, op->src, op, op->flags & OP_RDONLY, err);
}

/* What is at DST already, once more: for its own mount point and flags. */
static int write_rebind(struct writer *w, size_t n, bool readonly, struct err *err)
{
	const struct op *op = &w->plan->ops[n];
	ssize_t at = place_of(w->plan, n, op->dst);
	_cleanup_(freep) char *name = NULL;
	enum bwrap_type type = BWRAP_UNKNOWN;
	int r;

	if (host_name(w->plan, n, op->dst, &name) < 0)
		return err_oom(err);
	r = name && op->flags & OP_OPTIONAL ? look(w, name, &type, err) : 0;
	if (r < 0 || type == BWRAP_ABSENT)
		return r;
	if (!name)
		return err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
			       "bubblewrap cannot mount %s again: it is the sandbox's own",
			       op->dst);
	return bind(w, name, op, readonly || w->plan->ops[at].flags & OP_RDONLY, err);
}

/* What was mounted below before would be covered. */
static int write_readonly(struct writer *w, size_t n, struct err *err)
{
	const struct op *op = &w->plan->ops[n];

	if (strcmp(op->dst, "/") == 0)
		return put(w, "--remount-ro", "/", NULL) < 0 ? err_oom(err) : 0;
	for (size_t i = 0; i < n; i++)
		if (w->plan->ops[i].dst && strcmp(w->plan->ops[i].dst, op->dst) != 0 &&
		    path_covers(op->dst, w->plan->ops[i].dst))
			return err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
				       "bubblewrap cannot make %s read-only with %s in it", op->dst,
				       w->plan->ops[i].dst);
	return write_rebind(w, n, true, err);
}

static int write_tmpfs(struct writer *w, const char *dst, uint64_t size, mode_t mode)
{
	int r = put_perms(w, mode);

	if (r == 0)
		r = strv_add(w->out, "--size");
	if (r == 0)
		r = strv_addf(w->out, "%llu", (unsigned long long)size);
	return r < 0 ? r : put(w, "--tmpfs", dst, NULL);
}

/* The folders above get the mode of the tmpfs if bwrap makes them for it. */
static int write_private(struct writer *w, size_t n, struct err *err)
{
	const struct op *op = &w->plan->ops[n];
	const char *slash = strrchr(op->dst, '/');
	ssize_t at = place_of(w->plan, n, op->dst);
	int r = check_target(w, n, err);

	if (r < 0)
		return r;
	if (at >= 0 && w->plan->ops[at].kind == OP_ROOT && slash > op->dst) {
		r = put_perms(w, 0755);
		if (r == 0)
			r = strv_add(w->out, "--dir");
		if (r == 0)
			r = strv_addn(w->out, op->dst, (size_t)(slash - op->dst));
	}
	if (r == 0)
		r = write_tmpfs(w, op->dst, op->kind == OP_TMPFS ? op->size : w->root_size,
				op->mode);
	return r < 0 ? err_oom(err) : 0;
}

static int type_inside(struct writer *w, size_t n, enum bwrap_type *ret, struct err *err)
{
	const char *dst = w->plan->ops[n].dst;
	_cleanup_(freep) char *name = NULL;

	if (path_covers("/dev", dst) && strcmp(dst, "/dev") != 0 && !is_dev_name(dst)) {
		*ret = BWRAP_ABSENT;
		return 0;
	}
	if (host_name(w->plan, n, dst, &name) < 0)
		return err_oom(err);
	return look(w, name ? name : dst, ret, err);
}

static int write_hide(struct writer *w, size_t n, struct err *err)
{
	const struct op *op = &w->plan->ops[n];
	enum bwrap_type type = BWRAP_UNKNOWN;
	int r = 0, fd;

	if (w->aux && strcmp(w->aux, op->dst) == 0)
		return 0; /* never made */
	r = type_inside(w, n, &type, err);
	if (r < 0)
		return r;
	if (type == BWRAP_ABSENT)
		return op->flags & OP_OPTIONAL ? 0 : err_sys(err, -ENOENT, "hide %s", op->dst);
	if (type == BWRAP_DIR) {
		r = put_perms(w, 0);
		if (r == 0)
			r = put(w, "--tmpfs", op->dst, NULL);
		if (r == 0)
			r = put(w, "--remount-ro", op->dst, NULL);
		return r < 0 ? err_oom(err) : 0;
	}
	fd = w->host->open_empty(w->host->data, err);
	if (fd < 0)
		return fd;
	r = put_perms(w, 0);
	return r < 0 || put_fd(w, "--ro-bind-data", fd, op->dst) < 0 ? err_oom(err) : 0;
}

static int write_note(struct writer *w, size_t n, struct err *err)
{
	const struct op *op = &w->plan->ops[n];
	int fd, r = check_target(w, n, err);

	if (r == -ENOENT && op->flags & OP_OPTIONAL) {
		*err = (struct err){0};
		return 0;
	}
	if (r < 0)
		return r;
	fd = w->host->open_text(w->host->data, op->src, err);
	if (fd < 0)
		return fd;
	r = put_perms(w, 0444);
	return r < 0 || put_fd(w, "--ro-bind-data", fd, op->dst) < 0 ? err_oom(err) : 0;
}

/* bwrap makes the whole of /dev in one go. Its tmpfs has no bound, so it ends up
 * read-only; /dev/shm gets one of its own. */
static int write_dev(struct writer *w, size_t n, struct err *err)
{
	const struct op *op = &w->plan->ops[n];
	int r = 0;

	if (strcmp(op->dst, "/dev") != 0 && !is_dev_name(op->dst))
		return err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "bubblewrap cannot make %s",
			       op->dst);
	if (!w->has_dev)
		r = put(w, "--dev", "/dev", NULL);
	w->has_dev = true;
	if (r == 0 && strcmp(op->dst, "/dev/shm") == 0) {
		r = write_tmpfs(w, op->dst, op->kind == OP_TMPFS ? op->size : w->root_size,
				op->mode);
		if (r == 0)
			r = put(w, "--remount-ro", "/dev", NULL);
	}
	return r < 0 ? err_oom(err) : 0;
}

static int write_root_bind(struct writer *w, const struct op *op)
{
	return put(w, op->flags & OP_RDONLY ? "--ro-bind" : "--bind", "/", "/");
}

static int write_simple(struct writer *w, const struct op *op, struct err *err)
{
	int r = 0;

	switch ((int)op->kind) {
	case OP_ROOT: /* bwrap's own: no bound, but read-only in the end */
		w->root_size = op->size;
		break;
	case OP_AUX: /* for what bwrap does by itself */
		w->aux = op->dst;
		break;
	case OP_PIVOT:
	case OP_LOOPBACK: /* --unshare-net does it */
		break;
	case OP_ROOT_BIND:
		r = write_root_bind(w, op);
		break;
	case OP_SYMLINK:
		r = put(w, "--symlink", op->src, op->dst);
		break;
	case OP_PROC:
		r = put(w, "--proc", op->dst, NULL);
		break;
	case OP_LIMIT_USERNS:
		r = op->flags & OP_NESTED ? 0 : strv_add(w->out, "--disable-userns");
		break;
	case OP_HOSTNAME:
		r = put(w, "--hostname", op->src, NULL);
		break;
	default:
		if (step_is_known(op->kind))
			break; /* the warden's */
		return err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "bubblewrap has no '%s'",
			       op_name(op->kind));
	}
	return r < 0 ? err_oom(err) : 0;
}

static bool is_of_dev(const struct op *op)
{
	return op->dst && path_covers("/dev", op->dst) &&
	       (op->kind == OP_DEVICE || op->kind == OP_DEVPTS || op->kind == OP_SYMLINK ||
		op->kind == OP_TMPFS || op->kind == OP_PRIVATE);
}

static int write_op(struct writer *w, size_t n, struct err *err)
{
	const struct op *op = &w->plan->ops[n];

	if (is_of_dev(op))
		return write_dev(w, n, err);
	switch ((int)op->kind) {
	case OP_TMPFS:
	case OP_PRIVATE:
		return write_private(w, n, err);
	case OP_BIND:
		return write_bind(w, n, err);
	case OP_PIN:
		return write_rebind(w, n, false, err);
	case OP_READONLY:
		return write_readonly(w, n, err);
	case OP_HIDE:
		return write_hide(w, n, err);
	case OP_NOTE:
		return write_note(w, n, err);
	default:
		return write_simple(w, op, err);
	}
}

/* A pin comes last in the plan, where it takes along what is mounted below; here
 * it would cover that, so it comes before the first of those. */
static int write_pins_above(struct writer *w, size_t n, struct err *err)
{
	const struct plan *plan = w->plan;
	int r = 0;

	for (size_t i = n + 1; plan->ops[n].dst && i < plan->ops_len && r == 0; i++) {
		const struct op *pin = &plan->ops[i];

		if (pin->kind != OP_PIN || w->done[i] || strcmp(pin->dst, plan->ops[n].dst) == 0 ||
		    !path_covers(pin->dst, plan->ops[n].dst) ||
		    place_of(plan, i, pin->dst) >= (ssize_t)n)
			continue;
		w->done[i] = true;
		r = write_op(w, i, err);
	}
	return r;
}

/* It puts names of its own in front. What is deeper could only be looked for in vain, and for long. */
static int check_names(const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].dst && strlen(plan->ops[i].dst) >= NAME_LEN_MAX)
			return err_set(err, ERR_UNSUPPORTED, -ENAMETOOLONG,
				       "bubblewrap cannot mount on %.200s...: that lies too deep",
				       plan->ops[i].dst);
	return 0;
}

static int write_namespaces(struct writer *w)
{
	static const struct {
		unsigned long flag;
		const char *option;
	} options[] = {
		{CLONE_NEWUSER, "--unshare-user"}, {CLONE_NEWPID, "--unshare-pid"},
		{CLONE_NEWPID, "--as-pid-1"},      {CLONE_NEWIPC, "--unshare-ipc"},
		{CLONE_NEWUTS, "--unshare-uts"},   {CLONE_NEWNET, "--unshare-net"},
	};
	int r = strv_add(w->out, "--die-with-parent");

	for (size_t i = 0; i < array_len(options) && r == 0; i++)
		if (w->plan->namespaces & options[i].flag)
			r = strv_add(w->out, options[i].option);
	return r;
}

int bwrap_args(const struct plan *plan, const struct bwrap_host *host, struct strv *out,
	       struct err *err)
{
	_cleanup_(freep) bool *done = calloc(plan->ops_len + 1, sizeof(*done));
	struct writer w = {.plan = plan, .host = host, .out = out, .done = done};
	int r = check_names(plan, err);

	if (r < 0)
		return r;
	if (!done || write_namespaces(&w) < 0)
		return err_oom(err);
	for (size_t i = 0; i < plan->ops_len && r == 0; i++) {
		r = write_pins_above(&w, i, err);
		if (r == 0 && !done[i])
			r = write_op(&w, i, err);
	}
	return r;
}
