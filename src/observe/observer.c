/* SPDX-License-Identifier: MIT */
#include "observe/observer.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "confine/confine.h"
#include "observe/attempt.h"
#include "observe/call.h"
#include "observe/noise.h"
#include "net/broker.h"
#include "observe/profile.h"
#include "observe/refused.h"
#include "observe/task.h"
#include "plan/plan.h"
#include "warden/step.h"

/* Calls in one turn: others wait for the supervisor, too. */
enum { BATCH = 64, TABLE_MAX = 1 << 20, TRIES = 3 };

void observer_init(struct observer *o, const struct plan *plan, struct violations *found,
		   struct profile *profile)
{
	const struct op *op = step_observed(plan->ops, plan->ops_len);

	*o = (struct observer){.scene = {.plan = plan, .root = -1},
			       .variant = step_seccomp(op),
			       .nested = op->flags & OP_NESTED,
			       .listener = -1,
			       .mounts = -1,
			       .found = found,
			       .profile = profile};
}

void observer_begin(struct observer *o, int listener)
{
	o->listener = listener;
	o->begin_ns = clock_mono_ns();
	o->found->observed = true;
}

static uint64_t now_ms(const struct observer *o)
{
	return (clock_mono_ns() - o->begin_ns) / 1000000;
}

static void note(struct observer *o, struct violation *new)
{
	if (new && o->noted)
		o->noted(o->data, o->found, new);
}

/* With PEER: of the network. */
static void count_peer(struct observer *o, struct violations *list, const char *dimension,
		       const char *op, const char *target, enum violation_cause cause,
		       const struct address *peer)
{
	char program[TASK_PROGRAM_MAX];
	struct violation *new;

	/* Without memory there is one line less to report. */
	if (violations_add(list, dimension, op, target, now_ms(o), &new) < 0 || !new)
		return;
	new->cause = cause;
	new->weight = noise_weigh(op, target);
	task_program(o->caller, program);
	violation_set_peer(new, program[0] ? program : NULL, NULL, peer ? peer->text : NULL,
			   peer ? peer->port : 0);
	if (list == o->found)
		note(o, new);
}

static void count(struct observer *o, struct violations *list, const char *dimension,
		  const char *op, const char *target, enum violation_cause cause)
{
	count_peer(o, list, dimension, op, target, cause, NULL);
}

/* All processes have one root, but for those in a namespace that they made. */
static bool enter_scene(struct observer *o, pid_t pid)
{
	char path[64];
	struct stat task, root;

	if (o->scene.root < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root", pid);
		o->scene.root = fd_open(path, O_PATH | O_DIRECTORY);
		/* The last attempt is looked at when the run may be over. */
		snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
		if (o->scene.root >= 0)
			o->mounts = fd_open(path, O_RDONLY);
		return o->scene.root >= 0;
	}
	if (!o->nested)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/root/", pid);
	return stat(path, &task) == 0 && fstat(o->scene.root, &root) == 0 &&
	       task.st_dev == root.st_dev && task.st_ino == root.st_ino;
}

/* The command's own program: by what it was executed cannot be read, as an ordinary user.
 * Mounts go with the run, so it is looked for as soon as its root is known. */
static void note_program(struct observer *o)
{
	const struct plan *plan = o->scene.plan;
	const char *name = plan->argv.items[0], *dirs = "/usr/local/bin:/usr/bin:/bin";
	char path[PATH_MAX], folder[PATH_MAX];

	if (!o->has_begun || o->has_program)
		return;
	o->has_program = true;
	for (size_t i = 0; i < plan->env.len; i++)
		if (str_starts(plan->env.items[i], "PATH="))
			dirs = plan->env.items[i] + strlen("PATH=");
	if (strchr(name, '/'))
		dirs = plan->cwd;
	while (*dirs) {
		size_t len = strchr(name, '/') ? strlen(dirs) : strcspn(dirs, ":");

		snprintf(folder, sizeof(folder), "%.*s", (int)len, dirs);
		if (len > 0 && task_join(folder, name, path) == 0 && scene_has(&o->scene, path)) {
			(void)profile_add_path(o->profile, path, PROFILE_EXECUTE);
			o->profile->spawns++;
			return;
		}
		dirs += len + (dirs[len] != '\0');
	}
}

