/* SPDX-License-Identifier: MIT */
/* nothing - what it costs to start and end the smallest static program. */

int main(void)
{
	return 0;
}
