/* SPDX-License-Identifier: MIT */
#include "policy/host-rule.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

enum { LABEL_MAX = 63, NAME_LEN_MAX = HOST_NAME_SIZE - 1 };

/* What stands before the port. */
struct network_prefix {
	int family;
	uint8_t bytes[16];
	unsigned bits;
};

struct parser {
	const char *text;
	struct err *err;
};

static int bad(const struct parser *p, const char *what)
{
	_cleanup_(str_release) struct str shown = {0};

	if (str_append_escaped(&shown, p->text, strnlen(p->text, 300)) < 0)
		return err_oom(p->err);
	return err_set(p->err, ERR_CONFIG, -EINVAL, "bad host rule \"%s\": %s", str_text(&shown),
		       what);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* A decimal number of LEN characters up to MAX, without leading zeros. */
static bool number_parse(const char *text, size_t len, unsigned long max, unsigned long *ret)
{
	unsigned long n = 0;

	if (len == 0 || len > 6 || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(text[i]))
			return false;
		n = n * 10 + (unsigned long)(text[i] - '0');
	}
	if (n > max)
		return false;
	*ret = n;
	return true;
}

/* Clear the host bits; an IPv4 network inside IPv6 becomes IPv4. */
static void prefix_normalize(struct network_prefix *prefix)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	unsigned size = prefix->family == AF_INET ? 4 : 16;

	for (unsigned i = 0; i < size; i++) {
		unsigned keep = prefix->bits > 8 * i ? prefix->bits - 8 * i : 0;

		if (keep < 8)
			prefix->bytes[i] &= (uint8_t)(0xff00 >> keep);
	}
	if (prefix->family == AF_INET6 && prefix->bits >= 96 &&
	    memcmp(prefix->bytes, mapped, sizeof(mapped)) == 0) {
		prefix->family = AF_INET;
		prefix->bits -= 96;
		memmove(prefix->bytes, prefix->bytes + 12, 4);
	}
}

/* ADDRESS[/BITS] of LEN characters, brackets taken off. */
static bool prefix_parse(int family, const char *text, size_t len, struct network_prefix *ret)
{
	struct network_prefix prefix = {.family = family, .bits = family == AF_INET ? 32 : 128};
	const char *slash = memchr(text, '/', len);
	size_t address = slash ? (size_t)(slash - text) : len;
	char buf[INET6_ADDRSTRLEN];
	unsigned long bits;

	if (address >= sizeof(buf))
		return false;
	memcpy(buf, text, address);
	buf[address] = '\0';
	if (inet_pton(family, buf, prefix.bytes) != 1)
		return false;
	if (slash) {
		if (!number_parse(slash + 1, len - address - 1, prefix.bits, &bits))
			return false;
		prefix.bits = (unsigned)bits;
	}
	prefix_normalize(&prefix);
	*ret = prefix;
	return true;
}

