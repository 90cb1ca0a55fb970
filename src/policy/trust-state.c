/* SPDX-License-Identifier: MIT */
/* The file `trust` in the workspace's state directory: "pale-trust 1 DIGEST". */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "config/state-dir.h"
#include "policy/trust.h"

#define TRUST_FILE   "trust"
#define TRUST_HEAD   "pale-trust 1 "
#define TRUST_MAX    4096
#define ITEMS_SHOWN  5
#define ITEM_MAX     100
#define ORIGIN_SHORT 112
#define LIST_MAX     900 /* of what an error holds */

const char *trust_state_name(enum trust_state state)
{
	static const char *const names[] = {
		[TRUST_NOT_NEEDED] = "not_needed",
		[TRUST_GIVEN] = "given",
		[TRUST_CHANGED] = "changed",
		[TRUST_NONE] = "none",
	};

	return names[state];
}

int trust_read(const struct trust_ask *ask, const struct workspace *workspace,
	       enum trust_state *ret_state, struct err *err)
{
	_cleanup_(fd_closep) int dirfd = -1;
	_cleanup_(str_release) struct str text = {0}, want = {0};
	struct stat st;
	int r;

	if (ask->len == 0) {
		*ret_state = TRUST_NOT_NEEDED;
		return 0;
	}
	*ret_state = TRUST_NONE;
	dirfd = state_dir_open(workspace, false, err);
	if (dirfd == -ENOENT)
		return 0;
	if (dirfd < 0)
		return dirfd;
	if (fstatat(dirfd, TRUST_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(err, -errno, "stat " TRUST_FILE);
	r = file_read(dirfd, TRUST_FILE, TRUST_MAX, &text, err);
	if (r < 0)
		return err_wrap(err, r, "%s", workspace->state_dir);
	if (str_appendf(&want, TRUST_HEAD "%s\n", ask->digest) < 0)
		return err_oom(err);
	*ret_state = strcmp(str_text(&text), str_text(&want)) == 0 ? TRUST_GIVEN : TRUST_CHANGED;
	return 0;
}

int trust_give(const struct trust_ask *ask, const struct workspace *workspace, struct err *err)
{
	_cleanup_(fd_closep) int dirfd = -1;
	_cleanup_(str_release) struct str text = {0};
	int r;

	if (str_appendf(&text, TRUST_HEAD "%s\n", ask->digest) < 0)
		return err_oom(err);
	dirfd = state_dir_open(workspace, true, err);
	if (dirfd < 0)
		return dirfd;
	r = file_replace(dirfd, TRUST_FILE, text.data, text.len, 0600, err);
	return r < 0 ? err_wrap(err, r, "%s", workspace->state_dir) : 0;
}

int trust_revoke(const struct workspace *workspace, struct err *err)
{
	_cleanup_(fd_closep) int dirfd = state_dir_open(workspace, false, err);

	if (dirfd < 0)
		return dirfd == -ENOENT ? 0 : dirfd;
	if (unlinkat(dirfd, TRUST_FILE, 0) < 0 && errno != ENOENT)
		return err_sys(err, -errno, "remove %s/" TRUST_FILE, workspace->state_dir);
	return 0;
}

/* "pale.toml:3: commands.x.sandbox = "off"". */
static int put_item(const struct trust_item *item, const char *file, struct str *out)
{
	struct origin origin = {.file = file, .line = item->line};
	char buf[ORIGIN_SHORT];
	size_t len = strlen(item->text), shown = len < ITEM_MAX ? len : ITEM_MAX;
	int r = str_append(out, "\n    ");

	while (shown < len && shown > 0 && ((unsigned char)item->text[shown] & 0xc0) == 0x80)
		shown--;
	origin_text(&origin, buf, sizeof(buf));
	if (r == 0)
		r = str_append_escaped(out, buf, strlen(buf));
	if (r == 0)
		r = str_append(out, ": ");
	if (r == 0)
		r = str_append_escaped(out, item->text, shown);
	return r == 0 && shown < len ? str_append(out, "…") : r;
}

/* One to a line, as many as a message has room for, and how many more. */
static int list_items(const struct trust_ask *ask, const char *file, struct str *out)
{
	size_t shown = 0;
	int r = 0;

	while (shown < ask->len && shown < ITEMS_SHOWN && r == 0) {
		size_t before = out->len;

		r = put_item(&ask->items[shown], file, out);
		if (out->len > LIST_MAX) {
			str_truncate(out, before);
			break;
		}
		shown++;
	}
	if (r == 0 && ask->len > shown)
		r = str_appendf(out, "\n    %s%zu more", shown ? "and " : "", ask->len - shown);
	return r;
}

int trust_check(const struct config *config, const struct workspace *workspace,
		const struct user *user, struct err *err)
{
	_cleanup_(trust_ask_release) struct trust_ask ask = {0};
	_cleanup_(str_release) struct str list = {0};
	enum trust_state state = TRUST_NONE;
	int r;

	if (!config->files[LAYER_WORKSPACE].doc)
		return 0;
	r = trust_ask_compute(config, workspace, user, &ask, err);
	if (r == 0)
		r = trust_read(&ask, workspace, &state, err);
	if (r < 0 || state == TRUST_NOT_NEEDED || state == TRUST_GIVEN)
		return r;
	if (list_items(&ask, config->files[LAYER_WORKSPACE].path, &list) < 0)
		return err_oom(err);
	err_set(err, ERR_TRUST, -EPERM, "%s:%s",
		state == TRUST_CHANGED
			? "what this project asks for has changed since you trusted it"
			: "this project asks for more than it is trusted with",
		str_text(&list));
	return err_hint(err, -EPERM, "review them with `pale trust --show`, then run `pale trust`");
}
