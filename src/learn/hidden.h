/* SPDX-License-Identifier: MIT */
/*
 * hidden - what a command looked for that the host has and its sandbox has not.
 *
 * The kernel answers "no such file" there, as for so much that programs merely look
 * for: only a run that failed is a reason to ask.
 */
#pragma once
#include "learn/group.h"

struct profile;
struct spec;
struct strv;
struct user;

struct hidden_facts {
	const struct spec *spec; /* that it ran under */
	const struct user *user;
	const struct strv *shown; /* folders of the system that every sandbox shows */
	enum path_type (*look)(const char *path, void *data); /* on the host, through links */
	void *data;
};

/* Paths that were to be read or executed, added to *ret. */
int hidden_find(const struct profile *profile, const struct hidden_facts *facts, struct strv *ret);
