/* SPDX-License-Identifier: MIT */
#include "plan/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tap.h"

static void test_add(struct plan *plan)
{
	char src[] = "/src", dst[] = "/dst";
	const struct op *op;

	tap_eq_int(plan_add(plan, OP_BIND, src, dst, OP_RDONLY | OP_FILE), 0, "an operation");
	src[1] = dst[1] = 'X';
	op = &plan->ops[0];
	tap_ok(op->kind == OP_BIND && op->flags == (OP_RDONLY | OP_FILE), "kind and flags");
	tap_eq_str(op->src, "/src", "the source is copied");
	tap_eq_str(op->dst, "/dst", "the target is copied");

	tap_eq_int(plan_add(plan, OP_PIVOT, NULL, NULL, 0), 0, "an operation without paths");
	tap_ok(!plan->ops[1].src && !plan->ops[1].dst, "has none");

	tap_eq_int(plan_add_tmpfs(plan, "/t", 1ull << 40, 01777), 0, "one with a size");
	tap_ok(plan->ops[2].size == 1ull << 40 && str_eq(plan->ops[2].dst, "/t"), "keeps it");
	tap_eq_int(plan_add_mode(plan, OP_PRIVATE, "/p", 01777), 0, "one with a mode");
	tap_ok(plan->ops[3].mode == 01777 && str_eq(plan->ops[3].dst, "/p"), "keeps it");
}

static void test_many(struct plan *plan)
{
	size_t before = plan->ops_len;
	bool ok = true;

	for (size_t i = 0; i < 1000; i++) {
		char dst[16];

		snprintf(dst, sizeof(dst), "/%zu", i);
		ok = ok && plan_add(plan, OP_TMPFS, NULL, dst, 0) == 0;
	}
	ok = ok && plan->ops_len == before + 1000;
	for (size_t i = 0; i < 1000 && ok; i++)
		ok = strtoul(plan->ops[before + i].dst + 1, NULL, 10) == i;
	tap_ok(ok, "a thousand operations, in order");
}

static void test_verdicts(struct plan *plan)
{
	plan_verdict(plan, "network", ENFORCED, "netns");
	plan_verdict(plan, "memory", UNENFORCED, "nothing");
	tap_ok(plan->verdicts_len == 2 && str_eq(plan->verdicts[1].dimension, "memory") &&
		       plan->verdicts[1].state == UNENFORCED,
	       "verdicts in order");
	tap_eq_str(enforcement_name(ENFORCED), "enforced", "enforced");
	tap_eq_str(enforcement_name(DEGRADED), "degraded", "degraded");
	tap_eq_str(enforcement_name(UNENFORCED), "unenforced", "unenforced");
}

static void test_names(void)
{
	bool ok = true;

	for (int i = 0; i < OP_KIND_COUNT_ && ok; i++) {
		ok = op_name((enum op_kind)i) != NULL;
		for (int k = 0; k < i && ok; k++)
			ok = !str_eq(op_name((enum op_kind)i), op_name((enum op_kind)k));
	}
	tap_ok(ok, "every kind has a name of its own");
}

int main(void)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return 1;
	test_add(plan);
	test_many(plan);
	test_verdicts(plan);
	test_names();
	tap_ok(!plan_free(plan), "freed");
	tap_ok(!plan_free(NULL), "freeing nothing is fine");
	return tap_done();
}