/* Executions of what is not there are a search along PATH. */
static void note_uses(struct observer *o, const struct attempt *a)
{
	attempt_profile(a, o->profile);
	if (!a->call || a->call->kind != CALL_EXECUTE)
		return;
	if (a->uses[0].path && (o->scene.root < 0 || scene_has(&o->scene, a->uses[0].path)))
		o->profile->spawns++;
	o->has_program |= !o->has_begun && a->uses[0].path;
	o->has_begun = true;
}

static void judge_name(struct observer *o, const struct attempt *a, const char *path,
		       enum name_use use)
{
	static const enum violation_cause causes[] = {
		[VERDICT_READONLY] = CAUSE_READONLY,
		[VERDICT_PROTECTED] = CAUSE_PROTECTED,
		[VERDICT_HIDDEN] = CAUSE_HIDDEN,
		[VERDICT_MISSING] = CAUSE_HIDDEN,
	};
	const char *dimension = use == NAME_REACHED ? "sockets" : "filesystem", *op = a->op;
	enum verdict_kind verdict = scene_judge(&o->scene, path, use, a->no_follow);

	if (verdict == VERDICT_FINE)
		return;
	/* Many open for writing what may be there or not. */
	if (use == NAME_OPENED && scene_has(&o->scene, path))
		op = "open";
	count(o, verdict == VERDICT_MISSING ? &o->missing : o->found, dimension, op, path,
	      causes[verdict]);
}

/* As much of it as TABLE_MAX: the kernel names those that listen first, and after a storm of
 * connections there are many others. */
static void read_head(const char *path, struct str *ret)
{
	_cleanup_(fd_closep) int fd = fd_open(path, O_RDONLY);
	char buf[16384];
	ssize_t n;

	while (fd >= 0 && ret->len < TABLE_MAX && (n = read(fd, buf, sizeof(buf))) > 0)
		if (str_append_bytes(ret, buf, (size_t)n) < 0)
			break;
}

static bool listens(const char *where, unsigned port)
{
	static const char *const tables[] = {"tcp", "tcp6"};

	for (size_t i = 0; i < array_len(tables); i++) {
		_cleanup_(str_release) struct str text = {0};
		char path[64];

		snprintf(path, sizeof(path), "/proc/%s/net/%s", where, tables[i]);
		read_head(path, &text);
		if (address_listens(str_text(&text), port))
			return true;
	}
	return false;
}

/* Somebody listens inside: earlier attempts only came too soon. */
static void forget(struct violations *list, const char *target)
{
	for (size_t i = 0; i < list->len; i++)
		if (str_eq(list->items[i].op, "connect") && str_eq(list->items[i].target, target))
			list->items[i].weight = VIOLATION_PROBE;
}

/* The private network has a loopback and nothing else. */
static void judge_internet(struct observer *o, const struct attempt *a)
{
	char target[sizeof(a->address.text) + 16], pid[16];

	if (!(o->scene.plan->namespaces & CLONE_NEWNET))
		return;
	address_target(&a->address, target, sizeof(target));
	if (a->address.kind == ADDRESS_INTERNET) {
		count_peer(o, o->found, "network", a->op, target, CAUSE_NETWORK, &a->address);
		return;
	}
	snprintf(pid, sizeof(pid), "%d", a->pid);
	if (listens(pid, a->address.port))
		forget(&o->missing, target);
	else
		count_peer(o, &o->missing, "network", "connect", target, CAUSE_NETWORK,
			   &a->address);
}

