/* SPDX-License-Identifier: MIT */
/*
 * What a client may send to a keeper: packets with and without descriptors, in any order, to
 * a keeper whose commands are made up. Each packet of the input is a byte for what goes with
 * it, two for its length, and its bytes; half of them get a head that is well-formed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/standing.h"
#include "base/err.h"
#include "base/fd.h"
#include "net/rules.h"
#include "result/result.h"
#include "session/keeper-impl.h"

enum { PACKETS_MAX = 12, LIVING_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t living[LIVING_MAX];
static size_t n_living;

/* Looks at all that it is given, and says that it began. */
int standing_start(struct standing *s, const struct errand *errand, struct err *err)
{
	size_t sum = 0;
	int r;

	(void)s;
	for (char *const *arg = errand->argv; *arg; arg++)
		sum += strlen(*arg);
	for (char *const *var = errand->env; var && *var; var++)
		sum += strlen(*var);
	sum += strlen(errand->cwd);
	for (int i = 0; i < 3; i++)
		if (fcntl(errand->fds[i], F_GETFD) < 0)
			BUG("a descriptor that is none");
	if (sum > SESSION_BODY_MAX * 2u)
		BUG("more than was sent");
	if (errand->id % 5 == 0 || n_living == LIVING_MAX)
		return err_set(err, ERR_SYSTEM, -EAGAIN, "made up");
	r = errand->begins(errand->data, err);
	if (r == 0)
		living[n_living++] = errand->id;
	return r;
}

void standing_signal(struct standing *s, uint32_t id, int sig)
{
	(void)s, (void)id;
	if (sig < 1 || sig > 64)
		BUG("no signal");
}

void standing_end(struct standing *s, uint32_t id)
{
	(void)s, (void)id;
}

/* Rules of its own, which are changed as a broker would. */
static struct rules rules = {.ports_set = true};

bool standing_network(const struct standing *s, struct standing_network *ret)
{
	(void)s;
	*ret = (struct standing_network){.rules = &rules, .connections = 1};
	return true;
}

int standing_narrow(struct standing *s, const char *rule, unsigned *ret_gone, struct err *err)
{
	(void)s;
	*ret_gone = 0;
	return rules_narrow(&rules, rule, err);
}

int standing_widen(struct standing *s, const char *rule, struct err *err)
{
	(void)s;
	if (rules.hosts.len > 64)
		rules_release(&rules);
	return rules_widen(&rules, rule, err);
}

int standing_open(struct plan *plan, struct loop *loop, const struct standing_ear *ear,
		  struct standing **ret, struct err *err)
{
	(void)plan, (void)loop, (void)ear, (void)ret, (void)err;
	return -1;
}

struct standing *standing_close(struct standing *s, struct result *ret)
{
	(void)s, (void)ret;
	return NULL;
}

static struct plan plan = {.cwd = "/", .max_output = UINT64_MAX, .timeout_ms = UINT64_MAX};
static struct run run;
static struct site site;
static struct keeper keeper;

static void set_up(void)
{
	static char *root[] = {"/", NULL};
	char dir[] = "/tmp/fuzz-session-XXXXXX";

	if (keeper.run)
		return;
	if (!mkdtemp(dir))
		BUG("mkdtemp");
	spec_init_top(&run.resolved.spec);
	run.resolved.spec.timeout = 1000;
	run.plan = &plan;
	keeper.run = &run;
	keeper.site = &site;
	keeper.place = (struct session_place){.parent = -1, .lock = -1, .name = "fuzz"};
	keeper.place.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)mkdirat(keeper.place.dir, SESSION_OUT, 0700);
	keeper.shown = (struct strv){.items = root, .len = 1};
	keeper.idle_ms = UINT64_MAX;
	keeper.listener = keeper.signals = keeper.lifeline = -1;
}

static int sealed(const uint8_t *data, size_t len, bool really)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)!write(fd, data, len);
	if (really)
		(void)fcntl(fd, F_ADD_SEALS,
			    F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

static void send_packet(int sock, uint8_t how, const uint8_t *data, size_t len)
{
	struct session_head head = {.magic = SESSION_MAGIC,
				    .version = SESSION_VERSION,
				    .kind = how & 0x0f,
				    .len = (uint32_t)len};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), root = open("/", O_PATH | O_CLOEXEC);
	int fds[8] = {null, null, null, how & 0x10 ? root : null, null, null, null, null};
	size_t n_fds = how >> 5;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = {0};
	struct iovec iov[2] = {{&head, sizeof(head)}, {(void *)data, len}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	int file = -1;

	if ((how & 0x0f) == 0) { /* as it is */
		iov[0] = iov[1];
		msg.msg_iovlen = 1;
	} else if (len > 4) {
		memcpy(&head.flags, data, 4);
		head.flags &= 0xffff;
		iov[1] = (struct iovec){(void *)(data + 4), len - 4};
		head.len = (uint32_t)(len - 4);
		if (head.flags & SESSION_HAS_FD && n_fds > 0) {
			file = sealed(data + 4, len - 4, !(how & 0x10));
			fds[n_fds - 1] = file;
			msg.msg_iovlen = 1;
		}
	}
	if (n_fds > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
	}
	(void)sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	fd_close(null);
	fd_close(root);
	fd_close(file);
}

static void end_one(void)
{
	struct result result = {.exit_code = 0};
	struct job *job = job_by_id(&keeper, living[--n_living]);

	if (job)
		job_end(job, &result, NULL);
}

static void turn(void)
{
	if (keeper.clients)
		loop_turn(&keeper.loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session_buffer *buffer = malloc(sizeof(*buffer));
	struct session_message m;
	int pair[2];

	set_up();
	if (!buffer || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		BUG("socketpair");
	for (int n = 0; n < PACKETS_MAX && size >= 3; n++) {
		size_t len = data[1] | (size_t)data[2] << 8;

		len = len > size - 3 ? size - 3 : len;
		send_packet(pair[1], data[0], data + 3, len);
		if (n == 0)
			keeper_adopt(&keeper, pair[0]);
		else
			turn();
		if (n_living > 0 && data[0] & 1)
			end_one();
		while (session_receive(pair[1], buffer, &m, MSG_DONTWAIT) == 0)
			session_message_release(&m, buffer);
		data += 3 + len;
		size -= 3 + len;
		if (n == 0 && !keeper.clients)
			break;
	}
	if (!keeper.clients && keeper.n_clients > 0)
		BUG("clients are miscounted");
	fd_close(pair[1]);
	for (int i = 0; keeper.clients && i < 4; i++)
		turn();
	keeper_hang_up_all(&keeper);
	while (n_living > 0)
		end_one();
	while (keeper.jobs)
		job_free(keeper.jobs);
	if (keeper.n_living != 0)
		BUG("commands are miscounted");
	keeper.n_finished = 0;
	keeper.loop.done = false;
	/* The loop drops what was removed when it is turned. */
	loop_release(&keeper.loop);
	keeper.loop = (struct loop){0};
	free(buffer);
	return 0;
}
