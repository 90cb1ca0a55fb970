/* SPDX-License-Identifier: MIT */
#include "net/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "net/lookup-impl.h"
#include "net/poller.h"
#include "net/rules.h"

enum {
	RUNNING_MAX = 16,
	JOBS_MAX = 1024, /* running and queued */
	KEPT_MAX = 1024,
	LONGEST_S = 10,
	KEEP_GOOD_S = 10,
	KEEP_BAD_S = 2,
	RATE = 100, /* new ones in a second, and as many at once */
};
#define SECOND_NS UINT64_C(1000000000)

struct waiter {
	lookup_fn *fn; /* NULL: forgotten */
	void *data;
	uint16_t port;
	struct waiter *next;
};

/* A name that is being asked for, or waits for its turn. */
struct job {
	struct lookups *owner;
	char name[NAME_CANONICAL_MAX];
	struct waiter *waiters;
	struct lookup_child child; /* pid 0: it waits */
	struct poll_entry entry;
	uint64_t until_ns;
	struct job *next;
};

struct kept {
	char name[NAME_CANONICAL_MAX];
	struct lookup_wire wire;
	uint64_t until_ns;
};

struct lookups {
	struct poller *poller;
	const struct rules *rules;
	struct poller_tick tick;
	struct job *jobs, *finishing; /* the oldest first */
	unsigned jobs_len, running;
	uint64_t turn_ns;  /* runs ahead of the clock by what was used of the rate */
	struct kept *kept; /* in no order */
	size_t kept_len, kept_cap;
};

/* -- What is known ---------------------------------------------------------- */

static struct kept *find_kept(struct lookups *lookups, const char *name)
{
	for (size_t i = 0; i < lookups->kept_len; i++)
		if (str_eq(lookups->kept[i].name, name))
			return &lookups->kept[i];
	return NULL;
}

/* Where a new answer goes: what has expired first, or else the one that will next. */
static struct kept *make_room(struct lookups *lookups, uint64_t now)
{
	struct kept *oldest = NULL;

	for (size_t i = 0; i < lookups->kept_len; i++)
		if (!oldest || lookups->kept[i].until_ns < oldest->until_ns)
			oldest = &lookups->kept[i];
	if (oldest && (oldest->until_ns <= now || lookups->kept_len == KEPT_MAX))
		return oldest;
	if (lookups->kept_len == lookups->kept_cap) {
		size_t cap = lookups->kept_cap ? lookups->kept_cap * 2 : 4;
		struct kept *kept = reallocarray(lookups->kept, cap, sizeof(*kept));

		if (!kept)
			return oldest;
		lookups->kept = kept;
		lookups->kept_cap = cap;
	}
	return &lookups->kept[lookups->kept_len++];
}

static void keep(struct lookups *lookups, const char *name, const struct lookup_wire *wire)
{
	uint64_t now = clock_mono_ns();
	struct kept *kept = find_kept(lookups, name);

	if (!kept)
		kept = make_room(lookups, now);
	if (!kept)
		return;
	snprintf(kept->name, sizeof(kept->name), "%s", name);
	kept->wire = *wire;
	kept->until_ns = now + (wire->error ? KEEP_BAD_S : KEEP_GOOD_S) * SECOND_NS;
}

const char *lookup_complaint(const struct rules *rules, const struct endpoint *e)
{
	const char *why = endpoint_complaint(e);

	if (!why && lookup_is_own_address(&e->address))
		why = "an address of this machine";
	return why && rules_have_literal(rules, e) ? NULL : why;
}

static void tell(const struct lookups *lookups, const struct lookup_wire *wire,
		 const struct waiter *waiter)
{
	struct lookup_answer answer = {.error = wire->error};

	for (size_t i = 0; i < wire->len; i++) {
		struct endpoint e = {.address = wire->addresses[i], .port = waiter->port};
		const char *why = lookup_complaint(lookups->rules, &e);

		if (!why) {
			answer.addresses[answer.len++] = e.address;
		} else if (!answer.complaint) {
			answer.complaint = why;
			answer.refused = e.address;
		}
	}
	waiter->fn(waiter->data, &answer);
}

/* -- Jobs ------------------------------------------------------------------- */

static void job_free(struct job *job)
{
	if (job->child.pid > 0) {
		poller_remove(job->owner->poller, &job->entry);
		lookup_child_end(&job->child);
		job->owner->running--;
	}
	while (job->waiters) {
		struct waiter *next = job->waiters->next;

		free(job->waiters);
		job->waiters = next;
	}
	free(job);
}

static void job_unlink(struct job *job)
{
	struct job **at = &job->owner->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	job->owner->jobs_len--;
	job->owner->tick.wanted--;
}

/* Everybody who waits is told. They may start others, and forget. */
static void job_finish(struct job *job, const struct lookup_wire *wire)
{
	struct lookups *lookups = job->owner;

	job_unlink(job);
	if (wire->error != -EAGAIN)
		keep(lookups, job->name, wire);
	job->next = lookups->finishing;
	lookups->finishing = job;
	for (struct waiter *w = job->waiters; w; w = w->next)
		if (w->fn)
			tell(lookups, wire, w);
	lookups->finishing = job->next;
	job_free(job);
}

static void on_child(void *data, uint32_t events);

