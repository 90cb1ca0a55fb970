/* SPDX-License-Identifier: MIT */
/* txn-plan - from changes and verdicts to the items of a txn. */
#pragma once

struct changes;
struct err;
struct index;
struct txn;
struct verdict;

/* What is taken. The stage is that of TXN. */
int txn_plan(struct txn *txn, const struct changes *changes, const struct verdict *verdicts,
	     const struct index *index, struct err *err);
/* Once the roots are open: the folders that change with them, and what the index says. */
int txn_plan_dirs(struct txn *txn, const struct changes *changes, const struct index *index,
		  struct err *err);
