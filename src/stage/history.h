/* SPDX-License-Identifier: MIT */
/* history - the applies and discards of a workspace. */
#pragma once

struct txn;

/* Remove what is too old to be undone: all but the newest few. What goes wrong is
 * left for the next time. TXN holds the lock. */
void history_prune(const struct txn *txn);
/* What TXN had taken out of the base lies there again, and nothing but its ctime is another: an
 * earlier apply that had put it there will know it by that. */
void history_returned(const struct txn *txn);
