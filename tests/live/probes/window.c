/* SPDX-License-Identifier: MIT */
/* window NAME - make a file, and tell for how many nanoseconds it was seen there:
 * up to the last look that found it, and up to the first one that did not. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int tries = argc > 2 ? atoi(argv[2]) : 1;

	for (int i = 0; i < tries; i++) {
		long long made = now(), seen = made;
		int fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0644);

		if (fd < 0)
			return 1;
		close(fd);
		while (access(argv[1], F_OK) == 0) {
			seen = now();
			if (seen - made > 5000000000LL)
				return 2;
		}
		printf("%lld %lld\n", seen - made, now() - made);
		fflush(stdout);
		usleep(2000);
	}
	return 0;
}
