// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tls_get.c HOST - GET / of HOST over TLS, with BearSSL and no certificate checked: the answer on standard output. For linking statically with musl */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bearssl.h>

/* The distribution's archive was compiled for glibc and asks for its checked copies, which musl has not. */
void *__memcpy_chk(void *to, const void *from, size_t length, size_t room);
void *__memmove_chk(void *to, const void *from, size_t length, size_t room);
void *__memset_chk(void *to, int byte, size_t length, size_t room);

void *__memcpy_chk(void *to, const void *from, size_t length, size_t room)
{
	return length <= room ? memcpy(to, from, length) : NULL;
}

void *__memmove_chk(void *to, const void *from, size_t length, size_t room)
{
	return length <= room ? memmove(to, from, length) : NULL;
}

void *__memset_chk(void *to, int byte, size_t length, size_t room)
{
	return length <= room ? memset(to, byte, length) : NULL;
}

/* What a certificate says is not asked here; its key is taken. */
struct taking {
	const br_x509_class *class;
	br_x509_decoder_context decoder;
	int first;
};

static void start_chain(const br_x509_class **context, const char *name)
{
	(void)name;
	((struct taking *)context)->first = 1;
}

static void start_cert(const br_x509_class **context, uint32_t length)
{
	struct taking *taking = (struct taking *)context;

	(void)length;
	if (taking->first)
		br_x509_decoder_init(&taking->decoder, NULL, NULL);
}

static void append(const br_x509_class **context, const unsigned char *bytes, size_t length)
{
	struct taking *taking = (struct taking *)context;

	if (taking->first)
		br_x509_decoder_push(&taking->decoder, bytes, length);
}

static void end_cert(const br_x509_class **context)
{
	((struct taking *)context)->first = 0;
}

static unsigned end_chain(const br_x509_class **context)
{
	(void)context;
	return 0;
}

static const br_x509_pkey *get_key(const br_x509_class *const *context, unsigned *usages)
{
	if (usages)
		*usages = BR_KEYTYPE_SIGN | BR_KEYTYPE_KEYX;
	return br_x509_decoder_get_pkey(&((struct taking *)context)->decoder);
}

static const br_x509_class taking_class = {sizeof(struct taking), start_chain, start_cert, append, end_cert, end_chain, get_key};

static int dial(const char *host)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found, *each;
	int fd = -1;

	if (getaddrinfo(host, "443", &hints, &found))
		return -1;
	for (each = found; each && fd < 0; each = each->ai_next) {
		fd = socket(each->ai_family, SOCK_STREAM, 0);
		if (fd >= 0 && connect(fd, each->ai_addr, each->ai_addrlen)) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd;
}

static int low_read(void *context, unsigned char *bytes, size_t length)
{
	return (int)read(*(int *)context, bytes, length) ?: -1;
}

static int low_write(void *context, const unsigned char *bytes, size_t length)
{
	return (int)write(*(int *)context, bytes, length);
}

int main(int argc, char **argv)
{
	static unsigned char buffer[BR_SSL_BUFSIZE_BIDI];
	static br_ssl_client_context client;
	static br_x509_minimal_context unused;
	static struct taking taking = {.class = &taking_class};
	static const char request[] = "GET / HTTP/1.0\r\nHost: x\r\n\r\n";
	br_sslio_context io;
	char text[4096];
	int fd, got;

	if (argc != 2 || (fd = dial(argv[1])) < 0)
		return 2;
	br_ssl_client_init_full(&client, &unused, NULL, 0);
	br_ssl_engine_set_x509(&client.eng, &taking.class);
	br_ssl_engine_set_buffer(&client.eng, buffer, sizeof(buffer), 1);
	br_ssl_client_reset(&client, argv[1], 0);
	br_sslio_init(&io, &client.eng, low_read, &fd, low_write, &fd);
	if (br_sslio_write_all(&io, request, sizeof(request) - 1) || br_sslio_flush(&io))
		return 1;
	while ((got = br_sslio_read(&io, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)got, stdout);
	return 0;
}
