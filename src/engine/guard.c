/* SPDX-License-Identifier: MIT */
#include "engine/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir-names.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "engine/guard-name.h"
#include "engine/guard-wires.h"
#include "plan/plan.h"
#include "result/event.h"

enum {
	QUARANTINE_MAX = 16, /* things of one run */
	SIGHTINGS_MAX = 256,
	LOOK_NS = 2000000, /* between two looks, without inotify */
	READS_MAX = 8,     /* per turn of the loop: others want their turn too */
	WAKES = 3,         /* more, after the run may go on, */
	WAKE_NS = 2000000, /* the first so much later, and each eight times as late */
};

#define APPEARED (IN_CREATE | IN_MOVED_TO)
#define VANISHED (IN_DELETE | IN_MOVED_FROM)
#define LOST     (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)

static void record(struct guard *g, const struct guard_item *item, enum tamper_action action,
		   const char *where, const char *reason)
{
	_cleanup_(freep) char *path = path_join(item->what->dir, item->what->name);
	uint64_t done = where ? g->quarantine.renamed_ns : clock_mono_ns();

	/* Without memory it goes unreported, but not undone. */
	if (path)
		(void)events_add_tamper(g->events, path, action, where, reason,
					(done - g->noticed_ns) / 1000);
	if (g->power.noted)
		g->power.noted(g->power.end_data);
}

static void end_run(struct guard *g, const struct guard_item *item, const char *where,
		    const char *reason)
{
	if (!g->ended && !g->over)
		g->power.end(g->power.end_data);
	g->ended = true;
	record(g, item, g->over && where ? TAMPER_QUARANTINED : TAMPER_ENDED, where, reason);
}

/* The order is on its way while we do the deed; a run that cannot be stopped is
 * ended. */
static void stop_run(struct guard *g, const struct guard_item *item)
{
	if (g->stopped || g->ended || g->over)
		return;
	if (g->power.stop(g->power.stop_data, true) < 0)
		end_run(g, item, NULL, "it could not be stopped");
	else
		g->stopped = true;
}

static void let_go_on(struct guard *g)
{
	if (!g->ended && !g->over && g->power.stop(g->power.stop_data, false) < 0)
		g->power.end(g->power.end_data);
}

static void on_wake(void *data, short revents)
{
	struct guard *g = data;

	(void)revents;
	if (!g->stopped)
		let_go_on(g);
	g->wake_ns *= 8;
	g->waker.at_ns = --g->wakes > 0 ? clock_mono_ns() + g->wake_ns : LOOP_NEVER;
}

/* A process that is just being forked gets the order to stop when it is there, but not the one to
 * go on, which the kernel drops where it means nothing yet: it is given again. */
static void go_on(struct guard *g)
{
	if (!g->stopped)
		return;
	let_go_on(g);
	g->stopped = false;
	if (!g->loop)
		return;
	if (!g->waker.fn) {
		g->waker = (struct loop_timer){.fn = on_wake, .data = g};
		loop_add_timer(g->loop, &g->waker);
	}
	g->wakes = WAKES;
	g->wake_ns = WAKE_NS;
	g->waker.at_ns = clock_mono_ns() + g->wake_ns;
}

/* Take away what is at ITEM. *ret_where is where it is now. */
static int take_away(struct guard *g, const struct guard_item *item, char **ret_where)
{
	const struct guard_dir *dir = &g->dirs[item->dir];
	struct err err = {0};
	int r;

	r = quarantine_take(&g->quarantine, dir->fd, dir->path, item->what->name, ret_where, &err);
	if (r < 0 && r != -ENOENT)
		end_run(g, item, *ret_where, err.message);
	else if (r == 0 && g->quarantine.count - g->quarantined_before >= QUARANTINE_MAX &&
		 !g->over)
		end_run(g, item, *ret_where, "it happened too often");
	return r;
}

static void sighted(struct guard *g, const struct guard_item *item)
{
	record(g, item, TAMPER_GONE, NULL, NULL);
	if (++g->sightings >= SIGHTINGS_MAX && !g->over)
		end_run(g, item, NULL, "it happened too often");
}

static void check_absent(struct guard *g, struct guard_item *item, bool there, uint32_t mask)
{
	_cleanup_(freep) char *where = NULL;
	int r = -ENOENT;

	if (g->rests || (!there && !(mask & APPEARED)))
		return;
	if (there) {
		stop_run(g, item);
		r = take_away(g, item, &where);
	}
	if (r == 0)
		record(g, item, TAMPER_QUARANTINED, where, NULL);
	else if (r == -ENOENT)
		sighted(g, item);
}

