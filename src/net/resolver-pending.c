/* SPDX-License-Identifier: MIT */
/* Questions that cannot be answered at once: the name is looked up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/lookup.h"
#include "net/resolver-impl.h"

static struct pending *find(struct resolver *resolver, const char *name)
{
	for (struct pending *p = resolver->pending; p; p = p->next)
		if (str_eq(p->name, name))
			return p;
	return NULL;
}

static struct pending *pending_new(struct resolver *resolver, const char *name)
{
	struct pending *p = resolver->pending_len < RESOLVER_NAMES_MAX ? calloc(1, sizeof(*p))
								       : NULL;

	if (!p)
		return NULL;
	p->owner = resolver;
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->next = resolver->pending;
	resolver->pending = p;
	resolver->pending_len++;
	return p;
}

static void pending_free(struct pending *p)
{
	struct resolver *resolver = p->owner;
	struct pending **at = &resolver->pending;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	resolver->pending_len--;
	lookup_forget(resolver->lookups, p);
	while (p->askers) {
		struct asker *next = p->askers->next;

		free(p->askers);
		resolver->waiting--;
		p->askers = next;
	}
	free(p);
}

/* A stream whose answer cannot be sent ends, and takes its other questions with it: each
 * asker is taken off before it is answered. */
static void answer_all(struct pending *p, enum dns_code code)
{
	struct resolver *resolver = p->owner;

	while (p->askers) {
		struct asker *asker = p->askers;

		p->askers = asker->next;
		resolver->waiting--;
		if (code == DNS_NOERROR)
			resolver_answer_name(resolver, asker, p->name);
		else
			resolver_answer(resolver, asker, code, NULL, NULL);
		free(asker);
	}
	pending_free(p);
}

static void on_looked_up(void *data, const struct lookup_answer *answer)
{
	struct pending *p = data;

	/* One that leads only where it must not is said to exist: the refusal is told, and
	 * its reason given, when it is dialled. */
	answer_all(p, answer->error == 0         ? DNS_NOERROR
		      : answer->error == -ENOENT ? DNS_NXDOMAIN
						 : DNS_SERVFAIL);
}

void pending_add(struct resolver *resolver, const struct asker *asker)
{
	struct pending *p = find(resolver, asker->q.name);
	struct asker *copy = resolver->waiting < RESOLVER_WAITING_MAX ? malloc(sizeof(*copy))
								      : NULL;
	bool is_new = !p;

	if (copy && is_new)
		p = pending_new(resolver, asker->q.name);
	if (!copy || !p) {
		free(copy);
		resolver_answer(resolver, asker, DNS_SERVFAIL, NULL, NULL);
		return;
	}
	*copy = *asker;
	copy->next = p->askers;
	p->askers = copy;
	resolver->waiting++;
	if (is_new)
		lookup_start(resolver->lookups, p->name, 0, on_looked_up, p);
}

void pending_free_all(struct resolver *resolver)
{
	while (resolver->pending)
		pending_free(resolver->pending);
}

void pending_forget(struct resolver *resolver, const struct stream *stream)
{
	for (struct pending *p = resolver->pending; p; p = p->next)
		for (struct asker *asker = p->askers; asker; asker = asker->next)
			asker->gone |= asker->stream == stream;
}