static unsigned group_at(const uint8_t *bytes, unsigned i)
{
	return (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
}

void host_address_print(const struct in6_addr *address, char ret[HOST_ADDRESS_MAX])
{
	const uint8_t *bytes = address->s6_addr;
	unsigned begin = 8, longest = 1;
	size_t at = 0;

	if (IN6_IS_ADDR_V4MAPPED(address)) {
		snprintf(ret, HOST_ADDRESS_MAX, "%u.%u.%u.%u", bytes[12], bytes[13], bytes[14],
			 bytes[15]);
		return;
	}
	for (unsigned i = 0; i < 8; i++) {
		unsigned n = 0;

		while (i + n < 8 && group_at(bytes, i + n) == 0)
			n++;
		if (n > longest) {
			begin = i;
			longest = n;
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		char *to = ret + at;
		size_t size = HOST_ADDRESS_MAX - at;

		if (i == begin) {
			at += (size_t)snprintf(to, size, "::");
			i += longest - 1;
			continue;
		}
		at += (size_t)snprintf(to, size, "%s%x", i == 0 || i == begin + longest ? "" : ":",
				       group_at(bytes, i));
	}
}

static int prefix_print(const struct network_prefix *prefix, struct str *out)
{
	const uint8_t *b = prefix->bytes;
	struct in6_addr address;
	char text[HOST_ADDRESS_MAX];
	int r;

	if (prefix->family == AF_INET) {
		r = str_appendf(out, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
		return r < 0 || prefix->bits == 32 ? r : str_appendf(out, "/%u", prefix->bits);
	}
	memcpy(&address, b, sizeof(address));
	host_address_print(&address, text);
	if (prefix->bits == 128)
		return str_appendf(out, "[%s]", text);
	return str_appendf(out, "[%s/%u]", text, prefix->bits);
}

static int parse_v4(const struct parser *p, size_t len, struct str *out)
{
	struct network_prefix prefix;

	if (!prefix_parse(AF_INET, p->text, len, &prefix))
		return bad(p, "not an IPv4 address or network (four decimal numbers up to 255, "
			      "without leading zeros, then /0 to /32 for a network)");
	return prefix_print(&prefix, out);
}

static int parse_v6(const struct parser *p, size_t len, struct str *out)
{
	struct network_prefix prefix;

	if (!prefix_parse(AF_INET6, p->text + 1, len - 2, &prefix))
		return bad(p, "not an IPv6 address or network; write [ADDRESS] or [ADDRESS/BITS]");
	return prefix_print(&prefix, out);
}

/* Would a resolver take the last label of a name for a number? */
static bool is_numeric_label(const char *label, size_t len)
{
	bool hex = len >= 2 && label[0] == '0' && label[1] == 'x';

	for (size_t i = hex ? 2 : 0; i < len; i++)
		if (!is_digit(label[i]) && !(hex && label[i] >= 'a' && label[i] <= 'f'))
			return false;
	return true;
}

/* What is wrong with a label in lower case, or NULL. */
static const char *label_complaint(const char *label, size_t len)
{
	if (len == 0)
		return "a label is empty";
	if (len > LABEL_MAX)
		return "a label is longer than 63 characters";
	if (label[0] == '-' || label[len - 1] == '-')
		return "a label begins or ends with a hyphen";
	for (size_t i = 0; i < len; i++) {
		char c = label[i];

		if (c == '*')
			return "* must be the whole leftmost label";
		if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '-' && c != '_')
			return "a name holds only letters, digits, - and _";
	}
	return NULL;
}

static const char *name_complaint(const char *name, size_t len)
{
	const char *end = name + len, *label = name;

	if (len > NAME_LEN_MAX)
		return "the name is longer than 253 characters";
	for (;;) {
		const char *dot = memchr(label, '.', (size_t)(end - label));
		size_t n = (size_t)((dot ? dot : end) - label);
		const char *complaint = label_complaint(label, n);

		if (complaint)
			return complaint;
		if (!dot)
			return is_numeric_label(label, n) ? "the name ends in a number" : NULL;
		label = dot + 1;
	}
}

static int parse_name(const struct parser *p, size_t len, struct str *out)
{
	size_t begin = out->len, star = 0;
	const char *name, *complaint;
	int r;

	if (len > 1 && p->text[len - 1] == '.')
		len--;
	r = str_append_bytes(out, p->text, len);
	if (r < 0)
		return r;
	for (size_t i = begin; i < out->len; i++)
		out->data[i] = lower(out->data[i]);
	name = out->data + begin;
	if (len == 1 && name[0] == '*')
		return err_hint(p->err, bad(p, "* alone stands for every host"),
				"network = \"unrestricted\" allows every host");
	if (len >= 2 && name[0] == '*' && name[1] == '.')
		star = 2;
	complaint = name_complaint(name + star, len - star);
	if (!complaint && len > NAME_LEN_MAX)
		complaint = "the name is longer than 253 characters";
	if (complaint)
		return bad(p, complaint);
	if (star && !memchr(name + star, '.', len - star))
		return err_hint(p->err, bad(p, "* stands before a top-level domain"),
				"name at least two labels after it, as in *.example.org");
	return 0;
}

/* Is every character one that an IPv4 address or network is made of? Names
 * that end in a number go the same way, and are refused there. */
static bool looks_like_v4(const char *text, size_t len)
{
	bool digit = false;

	for (size_t i = 0; i < len; i++) {
		if (!is_digit(text[i]) && text[i] != '.' && text[i] != '/')
			return false;
		digit |= is_digit(text[i]);
	}
	return digit;
}

static int parse_target(const struct parser *p, size_t len, struct str *out)
{
	if (len == 0)
		return bad(p, "no host");
	if (p->text[0] == '[')
		return parse_v6(p, len, out);
	if (looks_like_v4(p->text, len))
		return parse_v4(p, len, out);
	if (memchr(p->text, '/', len))
		return err_hint(p->err, bad(p, "a rule names a host, not a path"),
				"write NAME[:PORT], or ADDRESS/BITS for a network");
	return parse_name(p, len, out);
}

static int add_ports(const struct parser *p, const char *target, const char *ports,
		     struct strv *rules)
{
	for (const char *at = ports;; at++) {
		size_t n = strcspn(at, ",");
		unsigned long port;
		int r;

		if (!number_parse(at, n, 65535, &port) || port == 0)
			return bad(p, "a port is a number from 1 to 65535; several are written "
				      "as 80,443");
		r = strv_addf(rules, "%s:%lu", target, port);
		if (r < 0)
			return err_oom(p->err);
		at += n;
		if (*at == '\0')
			return 0;
	}
}

/* What no rule holds, with an answer of its own for each. */
static int check_characters(const struct parser *p)
{
	if (p->text[0] == '\0')
		return bad(p, "it is empty");
	for (const char *c = p->text; *c; c++) {
		if ((unsigned char)*c >= 0x80)
			return err_hint(p->err, bad(p, "it is not ASCII"),
					"write an international name as punycode (xn--...)");
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return bad(p, "blanks and control characters are not allowed");
	}
	if (strstr(p->text, "://"))
		return err_hint(p->err, bad(p, "a scheme is not part of a rule"),
				"write only the host, and a port other than 443: NAME:PORT");
	if (strchr(p->text, '@'))
		return bad(p, "a user name is not part of a rule");
	if (strchr(p->text, '%'))
		return bad(p, "zones and escapes (%) are not allowed");
	return 0;
}

/* Where the host ends: at the end of TEXT, or at the colon before the ports. */
static int find_ports(const struct parser *p, size_t *ret_len)
{
	const char *close, *colon = strchr(p->text, ':');

	if (p->text[0] == '[') {
		close = strchr(p->text, ']');
		if (!close)
			return bad(p, "the closing ] is missing");
		if (close[1] != '\0' && close[1] != ':')
			return err_hint(p->err, bad(p, "only a port may follow the ]"),
					"a network is written as [ADDRESS/BITS]");
		*ret_len = (size_t)(close + 1 - p->text);
		return 0;
	}
	if (colon && strchr(colon + 1, ':'))
		return err_hint(p->err, bad(p, "there is more than one colon"),
				"write an IPv6 address in brackets, as in [::1]:6379");
	*ret_len = colon ? (size_t)(colon - p->text) : strlen(p->text);
	return 0;
}

static int append(struct strv *dst, const struct strv *src, bool only_new)
{
	size_t before = dst->len;

	for (size_t i = 0; i < src->len; i++) {
		int r = only_new && strv_has(dst, src->items[i]) ? 0 : strv_add(dst, src->items[i]);

		if (r < 0) {
			while (dst->len > before) {
				free(dst->items[--dst->len]);
				dst->items[dst->len] = NULL;
			}
			return r;
		}
	}
	return 0;
}

bool host_name_canonical(const char *text, size_t len, char ret[HOST_NAME_SIZE])
{
	char name[HOST_NAME_SIZE];

	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len > NAME_LEN_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		name[i] = lower(text[i]);
	if (name_complaint(name, len))
		return false;
	memcpy(ret, name, len);
	ret[len] = '\0';
	return true;
}

const char *host_rule_loopback(const char *rule)
{
	size_t len = strcspn(rule, ":");
	char name[HOST_NAME_SIZE];

	return host_name_canonical(rule, len, name) && str_eq(name, "localhost") ? rule + len
										 : NULL;
}

static int parse(const char *text, struct strv *ret_rules, bool only_new, struct err *err)
{
	_cleanup_(strv_release) struct strv rules = {0};
	_cleanup_(str_release) struct str target = {0};
	struct parser p = {.text = text, .err = err};
	size_t len = 0;
	int r;

	r = check_characters(&p);
	if (r == 0)
		r = find_ports(&p, &len);
	if (r == 0)
		r = parse_target(&p, len, &target);
	if (r == -ENOMEM)
		return err_oom(err);
	if (r < 0)
		return r;
	r = add_ports(&p, str_text(&target), text[len] ? text + len + 1 : "443", &rules);
	if (r < 0)
		return r;
	return append(ret_rules, &rules, only_new) < 0 ? err_oom(err) : 0;
}

int host_rule_parse(const char *text, struct strv *ret_rules, struct err *err)
{
	return parse(text, ret_rules, true, err);
}

int host_rule_append(const char *text, struct strv *ret_rules, struct err *err)
{
	return parse(text, ret_rules, false, err);
}

/* The network that LEN characters of a canonical rule name, if it is one. */
static bool is_network(const char *target, size_t len, struct network_prefix *ret)
{
	if (len >= 2 && target[0] == '[' && target[len - 1] == ']')
		return prefix_parse(AF_INET6, target + 1, len - 2, ret);
	return looks_like_v4(target, len) && prefix_parse(AF_INET, target, len, ret);
}

static bool network_covers(const struct network_prefix *wide, const struct network_prefix *narrow)
{
	struct network_prefix cut = *narrow;

	if (wide->family != narrow->family || wide->bits > narrow->bits)
		return false;
	cut.bits = wide->bits;
	prefix_normalize(&cut);
	return memcmp(cut.bytes, wide->bytes, wide->family == AF_INET ? 4 : 16) == 0;
}

/* Does the name end in what follows the star of a rule, with something before that? */
static bool wildcard_covers(const char *rule, size_t rule_len, const char *name, size_t len)
{
	return len > rule_len - 1 &&
	       memcmp(name + len - (rule_len - 1), rule + 1, rule_len - 1) == 0;
}

/* Of a canonical rule; any port for 0. *ret_target: how long is what stands before it. */
static bool has_port(const char *rule, uint16_t port, size_t *ret_target)
{
	const char *colon = strrchr(rule, ':');
	unsigned long own;

	if (!colon || !number_parse(colon + 1, strlen(colon + 1), 65535, &own))
		return false;
	*ret_target = (size_t)(colon - rule);
	return port == 0 || own == port;
}

bool host_rule_covers(const char *wide, const char *narrow)
{
	const char *wide_port = strrchr(wide, ':'), *narrow_port = strrchr(narrow, ':');
	struct network_prefix a, b;
	size_t n, m;

	if (str_eq(wide, narrow))
		return true;
	if (!wide_port || !narrow_port || !str_eq(wide_port, narrow_port))
		return false;
	n = (size_t)(wide_port - wide);
	m = (size_t)(narrow_port - narrow);
	if (is_network(wide, n, &a))
		return is_network(narrow, m, &b) && network_covers(&a, &b);
	if (!str_starts(wide, "*."))
		return false;
	return wildcard_covers(wide, n, narrow, m);
}

bool host_rule_allows_name(const char *rule, const char *name, uint16_t port)
{
	size_t target, len = strlen(name);

	if (!has_port(rule, port, &target) || rule[0] == '[')
		return false;
	if (str_starts(rule, "*."))
		return wildcard_covers(rule, target, name, len);
	return len == target && memcmp(rule, name, len) == 0;
}

bool host_rule_allows_address(const char *rule, const struct in6_addr *address, uint16_t port)
{
	struct network_prefix network, one = {.family = AF_INET6, .bits = 128};
	size_t target;

	if (!has_port(rule, port, &target) || !is_network(rule, target, &network))
		return false;
	memcpy(one.bytes, address, sizeof(one.bytes));
	prefix_normalize(&one);
	return network_covers(&network, &one);
}