static bool is_our_link(const struct guard *g, const struct guard_item *item)
{
	return name_is_link(g->dirs[item->dir].fd, item->what->name, item->what->link);
}

static void check_link(struct guard *g, struct guard_item *item, bool there)
{
	_cleanup_(freep) char *where = NULL;

	if (there && is_our_link(g, item))
		return;
	stop_run(g, item);
	if (there && take_away(g, item, &where) < 0 && g->ended)
		return;
	if (symlinkat(item->what->link, g->dirs[item->dir].fd, item->what->name) < 0 &&
	    !is_our_link(g, item))
		end_run(g, item, where, "the link could not be put back");
	else
		record(g, item, TAMPER_RESTORED, where, NULL);
	if (++g->sightings >= SIGHTINGS_MAX && !g->over)
		end_run(g, item, NULL, "it happened too often");
}

static void hold(struct guard *g, struct guard_item *item)
{
	struct stat st;

	item->held = fd_close(item->held);
	item->held = name_hold(g->dirs[item->dir].fd, item->what->name, &item->id, &st);
	if (item->held >= 0)
		item->changed = st.st_ctim;
}

static void bind_again(struct guard *g, struct guard_item *item)
{
	const char *name = item->what->name;
	int dir = g->dirs[item->dir].fd;
	struct err err = {0};
	int r = rebind_readonly(&g->rebind, item->what->dst, &err);

	/* What becomes of it is reported next, or seen by the next look. */
	if (r == -ENOENT && name_leaves(dir, name, &item->id))
		return;
	if (r < 0)
		end_run(g, item, NULL, err.message);
	else if (name_may_have_writer(dir, name))
		end_run(g, item, NULL,
			"it was replaced outside, and somebody has it open for writing");
	else
		record(g, item, TAMPER_REBOUND, NULL, NULL);
}

/* Only the host can replace what is mounted over. The mount went with the name,
 * unless that is still the same file that never was away. */
static void check_bound(struct guard *g, struct guard_item *item, const struct file_id *now,
			uint32_t mask)
{
	if (!now->ino) {
		item->id = *now; /* from here on it is an absent one */
		return;
	}
	if (name_is(&item->id, now) && !mask) {
		item->vacant = false;
		return;
	}
	if (!name_is(&item->id, now) && item->vacant) {
		item->id = (struct file_id){0};
		check_absent(g, item, true, mask);
		return;
	}
	item->id = *now;
	item->vacant = false;
	if (g->over)
		return;
	stop_run(g, item);
	hold(g, item);
	bind_again(g, item);
}

/* A folder that was closed to its owner hides nothing from us; where nobody is inside the user
 * himself closed it. */
static int look(struct guard *g, const struct guard_item *item, struct stat *ret)
{
	const struct guard_dir *dir = &g->dirs[item->dir];
	int r = name_look(dir->fd, item->what->name, ret);

	if (r < 0 && !dir->is_closed && !g->rests) {
		stop_run(g, item);
		r = name_look_behind(dir->fd, item->what->name, ret);
	}
	return r;
}

/* MASK is what happened to the name; 0: just look. */
static void check(struct guard *g, struct guard_item *item, uint32_t mask)
{
	struct file_id now = {0};
	struct stat st;
	int r = look(g, item, &st);

	if (r < 0 && g->rests)
		return; /* the next command will not begin */
	if (r < 0) {
		if (!g->dirs[item->dir].is_closed)
			end_run(g, item, NULL, "its folder cannot be searched");
		g->dirs[item->dir].is_closed = true;
		return;
	}
	if (r == 1)
		now = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	if (item->what->link) {
		check_link(g, item, now.ino);
	} else if (!item->id.ino) {
		check_absent(g, item, now.ino, mask);
	} else if (item->what->dst) {
		item->vacant |= (mask & VANISHED) != 0;
		check_bound(g, item, &now, mask);
	} else if (!name_is(&item->id, &now)) {
		end_run(g, item, NULL, "the folder was replaced");
	}
}

static void check_all(struct guard *g)
{
	for (size_t i = 0; i < g->items_len; i++)
		check(g, &g->items[i], 0);
}

static void take_event(struct guard *g, const struct inotify_event *event)
{
	uint32_t mask = event->mask & (APPEARED | VANISHED);

	/* A run that is about to end gets no more of our time than the last look. */
	if (g->ended && !g->over)
		return;
	if (event->mask & IN_Q_OVERFLOW) {
		for (size_t i = 0; i < g->items_len; i++)
			g->items[i].vacant = true; /* for all that we know */
		check_all(g);
		return;
	}
	for (size_t i = 0; i < g->items_len; i++) {
		struct guard_item *item = &g->items[i];

		if (g->dirs[item->dir].watch != event->wd)
			continue;
		if (event->mask & LOST) {
			if (!g->over)
				end_run(g, item, NULL, "its folder was moved");
			return;
		}
		if (event->len && name_may_be(item->what->name, event->name))
			check(g, item, strcmp(event->name, item->what->name) == 0 ? mask : 0);
	}
}

