/* SPDX-License-Identifier: MIT */
#include "confine/confine.h"

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/sys.h"

int confine_clear_caps(struct err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_sys(err, -errno, "clear ambient capabilities");
	if (syscall(SYS_capset, &header, none) < 0)
		return err_sys(err, -errno, "drop capabilities");
	return 0;
}

int confine_drop_caps(struct err *err)
{
	unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			     SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
		return err_sys(err, -errno, "lock securebits");
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL && cap > CAP_BPF)
			break; /* past the kernel's last one */
		return err_sys(err, -errno, "drop capability %lu from the bounding set", cap);
	}
	return confine_clear_caps(err);
}

bool confine_has_no_caps(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];

	if (syscall(SYS_capget, &header, sets) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return false;
	for (int i = 0; i < 2; i++)
		if (sets[i].effective | sets[i].permitted | sets[i].inheritable)
			return false; /* no ambient one without them */
	for (unsigned long cap = 0; cap < 64; cap++) {
		int r = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (r > 0 || (r < 0 && errno != EINVAL)) /* that is one that there is not */
			return false;
	}
	return true;
}

int confine_no_new_privs(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "set no_new_privs");
	return 0;
}

/* A filter around us that refuses every call about keys refuses them to the
 * command, too. */
static bool has_no_keys(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) < 0 &&
	       errno == EPERM;
}

int confine_fresh_keyring(struct err *err)
{
	int r;

	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
		return 0;
	r = -errno;
	if (r == -ENOSYS || (r == -EPERM && has_no_keys()))
		return 0; /* a kernel without keys holds none */
	return err_sys(err, r, "join a fresh session keyring");
}

int confine_no_core(struct err *err)
{
	/* One that is 0 does not count where core_pattern names a program. */
	return confine_limit(RLIMIT_CORE, 1, err);
}

int confine_limit(int resource, uint64_t value, struct err *err)
{
	struct rlimit now, limit = {value, value};

	if (value > 0 && getrlimit(resource, &now) < 0)
		return err_sys(err, -errno, "look at a limit");
	if (value > 0 && now.rlim_max < limit.rlim_max) /* tighter already */
		limit.rlim_cur = limit.rlim_max = now.rlim_max;
	if (setrlimit(resource, &limit) < 0)
		return err_sys(err, -errno, "lower a limit to %llu", (unsigned long long)value);
	return 0;
}

/* Where the user may have them the command would come before its supervisor. */
int confine_no_priority(struct err *err)
{
	int r = confine_limit(RLIMIT_RTPRIO, 0, err);

	return r < 0 ? r : confine_limit(RLIMIT_NICE, 0, err);
}

/* They are counted for the user, whoever holds them: no signal that carries something, and no
 * timer, can be had once they are used up, and no shared memory be locked. */
int confine_spare_queues(struct err *err)
{
	static const int queues[] = {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK};

	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		struct rlimit limit;

		if (getrlimit(queues[i], &limit) < 0)
			return err_sys(err, -errno, "look at a limit");
		if (limit.rlim_max == RLIM_INFINITY)
			continue;
		limit.rlim_max /= 2;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		if (setrlimit(queues[i], &limit) < 0)
			return err_sys(err, -errno, "lower a limit to a half");
	}
	return 0;
}
