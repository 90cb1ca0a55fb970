/* SPDX-License-Identifier: MIT */
/* txn-run - the steps of a txn. All can be repeated. */
#pragma once
#include <stdbool.h>

struct apply_progress;
struct err;
struct stage;
struct txn;
struct txn_item;

/* Before it is decided: whatever goes into the base, into the store. */
int txn_prepare(struct txn *txn, const struct apply_progress *progress, struct err *err);
/* Where the store is apart: what was in the base, into it again. */
int txn_reload(struct txn *txn, const struct apply_progress *progress, struct err *err);
int txn_drop_stores(struct txn *txn); /* those that are in the base's folders */
int txn_make_stores(struct txn *txn, struct err *err);

/* The base, there and back. -ESTALE: somebody else has changed it meanwhile. */
int txn_forward(struct txn *txn, struct err *err);
int txn_backward(struct txn *txn, struct err *err);

/* The stage: what was applied or discarded leaves it, or is put back. */
int txn_settle(struct txn *txn, struct err *err);
int txn_restage(struct txn *txn, struct err *err);
int txn_update_index(struct txn *txn, bool backward, struct err *err);

/* All that follows the decision, and the end of it. *RET_BACK: it had to be taken
 * back; 0 then says that this was done, and WHY what had failed. */
int txn_finish(struct txn *txn, bool *ret_back, struct err *why, struct err *err);
int txn_take_back(struct txn *txn, struct err *err);
int txn_finish_undo(struct txn *txn, bool *ret_back, struct err *why, struct err *err);