static bool take_events(struct guard *g)
{
	char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(g->inotify, buf, sizeof(buf));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const struct inotify_event *)(buf + at);

		take_event(g, event);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	return n > 0;
}

static void on_events(void *data, short revents)
{
	struct guard *g = data;

	g->woken = true;
	g->noticed_ns = clock_mono_ns();
	for (int i = 0; (i < READS_MAX || !revents) && take_events(g); i++)
		;
	go_on(g);
}

static void on_time(void *data, short revents)
{
	struct guard *g = data;

	(void)revents;
	if (g->ended)
		return;
	g->noticed_ns = clock_mono_ns();
	check_all(g);
	go_on(g);
	g->timer.at_ns = clock_mono_ns() + LOOK_NS;
}

static void look_from_time_to_time(struct guard *g)
{
	g->inotify = fd_close(g->inotify);
	g->timer = (struct loop_timer){
		.at_ns = clock_mono_ns() + LOOK_NS, .fn = on_time, .data = g};
	loop_add_timer(g->loop, &g->timer);
}

/* What cannot be watched is looked at from time to time: of instances a user has
 * 128 as a rule, and of watches a number as well. */
static void open_eyes(struct guard *g)
{
	bool blind;

	g->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	blind = g->inotify < 0;
	for (size_t i = 0; i < g->dirs_len && !blind; i++) {
		char name[64];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", g->dirs[i].fd);
		g->dirs[i].watch = inotify_add_watch(g->inotify, name,
						     APPEARED | VANISHED | IN_DELETE_SELF |
							     IN_MOVE_SELF | IN_ONLYDIR);
		blind = g->dirs[i].watch < 0;
	}
	if (blind)
		look_from_time_to_time(g);
	else
		loop_add(g->loop, g->inotify, POLLIN, on_events, g);
}

static bool was_touched(const struct guard *g, const struct guard_item *item)
{
	return wires_needs_both(item) &&
	       name_may_have_left(g->dirs[item->dir].fd, item->what->name, &item->changed);
}

/* Something happened, but to whom? The same file under the same name may have lost
 * its mount, if it was removed and linked anew. */
static void look_around(struct guard *g)
{
	for (size_t i = 0; i < g->items_len; i++)
		check(g, &g->items[i], was_touched(g, &g->items[i]) ? IN_ATTRIB : 0);
}

static void on_trip(void *data, short revents)
{
	struct guard *g = data;

	(void)revents;
	g->woken = true;
	g->noticed_ns = clock_mono_ns();
	/* First the eyes, then the look: nothing happens in between unseen. */
	open_eyes(g);
	(void)wires_take(g);
	loop_remove(g->loop, g->tripwire.signals);
	wires_cut(g);
	look_around(g);
	go_on(g);
}

static int open_dir(struct guard_dir *dir, struct err *err)
{
	dir->fd = path_open_plain(dir->path, O_PATH | O_DIRECTORY);
	return dir->fd < 0 ? err_sys(err, dir->fd, "open %s", dir->path) : 0;
}

static int add_item(struct guard *g, const struct guarded *what, struct err *err)
{
	struct guard_item *item = &g->items[g->items_len];
	size_t dir = 0;
	int r = 0;

	while (dir < g->dirs_len && strcmp(g->dirs[dir].path, what->dir) != 0)
		dir++;
	*item = (struct guard_item){.what = what, .dir = dir, .id = what->id, .held = -1};
	g->items_len++;
	if (dir == g->dirs_len) {
		g->dirs[dir] = (struct guard_dir){
			.path = what->dir, .fd = -1, .watch = -1, .coming = -1, .going = -1};
		g->dirs_len++;
		r = open_dir(&g->dirs[dir], err);
	}
	if (r == 0 && what->id.ino)
		hold(g, item);
	return r;
}

int guard_open(struct guard *g, const struct plan *plan, const struct guard_power *power,
	       struct events *events, struct err *err)
{
	int r = 0;

	*g = (struct guard){.tripwire.signals = -1,
			    .inotify = -1,
			    .power = *power,
			    .events = events,
			    .rebind = {-1, -1}};
	quarantine_init(&g->quarantine, plan->quarantine);
	if (plan->guards_len == 0)
		return 0;
	g->dirs = calloc(plan->guards_len, sizeof(*g->dirs));
	g->items = calloc(plan->guards_len, sizeof(*g->items));
	if (!g->dirs || !g->items)
		return err_oom(err);
	for (size_t i = 0; i < plan->guards_len && r == 0; i++)
		r = add_item(g, &plan->guards[i], err);
	if (r == 0)
		wires_lay(g);
	return r;
}

