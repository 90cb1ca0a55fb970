/* SPDX-License-Identifier: MIT */
#include "engine/outlet.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "engine/engine.h"
#include "engine/net.h"
#include "engine/sandbox.h"
#include "warden/protocol.h"
#include "warden/sockets.h"

int outlet_open(struct outlet *o, const struct plan *plan, const struct gateway *gateway,
		struct loop *loop, int (*more)(void *data), void *data, struct err *err)
{
	int r;

	if (!plan->net.brokered)
		return 0;
	if (!gateway)
		return err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
			       "nobody is there to serve the sandbox's network");
	r = gateway->open(gateway->data, loop, more, data, err);
	if (r == 0)
		o->gateway = gateway;
	return r;
}

static int refuse(const int *fds, size_t len, struct err *err)
{
	while (len > 0)
		fd_close(fds[--len]);
	return err_set(err, ERR_SYSTEM, -EPROTO,
		       "the sockets of the sandbox's network did not arrive");
}

int outlet_take(struct outlet *o, const struct sandbox *s, const struct warden_report *report,
		const int *fds, size_t len, struct err *err)
{
	int all[SOCKETS_FIRST_MAX + NET_SPECIAL_MAX], r;
	size_t special = 0;

	if (!o->gateway)
		return refuse(fds, len, err);
	if (o->fed) {
		o->gateway->take(o->gateway->data, fds, len);
		return 0;
	}
	/* Without a descriptor to spare the kernel drops some. */
	if (len < SOCKETS_BATCH || len > SOCKETS_FIRST_MAX || (size_t)report->status != len)
		return refuse(fds, len, err);
	/* In a sandbox that bwrap built nobody may do what is left: we may. */
	r = s->plan->engine == ENGINE_BWRAP ? net_open_from(fds[0], all, &special, err) : 0;
	if (r < 0) {
		refuse(fds, len, &(struct err){0});
		return r;
	}
	memcpy(all + special, fds, len * sizeof(*fds));
	o->gateway->take(o->gateway->data, all, special + len);
	r = sockets_taken(s->channel);
	o->fed = r == 0;
	return r < 0 ? err_sys(err, r, "let the sandbox go on") : 0;
}

void outlet_close(struct outlet *o)
{
	if (o->gateway)
		o->gateway->close(o->gateway->data);
	o->gateway = NULL;
}
