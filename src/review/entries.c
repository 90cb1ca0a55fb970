/* SPDX-License-Identifier: MIT */
#include "review/entries.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/path.h"
#include "review/entries-impl.h"

const char *entry_kind_name(enum entry_kind kind)
{
	static const char *const names[] = {
		[ENTRY_ADDED] = "added",     [ENTRY_CHANGED] = "modified",
		[ENTRY_DELETED] = "deleted", [ENTRY_RENAMED] = "renamed",
		[ENTRY_MODE] = "mode",       [ENTRY_TYPE] = "type",
	};

	return names[kind];
}

char entry_letter(const struct entry *entry)
{
	static const char letters[] = {
		[ENTRY_ADDED] = 'A',   [ENTRY_CHANGED] = 'M', [ENTRY_DELETED] = 'D',
		[ENTRY_RENAMED] = 'R', [ENTRY_MODE] = 'M',    [ENTRY_TYPE] = 'T',
	};

	return letters[entry->kind];
}

bool node_is_patchable(const struct node *node)
{
	return node->type == NODE_FILE || node->type == NODE_LINK;
}

mode_t mode_in_patch(const struct node *node, mode_t mode)
{
	return patch_mode(node->type == NODE_LINK ? S_IFLNK : S_IFREG | mode);
}

/* Files and links of each side are all that git has. */
static bool fits_patch(const struct change *change, mode_t mode)
{
	bool old = node_is_patchable(&change->old), new = node_is_patchable(&change->new);

	if (change->flags & CHANGE_IS_SAME)
		return false;
	if (change->kind == CHANGE_MODE)
		return old && new &&mode_in_patch(&change->old, change->old.mode) !=
				      mode_in_patch(&change->new, mode);
	return old || new;
}

/* git refuses to touch such a path. */
static bool has_git_folder(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 4 && strncasecmp(path, ".git", 4) == 0)
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

/* Objects, references, logs and the like, by a name INSIDE of a git directory: nothing that git
 * executes or is led by, and nothing that a person could read. */
static bool is_data(const char *inside)
{
	static const char *const files =
		" HEAD ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE AUTO_MERGE "
		"CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD COMMIT_EDITMSG SQUASH_MSG packed-refs "
		"index shallow description gc.log info/refs objects/info/packs "
		"objects/info/commit-graph objects/pack/multi-pack-index ";
	size_t len = strlen(inside);
	const char *found = len == 0 || strchr(inside, ' ') ? NULL : strstr(files, inside);

	for (; found; found = strstr(found + 1, inside))
		if (found[-1] == ' ' && found[len] == ' ')
			return true;
	return str_starts(inside, "refs/") || str_starts(inside, "logs/") ||
	       str_starts(inside, "sharedindex.") || str_starts(inside, "objects/pack/pack-") ||
	       str_starts(inside, "objects/info/commit-graphs/") ||
	       (str_starts(inside, "objects/") && is_hex(inside + 8, 2) && inside[10] == '/' &&
		is_hex(inside + 11, 38));
}

/* Of a submodule or another working tree, too, whose name can have slashes. */
static bool is_git_data(const char *path)
{
	const char *git = str_starts(path, ".git/") ? path : strstr(path, "/.git/");
	const char *at = git ? git + (git == path ? 5 : 6) : NULL;

	if (!at || is_data(at))
		return at;
	if (!str_starts(at, "modules/") && !str_starts(at, "worktrees/"))
		return false;
	/* Behind a name at least: a submodule may be called "refs". */
	at = strchr(at, '/') + 1;
	while ((at = strchr(at, '/')) && !is_data(at + 1))
		at++;
	return at;
}

static enum entry_kind kind_of(const struct change *change)
{
	switch (change->kind) {
	case CHANGE_ADD:
		return ENTRY_ADDED;
	case CHANGE_DELETE:
		return ENTRY_DELETED;
	case CHANGE_MODE:
		return ENTRY_MODE;
	case CHANGE_TYPE:
		return ENTRY_TYPE;
	case CHANGE_MODIFY:
		break;
	}
	return ENTRY_CHANGED;
}

static int entry_init(struct entry *entry, const struct staged *staged, const struct change *change)
{
	_cleanup_(freep) char *whole = path_join(staged->stage->roots[change->root].path,
						 change->path);
	const unsigned special = CHANGE_IS_PROTECTED | CHANGE_RUNS_LATER | CHANGE_IS_CONFLICT;
	bool merges = change->flags & CHANGE_MERGES;
	mode_t mode = merges ? change->merged_mode : change->new.mode;

	*entry = (struct entry){
		.kind = kind_of(change),
		.change = change,
		.mode = mode,
		.size = merges ? change->merged_size : change->new.size,
		.name = staged_name(staged, change->root, change->path),
		.from_name = staged_name(staged, change->root, change->path),
		.in_patch = fits_patch(change, mode),
	};
	if (!whole || !entry->name || !entry->from_name)
		return -ENOMEM;
	entry->in_git = has_git_folder(change->root == 0 ? change->path : whole);
	entry->is_git_data = entry->in_git && !(change->flags & special) &&
			     is_git_data(change->root == 0 ? change->path : whole);
	return 0;
}

static void entry_release(struct entry *entry)
{
	free(entry->name);
	free(entry->from_name);
}

void entries_release(struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		entry_release(&entries->items[i]);
	free(entries->items);
	*entries = (struct entries){0};
}

void entries_drop(struct entries *entries, const bool *gone)
{
	size_t n = 0;

	for (size_t i = 0; i < entries->n; i++) {
		if (gone[i])
			entry_release(&entries->items[i]);
		else
			entries->items[n++] = entries->items[i];
	}
	entries->n = n;
}

int entries_make(const struct staged *staged, const struct staged_paths *paths, bool find_renames,
		 struct entries *ret, struct err *err)
{
	const struct changes *changes = staged->changes;
	struct entries entries = {0};
	int r = 0;

	if (!changes || changes->n == 0) {
		*ret = entries;
		return 0;
	}
	entries.items = calloc(changes->n, sizeof(*entries.items));
	if (!entries.items)
		return err_oom(err);
	for (size_t i = 0; i < changes->n && r == 0; i++) {
		const struct change *change = &changes->items[i];

		if (!staged_paths_cover(paths, change) || (change->flags & CHANGE_IS_SAME) ||
		    !change_stands_alone(changes, i))
			continue;
		r = entry_init(&entries.items[entries.n++], staged, change);
	}
	if (r < 0)
		err_oom(err);
	if (r == 0 && find_renames)
		r = entries_find_renames(staged, &entries, err);
	if (r < 0) {
		entries_release(&entries);
		return r;
	}
	*ret = entries;
	return 0;
}