void guard_enter(struct guard *g, pid_t child, int pidfd)
{
	for (size_t i = 0; i < g->items_len; i++)
		if (g->items[i].what->dst) {
			rebind_open(&g->rebind, child, pidfd);
			return;
		}
}

void guard_watch(struct guard *g, struct loop *loop)
{
	if (g->items_len == 0)
		return;
	g->loop = loop;
	if (g->tripwire.signals >= 0)
		loop_add(loop, g->tripwire.signals, POLLIN, on_trip, g);
	else
		open_eyes(g);
}

void guard_unwatch(struct guard *g)
{
	if (!g->loop)
		return;
	if (g->tripwire.signals >= 0)
		loop_remove(g->loop, g->tripwire.signals);
	if (g->inotify >= 0)
		loop_remove(g->loop, g->inotify);
	if (g->timer.fn)
		loop_remove_timer(g->loop, &g->timer);
	if (g->waker.fn)
		loop_remove_timer(g->loop, &g->waker);
	g->timer.fn = g->waker.fn = NULL;
	g->loop = NULL;
}

void guard_catch_up(struct guard *g)
{
	struct pollfd fd = {.fd = g->tripwire.signals, .events = POLLIN};

	if (g->timer.fn)
		on_time(g, 0);
	else if (g->inotify >= 0)
		on_events(g, 0);
	else if (poll(&fd, 1, 0) == 1)
		on_trip(g, 0);
}

void guard_rest(struct guard *g)
{
	if (!g->loop || g->ended)
		return;
	guard_catch_up(g);
	g->rests = true;
}

/* What was not there must not be there now. */
static int look_for_new(struct guard *g, size_t i, struct err *err)
{
	struct guard_dir *dir = &g->dirs[i];
	_cleanup_(fd_closep) int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dir_names names;

	dir_names_read(fd, &names);
	for (const struct guard_item *item = g->items; item < g->items + g->items_len; item++) {
		const struct guarded *what = item->what;
		int r;

		if (item->dir != i || what->link || item->id.ino ||
		    !dir_names_may_have(&names, what->name))
			continue;
		r = name_look(dir->fd, what->name, &(struct stat){0});
		if (r == 0)
			continue;
		dir->glance.settled = false;
		if (r < 0) {
			err_sys(err, r, "look for %s/%s", what->dir, what->name);
			return err_hint_word(err, r, "chmod u+rwx ", what->dir, "");
		}
		err_set(err, ERR_POLICY, -ESTALE, "%s/%s was made since this sandbox stands",
			what->dir, what->name);
		return err_hint(
			err, -ESTALE,
			"it is protected, but not yet inside: stop the session, and start it "
			"anew");
	}
	return 0;
}

int guard_renew(struct guard *g, struct err *err)
{
	int r = 0;

	if (g->loop && g->rests)
		guard_catch_up(g);
	for (size_t i = 0; i < g->dirs_len && g->rests && r == 0; i++)
		if (!glance_finds_same(&g->dirs[i].glance, g->dirs[i].fd))
			r = look_for_new(g, i, err);
	if (r < 0)
		return r;
	g->rests = false;
	g->sightings = 0;
	g->quarantined_before = g->quarantine.count;
	return 0;
}

void guard_finish(struct guard *g)
{
	if (g->items_len == 0)
		return;
	g->over = true;
	g->noticed_ns = clock_mono_ns();
	while (g->inotify >= 0 && take_events(g))
		g->woken = true;
	if (g->tripwire.signals >= 0)
		g->woken |= wires_take(g);
	/* Where nothing ever happened in the folders, nothing has changed. */
	if (g->woken || (g->tripwire.signals < 0 && g->inotify < 0))
		check_all(g);
}

void guard_close(struct guard *g)
{
	wires_cut(g);
	for (size_t i = 0; i < g->dirs_len; i++)
		fd_close(g->dirs[i].fd);
	for (size_t i = 0; i < g->items_len; i++)
		fd_close(g->items[i].held);
	free(g->dirs);
	free(g->items);
	quarantine_release(&g->quarantine);
	rebind_close(&g->rebind);
	/* Closed here it would wait for a grace period of the kernel: milliseconds. */
	g->inotify = fd_close_later(g->inotify);
	g->dirs = NULL;
	g->items = NULL;
	g->dirs_len = g->items_len = 0;
}
