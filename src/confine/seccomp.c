/* SPDX-License-Identifier: MIT */
/* The filters themselves are made by tools/seccomp-gen.c at build time. */
#include <linux/seccomp.h>

#include "base/err.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "confine/filters.h"

int confine_seccomp(unsigned variant, struct err *err)
{
	/* SPEC_ALLOW: without it the kernel slows every program down against
	 * speculation, which is a matter of the machine's own settings. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &filters[variant]) < 0)
		return err_sys(err, -errno, "install the seccomp filter");
	return 0;
}
