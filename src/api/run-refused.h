/* SPDX-License-Identifier: MIT */
/* run-refused - what an observed run attempted in vain: by which rule, and what would help. */
#pragma once

struct run;
struct violation;

/* Fill `rule` and `fix` of every violation of RUN. What finds no memory stays NULL. */
void run_explain_refused(struct run *run);
void run_explain(const struct run *run, struct violation *violation); /* of this one */
