/* SPDX-License-Identifier: MIT */
#include "session/file-tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/run-history.h"
#include "api/run-refused.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "files/files.h"
#include "session/session.h"

/* Heading, message and hint come on top of the fields. */
#define REPLY_ROOM (REPLY_MAX + 65536)

void file_job_release(struct file_job *job)
{
	file_request_release(&job->request);
	free(job->run.ask.items);
	strv_release(&job->run.ask.env_set);
	strv_release(&job->run.ask.allow_degraded);
	str_release(&job->input);
}

static int bad_text(const char *what, const char *why, struct err *err)
{
	return err_set(err, ERR_USAGE, -EINVAL, "%s: %s", what, why);
}

static bool is_digest(const char *text)
{
	return strlen(text) == SHA256_HEX - 1 && strspn(text, "0123456789abcdef") == SHA256_HEX - 1;
}

int file_job_check(const struct file_job *job, struct err *err)
{
	const struct file_request *request = &job->request;

	for (size_t i = 0; i < request->paths.len; i++) {
		const char *fault = file_path_fault(request->paths.items[i]);

		if (fault)
			return bad_text("this path cannot be", fault, err);
	}
	for (size_t i = 0; i < request->globs.len; i++)
		if (strlen(request->globs.items[i]) > FILE_PATTERN_MAX)
			return bad_text("--glob", "it is longer than 4 KiB", err);
	if (request->pattern && strlen(request->pattern) > FILE_PATTERN_MAX)
		return bad_text("the pattern", "it is longer than 4 KiB", err);
	if (request->pattern && !str_is_utf8(request->pattern, strlen(request->pattern)))
		return bad_text("the pattern", "it is not UTF-8", err);
	if (request->digest && !is_digest(request->digest))
		return bad_text("--digest", "no SHA-256 in lower-case hexadecimal digits", err);
	return 0;
}

static int add_roots(const struct strv *paths, struct strv *words)
{
	int r = 0;

	for (size_t i = 0; i < paths->len && r == 0; i++)
		r = strv_addf(words, "root=%s", paths->items[i]);
	return r;
}

/* And not merely a folder with such names in it, which is there and must stay. */
static bool is_protected(const struct guarded *guard)
{
	return guard->dst || guard->link || guard->id.ino == 0;
}

static int add_places(const struct run *run, struct strv *words)
{
	const struct spec *spec = &run->resolved.spec;
	int r = strv_addf(words, "workspace=%s", run->context.workspace.root);

	if (r == 0 && spec->filesystem == FILESYSTEM_UNRESTRICTED)
		r = strv_add(words, "root=/");
	if (r == 0 && spec->filesystem != FILESYSTEM_NONE)
		r = strv_addf(words, "root=%s", run->context.workspace.root);
	if (r == 0)
		r = add_roots(&spec->paths_readable, words);
	if (r == 0)
		r = add_roots(&spec->paths_writable, words);
	for (size_t i = 0; i < run->plan->guards_len && r == 0; i++)
		if (is_protected(&run->plan->guards[i]))
			r = strv_addf(words, "guard=%s/%s", run->plan->guards[i].dir,
				      run->plan->guards[i].name);
	return r;
}

static bool says_place(const char *word)
{
	static const char *const keys[] = {"cwd=", "workspace=", "root=", "guard="};

	for (size_t i = 0; i < array_len(keys); i++)
		if (str_starts(word, keys[i]))
			return true;
	return false;
}

int file_tool_complete(const struct run *run, struct strv *words, struct err *err)
{
	_cleanup_(file_request_release) struct file_request request = {0};
	bool bad = false;
	int r;

	for (size_t i = 1; i < words->len; i++)
		bad |= says_place(words->items[i]);
	r = strv_addf(words, "cwd=%s", run->plan->cwd);
	if (r == 0)
		r = add_places(run, words);
	if (r < 0)
		return err_oom(err);
	return bad || !file_request_parse(words->items, &request)
		       ? err_set(err, ERR_USAGE, -EINVAL, "no request that a file tool has")
		       : 0;
}

/* In a file without a name, which cannot grow: nobody has to read while it is written. */
static int open_reply(struct err *err)
{
	_cleanup_(fd_closep) int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, REPLY_ROOM) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return err_sys(err, -errno, "make room for the answer");
	return take_fd(fd);
}

