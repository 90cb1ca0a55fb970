/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree-remove.h"
#include "stage/apply.h"
#include "stage/stage.h"
#include "stage/txn-run.h"
#include "stage/txn.h"

static int end_it(struct txn *txn, struct recover_report *ret, struct err *err)
{
	struct err why = {0};
	bool back = false;
	int r = 0;

	switch (txn->state) {
	case TXN_DECIDED:
		r = txn_finish(txn, &back, &why, err);
		ret->outcome = back ? RECOVER_TAKEN_BACK : RECOVER_FINISHED;
		return r;
	case TXN_UNDOING:
		r = txn_finish_undo(txn, &back, &why, err);
		ret->outcome = back ? RECOVER_TAKEN_BACK : RECOVER_FINISHED;
		return r;
	case TXN_BEGUN:
	case TXN_BACKING:
		ret->outcome = RECOVER_TAKEN_BACK;
		return txn_take_back(txn, err);
	case TXN_DONE:
	case TXN_UNDONE:
		/* It was at its end; or an undo had hardly begun. */
		ret->outcome = txn->is_undo_begun ? RECOVER_TAKEN_BACK : RECOVER_FINISHED;
		r = txn_drop_stores(txn);
		return r < 0 ? err_sys(err, r, "remove what was prepared")
			     : txn_set_pending(txn, false, err);
	}
	return 0;
}

static const char *what_of(const struct txn *txn)
{
	if (txn->state == TXN_UNDOING || txn->state == TXN_UNDONE || txn->is_undo_begun)
		return "undo";
	return txn->is_discard ? "discard" : "apply";
}

/* The folder has nothing that could be ended. */
static int sweep(int applies, const char *id, struct recover_report *ret, struct err *err)
{
	int r = tree_remove(applies, id);

	if (r < 0 && r != -ENOENT)
		return err_sys(err, r, "remove the apply %s", id);
	ret->outcome = RECOVER_TAKEN_BACK;
	snprintf(ret->what, sizeof(ret->what), "apply");
	return unlinkat(applies, "pending", 0) < 0 && errno != ENOENT
		       ? err_sys(err, -errno, "remove applies/pending")
		       : 0;
}

static int recover(const char *state_dir, int applies, int lock, const char *id,
		   struct recover_report *ret, struct err *err)
{
	_cleanup_(stage_freep) struct stage *stage = NULL;
	_cleanup_(txn_freep) struct txn *txn = NULL;
	int r = txn_load(state_dir, applies, lock, id, &txn, err);

	if (r == -ENOENT)
		return sweep(applies, id, ret, err);
	if (r == 0)
		snprintf(ret->what, sizeof(ret->what), "%s", what_of(txn));
	if (r == 0)
		r = stage_open(state_dir, txn->stage_name, false, &stage, err);
	if (r == -ENOENT)
		return sweep(applies, id, ret, err);
	if (r == 0)
		r = stage_lock(stage, true, err);
	if (r == 0)
		r = txn_open_roots(txn, stage, err);
	if (r == 0)
		txn_restore_uppers(txn);
	/* Who found the folder in the workspace may have removed it. What is not in it any
	 * more is told as changed by somebody else. */
	if (r == 0 &&
	    (txn->state == TXN_DECIDED || txn->state == TXN_BACKING || txn->state == TXN_UNDOING))
		r = txn_make_stores(txn, err);
	if (r == 0)
		r = end_it(txn, ret, err);
	if (r == -ESTALE)
		err_hint_word(err, r, "put the folder back, or give it up: rm ", state_dir,
			      "/applies/pending");
	return r < 0 ? err_wrap(err, r, "end what was begun (%s %s)", ret->what, id) : 0;
}

/* 1: ID is what is pending. */
static int read_pending(int dirfd, const char *path, char id[32])
{
	ssize_t n = readlinkat(dirfd, path, id, 31);

	if (n < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	id[n] = '\0';
	return strlen(id) == 22 && strspn(id, "0123456789-") == 22 ? 1 : -EBADMSG;
}

int stage_recover(const char *state_dir, struct recover_report *ret, struct err *err)
{
	_cleanup_(freep) char *path = path_join(state_dir, "applies/pending");
	_cleanup_(fd_closep) int applies = -1, lock = -1;
	int r;

	if (!path)
		return err_oom(err);
	*ret = (struct recover_report){0};
	r = read_pending(AT_FDCWD, path, ret->id);
	if (r <= 0)
		return r < 0 ? err_sys(err, r, "read %s", path) : 0;
	r = applies_open(state_dir, false, &applies, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = applies_lock(applies, &lock, err);
	if (r == -EBUSY) {
		ret->outcome = RECOVER_BUSY;
		return 0;
	}
	/* Under the lock it may be gone, or another. */
	if (r == 0)
		r = read_pending(applies, "pending", ret->id);
	if (r <= 0)
		return r < 0 ? err_sys(err, r, "read %s", path) : 0;
	return recover(state_dir, applies, take_fd(lock), ret->id, ret, err);
}
