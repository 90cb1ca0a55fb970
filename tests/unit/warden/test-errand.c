/* SPDX-License-Identifier: MIT */
/* What is packed for a warden arrives there; what was not packed so does not. */
#include "warden/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "engine/outbox.h"
#include "tap.h"
#include "warden/parcel.h"

static int ends[2];
static struct parcel parcel;

static struct errand plain(char **argv, char **env)
{
	return (struct errand){.id = 7,
			       .argv = argv,
			       .env = env,
			       .cwd = "/some/where",
			       .fds = {0, 1, 2},
			       .notes = -1};
}

static int send_packet(const struct errand_packet *p)
{
	struct outbox box = {0};
	struct iovec parts[2] = {{(void *)&p->order, sizeof(p->order)}, {p->words, p->order.size}};

	return outbox_send(&box, ends[0], parts, p->words ? 2 : 1, p->fds, p->fds_len);
}

static void drop_fds(void)
{
	while (parcel.fds_len > 0)
		fd_close(parcel.fds[--parcel.fds_len]);
}

static void check_same(char *const *got, char *const *want, const char *what)
{
	size_t i = 0;

	while (want[i] && got[i] && strcmp(got[i], want[i]) == 0)
		i++;
	tap_ok(!want[i] && !got[i], "%s", what);
}

static void test_round_trip(size_t fill, bool apart)
{
	char *variable = malloc(fill + 3);
	char *argv[] = {"program", "", "a\nb", NULL}, *env[] = {variable, "B=2", NULL};
	struct errand errand = plain(argv, env);
	struct errand_packet packet;
	struct parcel_words words;
	struct err err = {0};

	memset(variable, 'x', fill + 2);
	variable[1] = '=';
	variable[fill + 2] = '\0';
	errand.notes = 2;
	errand.is_tool = true;
	tap_eq_int(errand_pack(&errand, &packet, &err), 0, "an errand is packed");
	tap_eq_int(packet.file >= 0, apart, "its words are where they should be");
	tap_eq_int(send_packet(&packet), 0, "sent");
	errand_packet_release(&packet);
	tap_eq_int(parcel_receive(ends[1], &parcel, MSG_DONTWAIT), 0, "received");
	tap_eq_int((long long)parcel.fds_len, 4 + apart, "with its descriptors");
	tap_eq_int(parcel_open(&parcel, &words, &err), 0, "and opened");
	tap_eq_str(words.at.cwd, "/some/where", "the folder");
	check_same(words.at.argv, argv, "the arguments");
	check_same(words.at.env, env, "the environment");
	tap_eq_int(parcel.order.order.id, 7, "the id");
	tap_eq_int(parcel.order.order.value & (ERRAND_TOOL | ERRAND_NOTES),
		   ERRAND_TOOL | ERRAND_NOTES, "and what it is");
	parcel_words_release(&words);
	drop_fds();
	free(variable);
}

static void test_terminal(void)
{
	char *argv[] = {"sh", NULL}, *env[] = {NULL};
	struct errand errand = plain(argv, env);
	const struct pty pty = {.mask = 6, .size = {.ws_row = 3, .ws_col = 4}};
	struct errand_packet packet;
	struct err err = {0};

	errand.pty = &pty;
	errand.fds[1] = errand.fds[2] = -1;
	tap_eq_int(errand_pack(&errand, &packet, &err), 0, "one with a screen");
	tap_eq_int((long long)packet.fds_len, 1, "has one descriptor of its own");
	tap_eq_int((long long)errand_fds(&packet.order), 1, "and the warden knows");
	send_packet(&packet);
	parcel_receive(ends[1], &parcel, MSG_DONTWAIT);
	tap_eq_int(parcel.order.pty.size.ws_col, 4, "the size of the screen arrives");
	errand_packet_release(&packet);
	drop_fds();
}

static void test_too_long(void)
{
	char *word = malloc(200000), *argv[] = {"x", word, NULL}, *env[12] = {0};
	struct errand errand = plain(argv, env);
	struct errand_packet packet;
	struct err err = {0};

	memset(word, 'x', 199999);
	word[199999] = '\0';
	tap_eq_int(errand_pack(&errand, &packet, &err), -E2BIG,
		   "a word of 200 000 bytes is refused");
	word[100000] = '\0';
	for (int i = 0; i < 11; i++)
		env[i] = word;
	tap_eq_int(errand_pack(&errand, &packet, &err), -E2BIG, "and so is more than a MiB");
	tap_ok(strstr(err.message, "1 MiB") != NULL, "with a reason");
	free(word);
}