static int open_input(const struct file_job *job, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (job->request.tool != FILE_WRITE && job->request.tool != FILE_EDIT) {
		fd = fd_open("/dev/null", O_RDONLY);
		return fd < 0 ? err_sys(err, -errno, "/dev/null") : take_fd(fd);
	}
	fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	r = fd < 0 ? -errno : fd_write_all(fd, str_text(&job->input), job->input.len);
	if (r == 0 &&
	    (lseek(fd, 0, SEEK_SET) < 0 ||
	     fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0))
		r = -errno;
	return r < 0 ? err_sys(err, r, "pass the content on") : take_fd(fd);
}

/* What was written: the file is longer, and NULs follow. */
static int read_reply(int fd, struct str *ret, struct err *err)
{
	off_t len = lseek(fd, 0, SEEK_CUR);
	_cleanup_(freep) char *text = NULL;
	ssize_t n;

	if (len < 0 || (size_t)len > REPLY_ROOM)
		return err_sys(err, -EBADMSG, "the answer");
	text = malloc((size_t)len + 1);
	if (!text)
		return err_oom(err);
	n = pread(fd, text, (size_t)len, 0);
	if (n != len)
		return err_sys(err, n < 0 ? -errno : -EBADMSG, "the answer");
	text[n] = '\0';
	*ret = (struct str){.data = take_ptr(text), .len = (size_t)n, .cap = (size_t)n + 1};
	return 0;
}

/* It was ended, or it died. */
static int not_finished(int status, struct err *err)
{
	if (status == EXIT_TIMEOUT)
		err_set(err, ERR_SYSTEM, -ETIMEDOUT, "the tool took too long and was ended");
	else
		err_set(err, ERR_SYSTEM, -EBADMSG, "the tool did not finish (status %d)", status);
	return err_hint(err, -EBADMSG, "ask for less at once, or allow more, as with --timeout");
}

static int put_result(const struct run *run, const struct err *failed, struct str *ret)
{
	struct json json = {.out = ret};

	run_json(run, failed, &json);
	return json_finish(&json);
}

/* In a sandbox of its own. */
static int run_once(struct file_job *job, struct strv *words, struct str *ret_result,
		    int *ret_status, struct err *err)
{
	static struct run run; /* not released: the process ends, which is faster */
	int r;

	job->run.args = words->items;
	job->run.tool = files_main;
	/* What was refused is known without: the reply says so. */
	job->run.ask.no_observe = true;
	r = run_prepare(&run, &job->run, err);
	if (r == 0)
		r = file_tool_complete(&run, words, err);
	if (r == 0 && strv_copy(&run.plan->argv, words) < 0)
		r = err_oom(err);
	if (r == 0)
		r = run_execute(&run, &job->run, err);
	if (r == 0) {
		job->began = true;
		*ret_status = result_status(&run.result);
		file_reply_collect(&run, words->items, job->run.stdio.fd[1]);
	}
	run_history_end(&run, r < 0 ? err : NULL);
	run_tidy();
	if (put_result(&run, r < 0 ? err : NULL, ret_result) < 0)
		return err_oom(err);
	return r;
}

static int run_in_session(struct file_job *job, const struct strv *words, struct str *ret_result,
			  int *ret_status, struct err *err)
{
	struct session_call call = {.session = job->session,
				    .workspace = job->run.workspace,
				    .argv = words->items,
				    .timeout_ms = UINT64_MAX,
				    .cpu_ms = UINT64_MAX,
				    .memory = UINT64_MAX,
				    .pids = UINT64_MAX,
				    .max_output = UINT64_MAX,
				    .stdio = job->run.stdio,
				    .notes = -1,
				    .is_tool = true,
				    .wants_json = true,
				    .quiet = true};
	struct session_answer answer = {0};
	int r = session_call(&call, &answer, err);

	if (r == 0) {
		job->began = true;
		*ret_status = answer.status;
		*ret_result = answer.json;
		answer.json = (struct str){0};
	}
	session_answer_release(&answer);
	return r;
}

int file_tool_run(struct file_job *job, struct str *ret_reply, struct str *ret_result,
		  struct err *err)
{
	_cleanup_(strv_release) struct strv words = {0};
	_cleanup_(fd_closep) int input = -1, output = -1, null = -1;
	struct file_verdict verdict;
	int status = 0, r = file_request_pack(&job->request, &words) < 0 ? err_oom(err) : 0;

