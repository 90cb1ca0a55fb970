/* SPDX-License-Identifier: MIT */
#include "warden/job.h"

#include <sched.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/op.h"
#include "tap.h"

static void fill(struct plan *plan)
{
	plan->namespaces = CLONE_NEWPID;
	plan->cwd = strdup("/a b\nc");
	plan_add(plan, OP_BIND, "/x", "/x", 0);
	plan_add(plan, OP_KEYRING, NULL, NULL, 0);
	plan_add(plan, OP_SECCOMP, NULL, NULL, OP_VISIBLE | OP_NESTED);
	strv_add(&plan->argv, "sh");
	strv_add(&plan->argv, "");
	strv_add(&plan->argv, "two\nlines");
	strv_add(&plan->env, "A=1");
	strv_add(&plan->env, "EMPTY=");
}

static void test_round_trip(struct plan *plan, struct str *text)
{
	struct job job = {0};

	tap_eq_int(job_pack(plan, false, text), 0, "a plan is packed");
	tap_eq_int(job_parse(text, &job, NULL), 0, "and parsed");
	tap_ok(job.owns_pidns, "flags");
	tap_eq_str(job.cwd, "/a b\nc", "the folder");
	tap_ok(job.steps_len == 2 && job.steps[0].kind == OP_KEYRING &&
		       job.steps[1].kind == OP_SECCOMP &&
		       job.steps[1].flags == (OP_VISIBLE | OP_NESTED),
	       "only the steps of a process, in order");
	tap_ok(strcmp(job.argv[1], "") == 0 && strcmp(job.argv[2], "two\nlines") == 0 &&
		       !job.argv[3],
	       "the command");
	tap_ok(strcmp(job.env[0], "A=1") == 0 && strcmp(job.env[1], "EMPTY=") == 0 && !job.env[2],
	       "the environment");
	job_release(&job);
}

static void test_domain(void)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	_cleanup_(str_release) struct str text = {0};
	struct job job = {0};

	fill(plan);
	plan->namespaces = 0;
	plan_add(plan, OP_ALLOW, NULL, "/a b", OP_RDONLY);
	plan_add(plan, OP_LANDLOCK, NULL, NULL, OP_SIGNALS);
	plan_add_size(plan, OP_LIMIT_PIDS, UINT64_MAX - 1);
	plan_add(plan, OP_EVERYWHERE, NULL, NULL, 0);
	plan_add(plan, OP_LOOPBACK, NULL, NULL, 0);
	job_pack(plan, false, &text);
	tap_ok(job_parse(&text, &job, NULL) == 0 && !job.owns_pidns, "no pid namespace");
	tap_ok(job.steps_len == 6 && job.steps[2].kind == OP_ALLOW &&
		       strcmp(job.steps[2].dst, "/a b") == 0 && job.steps[2].flags == OP_RDONLY,
	       "a rule with its path");
	tap_ok(job.steps_len == 6 && job.steps[3].kind == OP_LANDLOCK &&
		       job.steps[3].flags == OP_SIGNALS && job.steps[4].size == UINT64_MAX - 1,
	       "a domain, and the largest number");
	job_release(&job);
}

/* None of them is taken for a job, and none is read past its end. */
static void test_broken(const struct str *good)
{
	size_t taken = 0;

	for (size_t len = 0; len < good->len; len++) {
		_cleanup_(str_release) struct str cut = {0};
		struct job job = {0};

		str_append_bytes(&cut, good->data, len);
		taken += job_parse(&cut, &job, NULL) == 0;
		job_release(&job);
	}
	tap_eq_int((long long)taken, 0, "no shorter one is a job: %zu tried", good->len);
	taken = 0;
	for (size_t i = 0; i < good->len; i++) {
		_cleanup_(str_release) struct str bad = {0};
		struct job job = {0};

		str_append_bytes(&bad, good->data, good->len);
		bad.data[i] = '9';
		if (job_parse(&bad, &job, NULL) == 0)
			taken += job.steps_len < 2;
		job_release(&job);
	}
	tap_eq_int((long long)taken, 0, "a changed byte never loses a step");
}

int main(void)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	_cleanup_(str_release) struct str text = {0};

	fill(plan);
	test_round_trip(plan, &text);
	test_domain();
	test_broken(&text);
	return tap_done();
}
