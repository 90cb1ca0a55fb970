/* SPDX-License-Identifier: MIT */
#include "session/shell-state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

#define HEAD "pale-shell"
#define END  "=" /* no variable's name is empty */

/* Descriptor 3 becomes 9, which the line does not have: closed for `eval`, it is there again
 * when the shell ends. Where Ctrl-C ends it, bash calls the trap from within `eval`: there it is
 * still what bash keeps it as, 10. What the line does to the shell's options and traps ends
 * with it. */
#define PROLOGUE                                                                                   \
	"pale_tell() { printf '" HEAD "\\0%s\\0' \"$PWD\"; /usr/bin/env -0; "                      \
	"printf '" END "\\0'; }\n"                                                                 \
	"pale_keep() { pale_status=$?; trap - EXIT; export OLDPWD; "                               \
	"{ if true >&9; then pale_tell >&9; "                                                      \
	"elif [ $pale_status = 130 ]; then pale_tell >&10; fi; } 2>/dev/null; "                    \
	"exit \"$pale_status\"; }\n"                                                               \
	"exec 9>&3 3>&-\n"                                                                         \
	"trap pale_keep EXIT\n"                                                                    \
	"pale_status=${OLDPWD-}\n"                                                                 \
	"[ -z \"$2\" ] || cd -- \"$2\" || echo \"pale: in $PWD instead\" >&2\n"                    \
	"[ -z \"$pale_status\" ] || OLDPWD=$pale_status\n"                                         \
	"eval \"set --\n$1\" 9>&-\n"

/* As with pale-sh. */
#define CHOOSE                                                                                     \
	"[ -x /bin/bash ] && exec /bin/bash -c \"$1\" bash \"$2\" \"$3\"; "                        \
	"exec /bin/sh -c \"$1\" sh \"$2\" \"$3\""

void shell_forget(struct strv *env)
{
	for (size_t i = 0; i < env->len; i++)
		explicit_bzero(env->items[i], strlen(env->items[i]));
	strv_release(env);
}

void shell_state_release(struct shell_state *state)
{
	free(state->cwd);
	shell_forget(&state->env);
	*state = (struct shell_state){0};
}

int shell_argv(const char *cwd, const char *line, struct strv *ret)
{
	const char *const words[] = {"/bin/sh", "-c", CHOOSE, "sh", PROLOGUE, line, cwd ? cwd : ""};
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_len(words); i++)
		r = strv_add(ret, words[i]);
	return r;
}

static bool is_named(const char *assignment, const char *name, size_t len)
{
	return strncmp(assignment, name, len) == 0 && assignment[len] == '=';
}

int shell_env(const struct shell_state *state, char *const *set, struct strv *env)
{
	int r = state->cwd ? strv_copy(env, &state->env) : 0;
	for (; r == 0 && *set; set++)
		r = strv_assign(env, *set);
	return r;
}

int shell_notes_open(int *ret_fd, struct err *err)
{
	_cleanup_(fd_closep) int fd = memfd_create("shell", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, SHELL_NOTES_MAX) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return err_sys(err, -errno, "make a descriptor for the shell's state");
	*ret_fd = take_fd(fd);
	return 0;
}

/* What every shell sets for itself, or we for it. */
static bool is_own(const char *assignment)
{
	static const char *const names[] = {"_", "SHLVL", "PWD", "pale_status"};

	for (size_t i = 0; i < array_len(names); i++)
		if (is_named(assignment, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The next string of NOTES; NULL: it has no end. */
static const char *next(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

/* Up to the end mark. */
static int take_variables(const char *at, const char *end, struct strv *env)
{
	size_t n = 0;

	for (;;) {
		const char *text = next(&at, end), *equals;

		/* an empty one: nothing was written from here on */
		if (!text || !*text)
			return -ENODATA;
		if (str_eq(text, END))
			return 0;
		equals = strchr(text, '=');
		if (!equals || equals == text || ++n > SHELL_VARIABLES_MAX ||
		    at - text > SHELL_VARIABLE_MAX)
			return -EBADMSG;
		if (!is_own(text) && strv_add(env, text) < 0)
			return -ENOMEM;
	}
}

static const char *find(const struct strv *env, const char *assignment)
{
	size_t len = strcspn(assignment, "=");

	for (size_t i = 0; i < env->len; i++)
		if (is_named(env->items[i], assignment, len))
			return env->items[i];
	return NULL;
}

/* What was given to one line alone does not stay, unless the line made something else of it. */
static int take_back(char *const *set, const struct strv *before, struct strv *env)
{
	struct strv kept = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < env->len; i++) {
		const char *text = env->items[i];
		bool given = false;

		for (char *const *s = set; *s; s++)
			given = given || str_eq(*s, text);
		if (given)
			text = find(before, text);
		if (text)
			r = strv_add(&kept, text);
	}
	shell_forget(r < 0 ? &kept : env);
	if (r == 0)
		*env = kept;
	return r;
}

int shell_notes_parse(const char *notes, size_t len, char *const *set, struct shell_state *state)
{
	_cleanup_(shell_forget) struct strv env = {0};
	const char *at = notes, *end = notes + len;
	const char *head = next(&at, end), *cwd = head ? next(&at, end) : NULL;
	char *copy;
	int r;

	if (!head || !*head)
		return -ENODATA;
	if (!str_eq(head, HEAD))
		return -EBADMSG;
	if (!cwd)
		return -ENODATA;
	if (*cwd != '/' || strlen(cwd) >= PATH_MAX)
		return -EBADMSG;
	r = take_variables(at, end, &env);
	if (r == 0)
		r = take_back(set, &state->env, &env);
	if (r < 0)
		return r;
	copy = strdup(cwd);
	if (!copy)
		return -ENOMEM;
	shell_state_release(state);
	state->cwd = copy;
	state->env = env;
	env = (struct strv){0};
	return 0;
}

int shell_notes_read(int fd, char *const *set, struct shell_state *state, struct err *err)
{
	_cleanup_(freep) char *notes = malloc(SHELL_NOTES_MAX);
	ssize_t len = notes ? fd_pread_all(fd, notes, SHELL_NOTES_MAX, 0) : -ENOMEM;
	int r = len < 0 ? (int)len : shell_notes_parse(notes, (size_t)len, set, state);

	if (notes)
		explicit_bzero(notes, SHELL_NOTES_MAX);
	if (r == -ENOMEM)
		return err_oom(err);
	if (r == 0)
		return 0;
	err_set(err, ERR_SYSTEM, r,
		r == -EBADMSG ? "what the shell left behind is not its state"
			      : "the shell did not leave its state behind");
	return err_hint(err, r,
			"folder and variables are those from before; a signal, `exec`, a trap on "
			"EXIT or more than 256k of variables can do that");
}