	if (r < 0)
		return r;
	null = fd_open("/dev/null", O_WRONLY);
	if (null < 0)
		return err_sys(err, -errno, "/dev/null");
	input = open_input(job, err);
	output = input < 0 ? input : open_reply(err);
	if (output < 0)
		return output;
	job->run.stdio.fd[0] = input;
	job->run.stdio.fd[1] = output;
	job->run.stdio.fd[2] = null;
	r = job->session ? run_in_session(job, &words, ret_result, &status, err)
			 : run_once(job, &words, ret_result, &status, err);
	if (r == 0)
		r = read_reply(output, ret_reply, err);
	if (r < 0)
		return r;
	return file_reply_check(str_text(ret_reply), ret_reply->len, &verdict) < 0
		       ? not_finished(status, err)
		       : 0;
}

int file_reply_check(const char *text, size_t len, struct file_verdict *ret)
{
	struct file_verdict verdict = {.code = FILE_CODE_COUNT_};
	struct reply_reader reader;
	struct reply_field field;
	int r;

	if (!reply_begin(&reader, text, len))
		return -EBADMSG;
	while ((r = reply_next(&reader, &field)) > 0) {
		struct str value = {.data = (char *)field.value, .len = field.len};

		if (str_eq(field.key, "code"))
			verdict.code = file_code_by_name(field.value, field.len);
		else if (str_eq(field.key, "message"))
			verdict.message = value;
		else if (str_eq(field.key, "hint"))
			verdict.hint = value;
	}
	if (r < 0 || verdict.code == FILE_CODE_COUNT_)
		return -EBADMSG;
	*ret = verdict;
	return 0;
}

/* Does the plan hide PATH, or what it is in? */
static bool hides(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == OP_HIDE && path_covers(plan->ops[i].dst, path))
			return true;
	return false;
}

/* Or what it leads to? */
static bool is_hidden(const struct plan *plan, const char *path)
{
	_cleanup_(freep) char *real = NULL;

	return hides(plan, path) || (path_resolve(path, &real) == 0 && hides(plan, real));
}

static void add_violation(struct run *run, enum file_tool tool, const char *path,
			  enum violation_cause cause)
{
	struct violation *violation = NULL;
	const char *op = tool == FILE_WRITE || tool == FILE_EDIT ? "write" : "read";

	/* Without memory for it, it is not noted. */
	if (violations_add(&run->result.violations, "filesystem", op, path, run->result.duration_ms,
			   &violation) == 0 &&
	    violation)
		violation->cause = cause;
}

/* What permissions refuse (FILE_DENIED), outside as well as inside, is no matter of the boundary. */
static void judge_path(struct run *run, const struct file_request *request, const char *asked,
		       enum file_code code)
{
	_cleanup_(freep) char *path = NULL;

	if (path_normalize(request->cwd, asked, &path) < 0)
		return;
	if (code == FILE_PROTECTED)
		add_violation(run, request->tool, path, CAUSE_PROTECTED);
	else if (code == FILE_OUTSIDE || is_hidden(run->plan, path))
		add_violation(run, request->tool, path, CAUSE_HIDDEN);
	else if (code == FILE_READONLY)
		add_violation(run, request->tool, path, CAUSE_READONLY);
}

void file_reply_judge(struct run *run, char *const *words, const struct file_verdict *verdict)
{
	_cleanup_(file_request_release) struct file_request request = {0};

	run->result.violations.observed = true;
	if (verdict->code == FILE_OK || !file_request_parse(words, &request))
		return;
	for (size_t i = 0; i < request.paths.len; i++)
		judge_path(run, &request, request.paths.items[i], verdict->code);
	run_explain_refused(run);
}

/* Only of such files: reading others could make us wait. */
static bool is_reply(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_GROW;
}

void file_reply_collect(struct run *run, char *const *words, int fd)
{
	_cleanup_(str_release) struct str text = {0};
	struct file_verdict verdict;

	violations_release(&run->result.violations);
	run->result.violations.observed = true;
	if (is_reply(fd) && read_reply(fd, &text, NULL) == 0 &&
	    file_reply_check(str_text(&text), text.len, &verdict) == 0)
		file_reply_judge(run, words, &verdict);
}
