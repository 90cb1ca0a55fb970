/* SPDX-License-Identifier: MIT */
/*
 * task - what a task that waits for an answer has in its registers and memory.
 *
 * It may share that memory with others who change it, or lie: what is read here
 * is for reports, and nothing is decided on it.
 */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* SIZE bytes at ADDRESS. Returns how many could be read, or -errno. */
ssize_t task_read(pid_t pid, uint64_t address, void *buf, size_t size);
/* The name at ADDRESS, with its NUL. Its length, or -errno: -ENAMETOOLONG. */
int task_read_name(pid_t pid, uint64_t address, char ret[PATH_MAX]);
/* NAME as the task means it: relative to its descriptor DIR, or AT_FDCWD; normalized. An
 * empty one is DIR itself. 0 or -errno. */
int task_resolve(pid_t pid, int dir, const char *name, char ret[PATH_MAX]);
/* A duplicate of its descriptor FD, ours to close; or -errno. */
int task_take_fd(pid_t pid, int fd);
/* Close one that was taken. If the task has closed its own meanwhile, this is the last, and a
 * socket that lingers would hold us up for as long as the task has told it to. Returns -1. */
int task_return_fd(int fd);
#define TASK_PROGRAM_MAX 64
/* The base name of what it executes, "" when that cannot be read. */
void task_program(pid_t pid, char ret[TASK_PROGRAM_MAX]);
/* Is there a signal that would end its sleep, were that one that any signal ends? False, too,
 * when another thread may see to it. */
bool task_has_signal(pid_t pid);
/* Lexical: NAME in BASE, which is absolute. Without "//", "." and "..". */
int task_join(const char *base, const char *name, char ret[PATH_MAX]);
