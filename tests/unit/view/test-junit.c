/* SPDX-License-Identifier: MIT */
/* Whatever a command is called or prints, the document is XML. */
#include "view/junit.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tap.h"
#include "view/units.h"
#include "view/xml.h"

static void check_xml(const char *text, size_t len, const char *want, const char *name)
{
	_cleanup_(str_release) struct str out = {0};

	tap_ok(xml_append(&out, text, len) == 0, "%s: appended", name);
	tap_eq_str(str_text(&out), want, "%s", name);
}

/* Is it made of nothing but what XML 1.0 allows? */
static bool is_xml_text(const struct str *text)
{
	for (size_t i = 0; i < text->len;) {
		uint32_t c = 0;
		size_t n = str_utf8_next(text->data + i, text->len - i, &c);

		if (n == 0 || (c < 0x20 && c != '\t' && c != '\n') || c == 0xfffe || c == 0xffff)
			return false;
		i += n;
	}
	return true;
}

static void check_every_byte(void)
{
	_cleanup_(str_release) struct str out = {0};
	unsigned seed = 1;
	char bytes[3];

	for (int i = 0; i < 20000; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++) {
			seed = seed * 1103515245 + 12345;
			bytes[k] = (char)(seed >> 16);
		}
		xml_append(&out, bytes, sizeof(bytes));
	}
	tap_ok(is_xml_text(&out) && !strpbrk(out.data, "<>\"'"), "any bytes become text of XML");
}

static void check_document(void)
{
	static const struct junit_case cases[] = {
		{.name = "lint", .duration_ms = 1234},
		{.name = "a\"<\n",
		 .kind = JUNIT_FAILURE,
		 .type = "failed",
		 .message = "exit status 1",
		 .output = "x\0\033[1m<&\n",
		 .output_len = 9},
		{.name = "b", .kind = JUNIT_ERROR, .type = "error", .message = "no"},
		{.name = "c", .kind = JUNIT_SKIPPED, .type = "skipped", .message = "cancelled"},
	};
	_cleanup_(str_release) struct str out = {0};

	tap_ok(junit_print("s", 0, 5, cases, array_len(cases), &out) == 0, "printed");
	tap_eq_str(
		str_text(&out),
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"0.005\">\n"
		" <testsuite name=\"s\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""
		" time=\"0.005\" timestamp=\"1970-01-01T00:00:00\">\n"
		"  <testcase classname=\"s\" name=\"lint\" time=\"1.234\"></testcase>\n"
		"  <testcase classname=\"s\" name=\"a&quot;&lt;\\x0a\" time=\"0.000\">\n"
		"   <failure message=\"exit status 1\" type=\"failed\"/>\n"
		"   <system-out>x\\x00\\x1b[1m&lt;&amp;\n</system-out>\n"
		"  </testcase>\n"
		"  <testcase classname=\"s\" name=\"b\" time=\"0.000\">\n"
		"   <error message=\"no\" type=\"error\"/>\n"
		"  </testcase>\n"
		"  <testcase classname=\"s\" name=\"c\" time=\"0.000\">\n"
		"   <skipped message=\"cancelled\"/>\n"
		"  </testcase>\n"
		" </testsuite>\n"
		"</testsuites>\n",
		"a whole document");
}

static void check_units(void)
{
	static const struct {
		uint64_t n;
		const char *bytes, *ms;
	} rows[] = {
		{0, "0 B", "0 ms"},
		{999, "999 B", "999 ms"},
		{1000, "1000 B", "1.00 s"},
		{1023, "1023 B", "1.02 s"},
		{1024, "1 KiB", "1.02 s"},
		{1536, "1.50 KiB", "1.54 s"},
		{9994, "9.76 KiB", "9.99 s"},
		{9995, "9.76 KiB", "10.0 s"},
		{59949, "58.5 KiB", "59.9 s"},
		{59950, "58.5 KiB", "1m 00s"},
		{119600, "117 KiB", "2m 00s"},
		{3599499, "3.43 MiB", "59m 59s"},
		{3599500, "3.43 MiB", "1h 00m"},
		{1048575, "1.00 MiB", "17m 29s"},
		{512u << 20, "512 MiB", "149h 07m"},
		{(uint64_t)5 << 60, "5 EiB", NULL},
		{UINT64_MAX, "-", "-"},
	};

	for (size_t i = 0; i < array_len(rows); i++) {
		char buf[UNITS_MAX];

		tap_eq_str(units_bytes(rows[i].n, buf), rows[i].bytes, "%s", rows[i].bytes);
		if (rows[i].ms)
			tap_eq_str(units_ms(rows[i].n, buf), rows[i].ms, "%s", rows[i].ms);
	}
}

int main(void)
{
	check_xml("a<b>&\"'", 7, "a&lt;b&gt;&amp;&quot;&#39;", "marks");
	check_xml("\t\n\r\0\x01\x7f", 6, "\t\n&#13;\\x00\\x01\\x7f", "control characters");
	check_xml("\xff\xc3\xa9\xed\xa0\x80", 6, "\\xff\xc3\xa9\\xed\\xa0\\x80",
		  "bytes that are no UTF-8");
	check_xml("\xef\xbf\xbe\xe2\x80\xae", 6, "\\u{fffe}\\u{202e}",
		  "what XML or the eye cannot take");
	check_every_byte();
	check_document();
	check_units();
	return tap_done();
}
