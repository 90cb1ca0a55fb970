/* SPDX-License-Identifier: MIT */
/*
 * call - the system calls that an observer is told of: what they are about.
 *
 * Pure: one table, for this architecture. What is not in it is told only because
 * the filter refuses it.
 */
#pragma once

enum call_kind {
	CALL_OPEN,    /* flags decide */
	CALL_MAKE,    /* a name that must not be there yet */
	CALL_REMOVE,  /* a name that goes */
	CALL_CHANGE,  /* a file as it is */
	CALL_RENAME,  /* the first name goes, the second comes or is replaced */
	CALL_LINK,    /* the first name is used, the second made */
	CALL_CONNECT, /* an address, and its length in the next argument */
	CALL_EXECUTE,
};

struct call {
	int nr;
	const char *op; /* without the "at" and the numbers of its variants */
	enum call_kind kind;
	/* Arguments; -1: there is none. A folder that names are relative to, and a name. */
	signed char dir, name;
	signed char dir2, name2;
	signed char flags;
};

const struct call *call_find(int nr); /* or NULL */
