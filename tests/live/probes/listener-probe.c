/* SPDX-License-Identifier: MIT */
/*
 * listener-probe PORT: tries to become the one who is asked of its own sockets, for as long
 * as it takes, and then sends a word to a port of the host.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int listener;

static void *let_pass(void *data)
{
	(void)data;
	for (;;) {
		struct seccomp_notif notice = {0};
		struct seccomp_notif_resp response = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0)
			continue;
		response.id = notice.id;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sock_filter ask[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(ask) / sizeof(ask[0]), ask};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "0")),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	pthread_t thread;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	dprintf(1, "BOOTED\nsocket %s\n", fd < 0 ? strerror(errno) : "made");
	do {
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	} while (listener < 0);
	pthread_create(&thread, NULL, let_pass, NULL);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		(void)send(fd, "LEAKED\n", 7, MSG_NOSIGNAL);
	pause();
	return 0;
}
