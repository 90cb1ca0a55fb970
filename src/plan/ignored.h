/* SPDX-License-Identifier: MIT */
/* ignored - what the workspace's .paleignore hides, and aliases of what is hidden. */
#pragma once

struct err;
struct site;
struct spec;

/* Fills SITE->ignored; its paths are probed, those of paths_hidden last. */
int ignored_probe(const struct spec *spec, struct site *site, struct err *err);
/* What a sandbox around us has covered is hidden already. */
void ignored_forget_covered(struct site *site);
