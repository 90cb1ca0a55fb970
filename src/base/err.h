/* SPDX-License-Identifier: MIT */
/*
 * err - what went wrong, in a fixed-size value.
 *
 * No allocation, so that a cloned child can write one into a socket before it
 * exits. Functions return 0 or -errno, take `struct err *err` last, and leave
 * it untouched on success. A NULL err is allowed everywhere.
 */
#pragma once

/* Stable: they decide the exit status and appear in JSON. */
enum err_code {
	ERR_SYSTEM,         /* the kernel or the C library said no */
	ERR_USAGE,          /* the command line is wrong */
	ERR_CONFIG,         /* a configuration file is wrong */
	ERR_POLICY,         /* a ceiling forbids what was asked */
	ERR_TRUST,          /* the workspace asks for more than it is trusted with */
	ERR_UNSUPPORTED,    /* this host or version cannot enforce what was asked */
	ERR_NOT_FOUND,      /* the program does not exist (127) */
	ERR_NOT_EXECUTABLE, /* the program exists and cannot be executed (126) */
	ERR_NO_IDMAP,       /* a filesystem cannot be id-mapped; nothing was executed */
	ERR_NO_NAMESPACES,  /* this host refuses them; nothing was executed */
	ERR_LOST,           /* it may have been executed, and its end is not known */
	ERR_LAST = ERR_LOST,
};

struct err {
	enum err_code code;
	int errnum;         /* positive errno, 0 when none applies */
	char message[1024]; /* one line as a rule; no trailing newline */
	char hint[512];     /* what the user can do about it; may be empty */
};

/* All return R (0 or -errno), so that a caller can write `return err_set(…)`. Cold: what leads to
 * them is laid out of the way of what goes well. */
int err_set(struct err *err, enum err_code code, int r, const char *fmt, ...)
	__attribute__((cold, format(printf, 4, 5)));
/* "MESSAGE: strerror(-r)", code ERR_SYSTEM. */
int err_sys(struct err *err, int r, const char *fmt, ...)
	__attribute__((cold, format(printf, 3, 4)));
/* Put "MESSAGE: " in front of what is there. */
int err_wrap(struct err *err, int r, const char *fmt, ...)
	__attribute__((cold, format(printf, 3, 4)));
int err_hint(struct err *err, int r, const char *fmt, ...)
	__attribute__((cold, format(printf, 3, 4)));
/* BEFORE, TEXT, AFTER: a hint that is a command. TEXT may be anybody's name, and is put there as
 * one word of a shell, so that what is copied from it does what it says. */
int err_hint_word(struct err *err, int r, const char *before, const char *text, const char *after)
	__attribute__((cold));
int err_oom(struct err *err) __attribute__((cold)); /* -ENOMEM */

const char *err_code_name(enum err_code code); /* "config", "policy", … */

/* For the impossible. Prints file and line, aborts. */
#define BUG(what) err_bug(__FILE__, __LINE__, (what))
_Noreturn void err_bug(const char *file, int line, const char *what) __attribute__((cold));
