/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "observe/address.h"
#include "tap.h"

static void internet(const char *text, unsigned port, enum address_kind kind, const char *target)
{
	struct sockaddr_storage bytes = {0};
	struct address address;
	char got[200];
	size_t len;

	if (strchr(text, ':')) {
		struct sockaddr_in6 *in = (struct sockaddr_in6 *)&bytes;

		in->sin6_family = AF_INET6;
		in->sin6_port = htons((uint16_t)port);
		inet_pton(AF_INET6, text, &in->sin6_addr);
		len = sizeof(*in);
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)&bytes;

		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		inet_pton(AF_INET, text, &in->sin_addr);
		len = sizeof(*in);
	}
	address_parse(&bytes, len, &address);
	tap_eq_int(address.kind, kind, "%s port %u: its kind", text, port);
	address_target(&address, got, sizeof(got));
	if (kind != ADDRESS_OTHER)
		tap_eq_str(got, target, "%s", target);
	address_parse(&bytes, 7, &address);
	tap_eq_int(address.kind, ADDRESS_OTHER, "%s: cut off, it leads nowhere", text);
}

static void local(const char *path, size_t path_len, enum address_kind kind, const char *want)
{
	struct sockaddr_storage bytes = {.ss_family = AF_UNIX};
	struct address address;

	memcpy(((struct sockaddr_un *)&bytes)->sun_path, path, path_len);
	address_parse(&bytes, offsetof(struct sockaddr_un, sun_path) + path_len, &address);
	tap_eq_int(address.kind, kind, "a unix socket of %zu bytes", path_len);
	tap_eq_str(address.text, want, "is called '%s'", want);
}

static const char tcp[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
	"   0: 0100007F:56CE 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
	"   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0\n";
static const char tcp6[] =
	"  sl  local_address                         remote_address                        st\n"
	"   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A\n";
static const char unix_table[] =
	"Num       RefCount Protocol Flags    Type St Inode Path\n"
	"0000000000000000: 00000002 00000000 00010000 0001 01 123 /run/x\n"
	"0000000000000000: 00000002 00000000 00010000 0001 01 124 @/tmp/X0\n"
	"0000000000000000: 00000002 00000000 00010000 0001 01 125\n";

int main(void)
{
	char longest[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char named[sizeof(longest) + 1];

	internet("192.0.2.1", 80, ADDRESS_INTERNET, "192.0.2.1:80");
	internet("127.0.0.1", 5432, ADDRESS_LOOPBACK, "127.0.0.1:5432");
	internet("127.9.9.9", 1, ADDRESS_LOOPBACK, "127.9.9.9:1");
	internet("0.0.0.0", 8080, ADDRESS_LOOPBACK, "0.0.0.0:8080");
	internet("192.0.2.1", 0, ADDRESS_OTHER, "");
	internet("2001:db8::1", 443, ADDRESS_INTERNET, "[2001:db8::1]:443");
	internet("::1", 443, ADDRESS_LOOPBACK, "[::1]:443");
	internet("::ffff:127.0.0.1", 443, ADDRESS_LOOPBACK, "[::ffff:127.0.0.1]:443");
	local("/run/x", 7, ADDRESS_PATH, "/run/x");
	local("/run/x", 6, ADDRESS_PATH, "/run/x");
	local("\0name", 5, ADDRESS_ABSTRACT, "@name");
	local("", 0, ADDRESS_OTHER, "");
	memset(longest, 'p', sizeof(longest));
	memset(named, 'p', sizeof(longest));
	named[sizeof(longest)] = '\0';
	local(longest, sizeof(longest), ADDRESS_PATH, named);

	tap_ok(address_listens(tcp, 0x56ce), "somebody listens on 22222");
	tap_ok(!address_listens(tcp, 0x1f90), "8080 is connected, not listening");
	tap_ok(!address_listens(tcp, 80), "nobody on 80");
	tap_ok(address_listens(tcp6, 80), "but by IPv6");
	tap_ok(!address_listens("", 80), "an empty table");
	tap_ok(address_is_bound(unix_table, "@/tmp/X0"), "an abstract socket is there");
	tap_ok(!address_is_bound(unix_table, "@/tmp/X"), "another is not");
	tap_ok(!address_is_bound(unix_table, "@tmp/X0"), "nor the end of its name");
	tap_eq_str(address_family_name(AF_INET), "AF_INET", "a family by name");
	tap_ok(!address_family_name(4711), "one that nobody knows");
	return tap_done();
}
