/* SPDX-License-Identifier: MIT */
/* mirrors - what is hidden or protected, under the names that other mounts of the host give it; and
 * what the kernel shows of itself, where the host has that mounted once more. */
#pragma once

struct err;
struct site;
struct spec;

/* Adds to SITE, of which all else is known, what is to be hidden as well, and where protected
 * paths are shown once more. */
int mirrors_probe(const struct spec *spec, struct site *site, struct err *err);
