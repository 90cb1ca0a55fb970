/* SPDX-License-Identifier: MIT */
/* exec - find a program in the new root and become it. */
#pragma once

struct err;

/* As execvpe(3), with PATH taken from ENV, and without allocation. A file that
 * the kernel does not know is run by /bin/sh. Returns -errno. */
int exec_program(char *const *argv, char *const *env);
/* Turn that -errno into ERR_NOT_FOUND or ERR_NOT_EXECUTABLE. Returns it. */
int exec_error(int r, const char *program, struct err *err);
