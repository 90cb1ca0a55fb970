/* SPDX-License-Identifier: MIT */
/*
 * git-dir - the directories that git uses for a workspace, and what in them it
 * executes or is told by what to execute.
 *
 * `.git` may be a folder, a file that points elsewhere, or a link; the folder
 * may share that of another repository (`commondir`). All of it is read as git
 * reads it. Without a `.git` the workspace itself may be a bare repository.
 */
#pragma once

struct err;
struct protection;

int git_dir_probe(const char *workspace, const char *home, struct protection *ret, struct err *err);
