/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/standing.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "session/keeper-impl.h"

void keeper_stir(struct keeper *k)
{
	k->idle.at_ns = k->n_living > 0 || k->idle_ms == UINT64_MAX
				? LOOP_NEVER
				: clock_mono_ns() + k->idle_ms * 1000000;
}

void keeper_hang_up(struct client *client)
{
	struct keeper *k = client->keeper;

	for (struct client **at = &k->clients; *at; at = &(*at)->next)
		if (*at == client) {
			*at = client->next;
			break;
		}
	keeper_unask(k, client);
	if (client->job) {
		client->job->client = NULL;
		standing_end(k->standing, client->job->id);
	}
	loop_remove(&k->loop, client->sock);
	fd_close(client->sock);
	free(client);
	k->n_clients--;
}

void keeper_hang_up_all(struct keeper *k)
{
	while (k->clients) {
		k->clients->job = NULL;
		keeper_hang_up(k->clients);
	}
}

/* One that has gone, or takes nothing, is seen to when its end is: it may be in use here. */
void client_answer(struct client *client, enum session_kind kind, const struct str *body,
		   const int *fds, size_t n_fds)
{
	if (session_send(client->sock, kind, 0, body, fds, n_fds, MSG_DONTWAIT) < 0)
		(void)shutdown(client->sock, SHUT_RDWR);
}

void client_fail(struct client *client, const struct err *err)
{
	_cleanup_(str_release) struct str body = {0};

	if (session_put_failure(&body, err) < 0)
		(void)shutdown(client->sock, SHUT_RDWR);
	else
		client_answer(client, SESSION_ERROR, &body, NULL, 0);
}

void client_number(struct client *client, enum session_kind kind, uint64_t value)
{
	const struct session_number number = {value};
	struct str body = {.data = (char *)&number, .len = sizeof(number)};

	client_answer(client, kind, &body, NULL, 0);
}

static void tell_own(struct client *client, struct session_message *message)
{
	struct session_cursor c = session_cursor(message);
	struct session_number sig;

	if (!session_take(&c, &sig, sizeof(sig)) || !session_take_end(&c) || sig.value < 1 ||
	    sig.value > 64)
		(void)shutdown(client->sock, SHUT_RDWR);
	else if (client->job)
		standing_signal(client->keeper->standing, client->job->id, (int)sig.value);
}

static void stop(struct client *client, const struct session_message *message)
{
	struct keeper *k = client->keeper;
	struct err err = {0};

	if (message->head.flags & SESSION_IF_IDLE && k->n_living > 0) {
		err_set(&err, ERR_USAGE, -EBUSY, "%zu command%s running in session '%s'",
			k->n_living, k->n_living == 1 ? " is" : "s are", k->place.name);
		client_fail(client, &err);
		return;
	}
	client_answer(client, SESSION_DONE, NULL, NULL, 0);
	k->loop.done = true;
}

static void obey(struct client *client, struct session_message *message)
{
	switch (message->head.kind) {
	case SESSION_EXEC:
		keeper_exec(client, message);
		break;
	case SESSION_TELL:
		tell_own(client, message);
		break;
	case SESSION_END:
		if (client->job)
			standing_end(client->keeper->standing, client->job->id);
		break;
	case SESSION_OUTPUT:
		keeper_output(client, message);
		break;
	case SESSION_WAIT:
		keeper_wait(client, message);
		break;
	case SESSION_SIGNAL:
		keeper_signal(client, message);
		break;
	case SESSION_STOP:
		stop(client, message);
		break;
	case SESSION_INFO:
		keeper_info(client);
		break;
	case SESSION_ANSWER:
		keeper_answer(client, message);
		break;
	case SESSION_NETWORK:
		keeper_network(client, message);
		break;
	default:
		(void)shutdown(client->sock, SHUT_RDWR);
	}
}

/* For all clients: each message is done with before the next is taken. */
static struct session_buffer buffer;

static void on_client(void *data, short revents)
{
	struct client *client = data;
	struct keeper *k = client->keeper;
	struct session_message message;
	int r = -EPIPE;

	if (revents & POLLIN)
		r = session_receive(client->sock, &buffer, &message, MSG_DONTWAIT);
	if (r == 0) {
		obey(client, &message);
		session_message_release(&message, &buffer);
		keeper_stir(k);
	} else if (r != -EAGAIN && r != -EINTR) {
		keeper_hang_up(client);
	}
}

static void refuse(int sock, const char *why)
{
	_cleanup_(str_release) struct str body = {0};
	struct err err = {0};

	err_set(&err, ERR_POLICY, -EPERM, "%s", why);
	if (session_put_failure(&body, &err) == 0)
		(void)session_send(sock, SESSION_ERROR, 0, &body, NULL, 0, MSG_DONTWAIT);
}

void keeper_adopt(struct keeper *k, int sock)
{
	struct client *client = k->n_clients < KEEPER_CLIENTS_MAX ? calloc(1, sizeof(*client))
								  : NULL;

	if (!client || loop_add(&k->loop, sock, POLLIN, on_client, client) < 0) {
		free(client);
		refuse(sock, "too many ask this session at once");
		fd_close(sock);
		return;
	}
	*client = (struct client){.keeper = k, .next = k->clients, .sock = sock};
	k->clients = client;
	k->n_clients++;
	/* It is about to ask, if it has not asked yet. */
	(void)sched_yield();
	on_client(client, POLLIN);
}

static void on_listener(void *data, short revents)
{
	struct keeper *k = data;
	int sock = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC);
	const char *why = sock < 0 ? NULL : peer_refusal(sock, &k->whereabouts);

	(void)revents;
	if (sock < 0)
		return;
	if (!why) {
		keeper_adopt(k, sock);
		return;
	}
	refuse(sock, why);
	fd_close(sock);
}

int keeper_listen(struct keeper *k, struct err *err)
{
	int r = whereabouts_own(&k->whereabouts);

	if (r < 0)
		return err_sys(err, r, "look at ourselves in /proc");
	k->listener = session_listen(&k->place, err);
	if (k->listener < 0)
		return k->listener;
	return loop_add(&k->loop, k->listener, POLLIN, on_listener, k) < 0 ? err_oom(err) : 0;
}
