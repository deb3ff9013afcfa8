// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_dns.c - any bytes as a workload's question and as a server's reply */
#include "../unit/dns_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	dns_any_bytes(bytes, size);
	return 0;
}
