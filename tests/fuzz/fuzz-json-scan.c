/* SPDX-License-Identifier: MIT */
/* No text makes the scanner read past its end, loop or crash. */
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/json-scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(strv_release) struct strv names = {0};
	int r = json_scan_names((const char *)data, size, "scripts", &names);

	if (r > 0)
		abort();
	return 0;
}
