/* SPDX-License-Identifier: MIT */
#include "view/units.h"

#include <stdio.h>

const char *units_bytes(uint64_t bytes, char buf[UNITS_MAX])
{
	static const char names[][4] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	unsigned unit = 0;

	if (bytes == UINT64_MAX)
		return "-";
	if (bytes < 1024) {
		snprintf(buf, UNITS_MAX, "%u B", (unsigned)bytes);
		return buf;
	}
	/* What would be rounded to 1024 belongs to the next one. */
	for (; value >= 1023.5 && unit + 1 < sizeof(names) / sizeof(*names); unit++)
		value /= 1024;
	snprintf(buf, UNITS_MAX, "%.*f %s",
		 value < 9.995 && value != (double)(unsigned)value   ? 2
		 : value < 99.95 && value != (double)(unsigned)value ? 1
								     : 0,
		 value, names[unit]);
	return buf;
}

const char *units_ms(uint64_t ms, char buf[UNITS_MAX])
{
	unsigned long long s = ms / 1000 + (ms % 1000 >= 500);

	if (ms == UINT64_MAX)
		return "-";
	if (ms < 1000)
		snprintf(buf, UNITS_MAX, "%u ms", (unsigned)ms);
	else if (ms < 9995)
		snprintf(buf, UNITS_MAX, "%.2f s", (double)ms / 1000);
	else if (ms < 59950)
		snprintf(buf, UNITS_MAX, "%.1f s", (double)ms / 1000);
	else if (s < 3600)
		snprintf(buf, UNITS_MAX, "%llum %02llus", s / 60, s % 60);
	else
		snprintf(buf, UNITS_MAX, "%lluh %02llum", s / 3600, s % 3600 / 60);
	return buf;
}
