/* SPDX-License-Identifier: MIT */
#include "policy/secret-name.h"

#include <string.h>

#include "base/cleanup.h"

/* A name with one of these words is a secret's name, and so is one that begins
 * with a service's: such a variable passes only when it is named in full. */
static const char *const secret_words[] = {
	"KEY", "PAT", "PW", "AUTH", "COOKIE", "DSN", "PRIVATE", "PIN", "CERT", "SIGNATURE",
};
static const char *const secret_services[] = {
	"AWS", "AZURE",  "GCP",        "GOOGLE", "GITHUB", "GITLAB", "GH",
	"NPM", "DOCKER", "KUBECONFIG", "VAULT",  "SSH",    "GPG",    "DATABASE",
	"PG",  "MYSQL",  "REDIS",      "HEROKU", "STRIPE", "OPENAI", "ANTHROPIC",
};
static const char *const secret_parts[] = {
	"TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "APIKEY", "CONNECTION_STRING",
};

static bool is_one_of(const char *word, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && strncmp(list[i], word, len) == 0)
			return true;
	return false;
}

bool variable_is_secret(const char *name, size_t len)
{
	_cleanup_(freep) char *upper = strndup(name, len);

	if (!upper)
		return true;
	for (char *p = upper; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	for (size_t i = 0; i < array_len(secret_parts); i++)
		if (strstr(upper, secret_parts[i]))
			return true;
	for (const char *word = upper;; word++) {
		size_t n = strcspn(word, "_");

		if (is_one_of(word, n, secret_words, array_len(secret_words)) ||
		    (word == upper &&
		     is_one_of(word, n, secret_services, array_len(secret_services))))
			return true;
		word += n;
		if (!*word)
			return false;
	}
}