static void spoil(const char *what, void (*change)(struct errand_order *order))
{
	char *argv[] = {"program", "one", NULL}, *env[] = {"A=1", NULL};
	struct errand errand = plain(argv, env);
	struct errand_packet packet;
	struct parcel_words words;
	struct err err = {0};

	errand_pack(&errand, &packet, &err);
	send_packet(&packet);
	errand_packet_release(&packet);
	tap_eq_int(parcel_receive(ends[1], &parcel, MSG_DONTWAIT), 0, "%s: received", what);
	change(&parcel.order); /* what came stays; what is said of it does not */
	tap_eq_int(parcel_open(&parcel, &words, &err), -EBADMSG, "%s: refused", what);
	drop_fds();
}

static void no_args(struct errand_order *o)
{
	o->argc = 0;
}
static void more_args(struct errand_order *o)
{
	o->argc = 4;
}
static void many_args(struct errand_order *o)
{
	o->argc = 0xfffffff0;
}
static void fewer_vars(struct errand_order *o)
{
	o->envc = 0;
}
static void larger(struct errand_order *o)
{
	o->size += 1;
}
static void huge(struct errand_order *o)
{
	o->size = 0xffffffff;
}
static void with_notes(struct errand_order *o)
{
	o->order.value |= ERRAND_NOTES;
}
static void apart(struct errand_order *o)
{
	o->order.value |= ERRAND_APART;
}

static void test_broken(void)
{
	struct warden_order order = {.kind = WARDEN_SIGNAL, .value = 15, .id = 3};
	struct iovec part = {&order, sizeof(order)};
	struct outbox box = {0};
	int zero = 0;

	spoil("no program", no_args);
	spoil("an argument too many", more_args);
	spoil("arguments without end", many_args);
	spoil("a variable too few", fewer_vars);
	spoil("another size", larger);
	spoil("a huge size", huge);
	spoil("a descriptor too few", with_notes);
	spoil("a file that is none", apart);
	tap_eq_int(parcel_receive(ends[1], &parcel, MSG_DONTWAIT), -EAGAIN, "nothing: no waiting");
	outbox_send(&box, ends[0], &part, 1, &zero, 1);
	tap_eq_int(parcel_receive(ends[1], &parcel, MSG_DONTWAIT), 0, "a plain order");
	tap_ok(parcel.order.order.value == 15 && parcel.order.order.id == 3, "is one");
	tap_eq_int((long long)parcel.fds_len, 0, "and has no descriptor");
	order.kind = WARDEN_ERRAND;
	outbox_send(&box, ends[0], &part, 1, NULL, 0);
	tap_eq_int(parcel_receive(ends[1], &parcel, MSG_DONTWAIT), -EPIPE,
		   "half an errand is nobody's");
}

/* More than the channel takes at once. */
static void test_outbox(void)
{
	struct outbox box = {0};
	static char bytes[8000];
	struct iovec part = {bytes, sizeof(bytes)};
	unsigned sent = 0, came = 0;
	int r, zero = 0;

	while ((r = outbox_send(&box, ends[0], &part, 1, &zero, 1)) == 0)
		sent++;
	tap_eq_int(r, 1, "a full channel: kept for later");
	for (int i = 0; i < 50; i++, sent++)
		outbox_send(&box, ends[0], &part, 1, &zero, 1);
	sent++;
	tap_ok(!outbox_flush(&box, ends[0]), "there is no room yet");
	while (came < sent) {
		if (recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) == (ssize_t)sizeof(bytes))
			came++;
		else if (outbox_flush(&box, ends[0]) && came < sent &&
			 recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK) < 0)
			break;
	}
	tap_eq_int(came, sent, "everything arrives");
	outbox_send(&box, ends[0], &part, 1, &zero, 1);
	outbox_release(&box);
}

int main(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	test_round_trip(10, false);
	test_round_trip(50000, true);
	test_terminal();
	test_too_long();
	test_broken();
	test_outbox();
	close(ends[0]);
	close(ends[1]);
	return tap_done();
}