static int job_run(struct job *job)
{
	struct lookups *lookups = job->owner;
	int r = lookup_child_start(&job->child, job->name);

	if (r < 0)
		return r;
	job->entry = (struct poll_entry){
		.fd = job->child.fd, .events = EPOLLIN, .fn = on_child, .data = job};
	r = poller_add(lookups->poller, &job->entry);
	if (r < 0) {
		lookup_child_end(&job->child);
		return r;
	}
	job->until_ns = clock_mono_ns() + LONGEST_S * SECOND_NS;
	lookups->running++;
	return 0;
}

/* Below an allowed wildcard there are names without end, and a process for each is work that
 * no limit of the sandbox counts. */
static bool has_turn(const struct lookups *lookups)
{
	return lookups->turn_ns <= clock_mono_ns() + SECOND_NS;
}

static void take_turn(struct lookups *lookups)
{
	uint64_t now = clock_mono_ns();

	if (lookups->turn_ns < now)
		lookups->turn_ns = now;
	lookups->turn_ns += SECOND_NS / RATE;
}

/* Those that waited get the places that are free. */
static void run_more(struct lookups *lookups)
{
	static const struct lookup_wire failed = {.error = -EAGAIN};
	struct job *job = lookups->jobs;

	while (job && lookups->running < RUNNING_MAX && has_turn(lookups)) {
		if (job->child.pid > 0) {
			job = job->next;
			continue;
		}
		take_turn(lookups);
		if (job_run(job) == 0)
			continue;
		job_finish(job, &failed);
		job = lookups->jobs;
	}
}

static void on_child(void *data, uint32_t events)
{
	struct job *job = data;
	struct lookups *lookups = job->owner;
	struct lookup_wire wire;

	(void)events;
	lookup_child_read(&job->child, &wire);
	job_finish(job, &wire);
	run_more(lookups);
}

static void on_tick(void *data)
{
	static const struct lookup_wire late = {.error = -EAGAIN};
	struct lookups *lookups = data;
	uint64_t now = clock_mono_ns();
	struct job *job = lookups->jobs;

	while (job) {
		if (job->child.pid == 0 || job->until_ns > now) {
			job = job->next;
			continue;
		}
		job_finish(job, &late);
		job = lookups->jobs; /* who was told may have changed the list */
	}
	run_more(lookups);
}

static struct job *find_job(struct lookups *lookups, const char *name)
{
	for (struct job *job = lookups->jobs; job; job = job->next)
		if (str_eq(job->name, name))
			return job;
	return NULL;
}

static struct job *job_new(struct lookups *lookups, const char *name)
{
	struct job *job = lookups->jobs_len < JOBS_MAX ? calloc(1, sizeof(*job)) : NULL;
	struct job **at = &lookups->jobs;

	if (!job)
		return NULL;
	job->owner = lookups;
	snprintf(job->name, sizeof(job->name), "%s", name);
	while (*at)
		at = &(*at)->next;
	*at = job;
	lookups->jobs_len++;
	if (lookups->tick.wanted++ == 0)
		poller_wake(lookups->poller);
	return job;
}

/* -- What others call ------------------------------------------------------- */

void lookup_start(struct lookups *lookups, const char *name, uint16_t port, lookup_fn *fn,
		  void *data)
{
	static const struct lookup_wire failed = {.error = -EAGAIN};
	struct waiter now = {.fn = fn, .data = data, .port = port}, *waiter;
	const struct kept *kept = find_kept(lookups, name);
	struct job *job;

	if (kept && kept->until_ns > clock_mono_ns()) {
		struct lookup_wire wire = kept->wire; /* FN may look up others */

		tell(lookups, &wire, &now);
		return;
	}
	job = find_job(lookups, name);
	if (!job)
		job = job_new(lookups, name);
	waiter = job ? malloc(sizeof(*waiter)) : NULL;
	if (!waiter) { /* a job without waiters only fills what is kept */
		tell(lookups, &failed, &now);
		return;
	}
	*waiter = now;
	waiter->next = job->waiters;
	job->waiters = waiter;
	run_more(lookups);
}

void lookup_forget(struct lookups *lookups, void *data)
{
	struct job *lists[] = {lookups->jobs, lookups->finishing};

	for (size_t i = 0; i < array_len(lists); i++)
		for (struct job *job = lists[i]; job; job = job->next)
			for (struct waiter *w = job->waiters; w; w = w->next)
				if (w->data == data)
					w->fn = NULL;
}

int lookups_new(struct poller *poller, const struct rules *rules, struct lookups **ret,
		struct err *err)
{
	struct lookups *lookups = calloc(1, sizeof(*lookups));

	if (!lookups)
		return err_oom(err);
	lookups->poller = poller;
	lookups->rules = rules;
	lookups->tick = (struct poller_tick){.fn = on_tick, .data = lookups};
	poller_add_tick(poller, &lookups->tick);
	*ret = lookups;
	return 0;
}

struct lookups *lookups_free(struct lookups *lookups)
{
	if (!lookups)
		return NULL;
	while (lookups->jobs) {
		struct job *job = lookups->jobs;

		job_unlink(job);
		job_free(job);
	}
	poller_remove_tick(lookups->poller, &lookups->tick);
	free(lookups->kept);
	free(lookups);
	return NULL;
}
