/* SPDX-License-Identifier: MIT */
/* event - something worth knowing about a run. Pure data. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct json;

/* What was done about a protected name. */
enum tamper_action {
	TAMPER_QUARANTINED, /* moved to `where` */
	TAMPER_RESTORED,    /* a link was put back; what replaced it is at `where`, if anything */
	TAMPER_REBOUND,     /* replaced on the host, and read-only inside again */
	TAMPER_GONE,        /* it went before it could be moved */
	TAMPER_ENDED,       /* nothing could be done, or too often: the run was ended */
};

struct event {
	const char *kind;      /* "tamper" */
	const char *dimension; /* of the spec */
	char *path;
	enum tamper_action action;
	char *where;        /* NULL: nowhere */
	char *reason;       /* why the run was ended; NULL */
	uint64_t window_us; /* from the notice to the deed */
};

#define EVENTS_MAX 64

struct events {
	struct event *items;
	size_t len;
	uint64_t dropped; /* past EVENTS_MAX */
};

/* Strings are copied; WHERE and REASON may be NULL. 0 or -ENOMEM. */
int events_add_tamper(struct events *events, const char *path, enum tamper_action action,
		      const char *where, const char *reason, uint64_t window_us);
/* Copies of what FROM has. Without memory some are missing. */
void events_append(struct events *events, const struct events *from);
void events_release(struct events *events);
const char *tamper_action_name(enum tamper_action action);
/* "events":[…] */
void events_json(const struct events *events, struct json *json);