static void judge_address(struct observer *o, const struct attempt *a)
{
	switch (a->address.kind) {
	case ADDRESS_INTERNET:
	case ADDRESS_LOOPBACK:
		judge_internet(o, a);
		break;
	case ADDRESS_PATH:
		judge_name(o, a, a->path, NAME_REACHED);
		break;
	case ADDRESS_ABSTRACT:
		if (o->scene.plan->namespaces & CLONE_NEWNET)
			count(o, &o->missing, "sockets", "connect", a->address.text, CAUSE_HIDDEN);
		break;
	case ADDRESS_OTHER:
		break;
	}
}

static void judge(struct observer *o, const struct attempt *a)
{
	if (a->call->kind == CALL_CONNECT) {
		judge_address(o, a);
		return;
	}
	for (size_t i = 0; i < 2; i++)
		if (a->uses[i].path)
			judge_name(o, a, a->uses[i].path, a->uses[i].use);
}

/* -- Calls that the filter refuses ---------------------------------------- */

static const char *dimension_of(const struct observer *o, const char *name)
{
	static const struct {
		const char *dimension, *name;
	} known[] = {
		{"nested", "unshare"},       {"nested", "setns"},
		{"nested", "clone"},         {"nested", "mount"},
		{"nested", "umount2"},       {"nested", "pivot_root"},
		{"nested", "chroot"},        {"nested", "open_tree"},
		{"nested", "move_mount"},    {"nested", "fsopen"},
		{"nested", "fsconfig"},      {"nested", "fsmount"},
		{"nested", "fspick"},        {"nested", "mount_setattr"},
		{"processes", "ptrace"},     {"processes", "process_vm_readv"},
		{"processes", "kcmp"},       {"processes", "process_vm_writev"},
		{"processes", "prlimit64"},  {"processes", "pidfd_getfd"},
		{"processes", "move_pages"}, {"processes", "migrate_pages"},
	};

	bool bare = o->variant == SECCOMP_BARE || o->variant == SECCOMP_BARE_OFFLINE;

	/* Without namespaces nobody may trace, whatever `processes` says. */
	for (size_t i = 0; i < array_len(known); i++)
		if (str_eq(known[i].name, name) &&
		    !(bare && str_eq(known[i].dimension, "processes")))
			return known[i].dimension;
	if (str_eq(name, "socket") && o->variant == SECCOMP_BARE_OFFLINE)
		return "network";
	return "seccomp";
}

/* What can be said of one without its memory. */
static const char *subject_of(const struct seccomp_data *data)
{
	if (data->nr == __NR_socket || data->nr == __NR_socketpair)
		return address_family_name((int)data->args[0]);
	return NULL;
}

static void note_refusal(struct observer *o, const struct seccomp_data *data,
			 const struct attempt *a)
{
	const char *name = seccomp_call_name(data->nr);
	const char *target = a->uses[0].path ? a->uses[0].path : subject_of(data);

	count(o, o->found, dimension_of(o, name), a->call ? a->op : name, target, CAUSE_SECCOMP);
}

/* -- The listener --------------------------------------------------------- */

bool observer_answer(struct observer *o, uint64_t id, int error)
{
	struct seccomp_notif_resp response = {
		.id = id,
		.error = error,
		.flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	while (ioctl(o->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0) {
		if (errno == ENOENT || o->failed++ >= TRIES)
			return false;
	}
	o->failed = 0;
	return true;
}

/* What becomes of it the broker tells: nobody else knows names. */
static bool is_broker_s(const struct observer *o, const struct attempt *a)
{
	return o->brokered.broker &&
	       (a->address.kind == ADDRESS_INTERNET || a->address.kind == ADDRESS_LOOPBACK);
}

/* False when nothing waits. */
static bool serve_one(struct observer *o)
{
	struct pollfd fd = {.fd = o->listener, .events = POLLIN};
	struct seccomp_notif notice = {0};
	struct attempt attempt;
	bool here;
	int error;

	/* To receive would wait. */
	if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLIN))
		return false;
	if (ioctl(o->listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0) {
		o->failed += errno != ENOENT; /* that one's caller was killed */
		return o->failed <= TRIES;
	}
	error = seccomp_answer(o->variant, &notice.data);
	o->caller = (pid_t)notice.pid;
	attempt_read(o->caller, &notice.data, &attempt);
	/* Once answered it may end, and its root with it. */
	here = enter_scene(o, attempt.pid);
	if (!error && brokered_take(o, &notice, &attempt))
		return true;
	if (!observer_answer(o, notice.id, error) || (!error && is_broker_s(o, &attempt)))
		return true;
	if (o->profile)
		note_uses(o, &attempt);
	if (o->profile && here)
		note_program(o);
	if (error)
		note_refusal(o, &notice.data, &attempt);
	else if (attempt.call && here)
		judge(o, &attempt);
	return true;
}

bool observer_serve(struct observer *o)
{
	for (int i = 0; i < BATCH && serve_one(o); i++)
		;
	return o->failed <= TRIES;
}

/* -- The broker ----------------------------------------------------------- */

static void profile_peer(struct observer *o, const char *name, const struct endpoint *to,
			 unsigned how)
{
	char address[ENDPOINT_TEXT_MAX];

	if (!o->profile)
		return;
	endpoint_print_address(to, address);
	(void)profile_add_peer(o->profile, name ? name : address, to->port, how);
}

void observer_refused(struct observer *o, const struct refusal *refusal)
{
	note(o, refused_add(o->found, refusal, now_ms(o)));
	if (refusal->kind == REFUSED_NAME || refusal->kind == REFUSED_PORT ||
	    refusal->kind == REFUSED_ADDRESS)
		profile_peer(o, refusal->name, &refusal->to, PROFILE_REFUSED);
}

void observer_reached(struct observer *o, const char *name, const struct endpoint *to)
{
	profile_peer(o, name, to, PROFILE_REACHED);
}

/* -- The end -------------------------------------------------------------- */

static void read_table(const char *path, struct str *ret)
{
	_cleanup_(fd_closep) int fd = fd_open(path, O_RDONLY);

	if (fd < 0 || fd_read_all(fd, TABLE_MAX, ret) < 0)
		str_release(ret);
}

/* To make something takes a folder to make it in. */
static bool folder_is_on_host(const char *path, const char *mountinfo)
{
	_cleanup_(freep) char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));

	return folder && *folder && host_has(folder, mountinfo);
}

static bool is_on_host(const struct violation *v, const char *mountinfo, const char *sockets)
{
	const char *colon = strrchr(v->target, ':');

	if (str_eq(v->dimension, "network"))
		return colon && listens("self", (unsigned)strtoul(colon + 1, NULL, 10));
	if (v->target[0] == '@')
		return address_is_bound(sockets, v->target);
	return host_has(v->target, mountinfo) ||
	       (!str_eq(v->op, "open") && !str_eq(v->op, "connect") &&
		folder_is_on_host(v->target, mountinfo));
}

void observer_finish(struct observer *o)
{
	_cleanup_(str_release) struct str mountinfo = {0}, sockets = {0};

	if (o->missing.len > 0) {
		read_table("/proc/self/mountinfo", &mountinfo);
		read_table("/proc/self/net/unix", &sockets);
	}
	for (size_t i = 0; i < o->missing.len; i++) {
		const struct violation *v = &o->missing.items[i];
		struct violation *new;

		if (!is_on_host(v, str_text(&mountinfo), str_text(&sockets)) ||
		    violations_add(o->found, v->dimension, v->op, v->target, v->first_ms, &new) <
			    0 ||
		    !new)
			continue;
		new->cause = v->cause;
		new->weight = v->weight;
		new->count = v->count;
		new->last_ms = v->last_ms;
		violation_set_peer(new, v->program, v->name, v->address, v->port);
	}
	if (o->profile && o->scene.root < 0) /* it had no name to look up: the host's will do */
		o->scene.root = fd_open("/", O_PATH | O_DIRECTORY);
	if (o->profile && o->scene.root >= 0)
		note_program(o);
	violations_release(&o->missing);
	o->scene.root = fd_close(o->scene.root);
	o->mounts = fd_close(o->mounts);
}
