/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * key.c - Ed25519 keys: made, loaded, used
 *
 * Everything that ever holds secret bytes is memory between guard pages, locked where the limit allows and kept out of core dumps, or is wiped before the
 * function returns. The page of a loaded key is also wiped on fork: a child of the supervisor runs code that it does not need to trust with a key. (That
 * page is made here and not by sodium_malloc, which changes the protection of pages five times: each costs a launch as much as the whole signature.)
 */
#include "key.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "digest.h"
#include "key_pem.h"

_Static_assert(sizeof(struct nc_public_key) == crypto_sign_PUBLICKEYBYTES, "public key");
_Static_assert(NC_SIGNATURE_SIZE == crypto_sign_BYTES, "signature");
_Static_assert(NC_PEM_RAW_SIZE == crypto_sign_SEEDBYTES, "seed");

struct nc_secret_key {
	uint8_t bytes[crypto_sign_SECRETKEYBYTES]; /* libsodium's form: seed and public key */
};

/* A key's file while it is read. On the stack: three guarded allocations cost a launch more than the rest of what it does with a key. */
struct reading {
	uint8_t seed[NC_PEM_RAW_SIZE];
	size_t used; /* bytes of `text` that are to be wiped */
	char text[NC_PEM_FILE_MAX];
};

static void wipe(struct reading *reading)
{
	sodium_memzero(reading->seed, sizeof(reading->seed));
	sodium_memzero(reading->text, reading->used);
}

static void cleanup_sodium(void *pointer)
{
	sodium_free(*(void **)pointer);
}
#define SODIUM_FREE __attribute__((cleanup(cleanup_sodium)))

static int begin(struct nc_error *reterr)
{
	if (sodium_init() < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "libsodium cannot start: no source of randomness");
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------------------ */

/* A public key is no secret: whose it is and who may read it says nothing, and what it is the decoder says. */
static bool holds_public(int fd)
{
	static const char label[] = "-----BEGIN PUBLIC KEY-----";
	char text[sizeof(label) - 1];

	return pread(fd, text, sizeof(text), 0) == (ssize_t)sizeof(text) && !memcmp(text, label, sizeof(text));
}

static int open_secret(const char *path, int *ret_fd, struct nc_error *reterr)
{
	/* O_NONBLOCK: a FIFO must not hold us up. */
	NC_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0) {
		int r = nc_error_sys(reterr, NC_E_KEY_INVALID, -errno, "key %s", path);

		return r == -ELOOP ? nc_error_hint(reterr, "name the file itself, not a symbolic link to it") : r;
	}
	if (fstat(fd, &status) < 0)
		return nc_error_sys(reterr, NC_E_KEY_INVALID, -errno, "key %s", path);
	if (!S_ISREG(status.st_mode))
		return nc_error_set(reterr, NC_E_KEY_INVALID, -EINVAL, "key %s is not a regular file", path);
	if (status.st_uid != geteuid() && !holds_public(fd)) {
		nc_error_set(reterr, NC_E_KEY_INVALID, -EACCES, "key %s belongs to user %u, not to the caller (%u)", path, status.st_uid, geteuid());
		return nc_error_hint(reterr, "chown it to the user that signs");
	}
	if ((status.st_mode & 07777 & ~0600u) && !holds_public(fd)) {
		nc_error_set(reterr, NC_E_KEY_INVALID, -EACCES, "key %s has mode %04o: others could read or change it", path, status.st_mode & 07777);
		return nc_error_hint(reterr, "chmod 0600 it, and make a new key if somebody may have read this one");
	}
	*ret_fd = NC_TAKE_FD(fd);
	return 0;
}

/* Reads all of a small file into `text` of NC_PEM_FILE_MAX bytes. */
static int read_small(int fd, const char *path, char *text, size_t *ret_length, struct nc_error *reterr)
{
	size_t length = 0;

	for (;;) {
		ssize_t got = read(fd, text + length, NC_PEM_FILE_MAX - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return nc_error_sys(reterr, NC_E_KEY_INVALID, -errno, "key %s", path);
		if (got == 0)
			break;
		length += (size_t)got;
		if (length == NC_PEM_FILE_MAX)
			return nc_error_set(reterr, NC_E_KEY_INVALID, -EFBIG, "key %s is too large for a key", path);
	}
	*ret_length = length;
	return 0;
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t put = write(fd, text, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		length -= (size_t)put;
	}
	return 0;
}

static int sync_folder_of(const char *path)
{
	NC_FREE char *copy = strdup(path);
	NC_CLOSE int folder = -1;

	if (!copy)
		return -ENOMEM;
	folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || fsync(folder) < 0)
		return -errno;
	return 0;
}

/* The folder is the operator's to make: who may enter it is his to say. */
static int hint_folder(const char *path, struct nc_error *reterr)
{
	NC_FREE char *copy = strdup(path);

	return copy ? nc_error_hint(reterr, "make the folder first: mkdir -p -m 700 %s", dirname(copy)) : reterr->status;
}

/* ---- secret keys ------------------------------------------------------------------------------------------------------------------------ */

int nc_key_generate(const char *path, struct nc_error *reterr)
{
	SODIUM_FREE uint8_t *seed = NULL;
	SODIUM_FREE char *text = NULL;
	NC_CLOSE int fd = -1;
	size_t length;
	int r;

	r = begin(reterr);
	if (r < 0)
		return r;
	seed = sodium_malloc(NC_PEM_RAW_SIZE);
	text = sodium_malloc(NC_PEM_TEXT_SIZE);
	if (!seed || !text)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no guarded memory for a key");
	randombytes_buf(seed, NC_PEM_RAW_SIZE);
	length = nc_pem_encode(NC_PEM_PRIVATE, seed, text);

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) {
		nc_error_set(reterr, NC_E_KEY_EXISTS, -EEXIST, "%s exists", path);
		return nc_error_hint(reterr, "name another file; a key is never overwritten");
	}
	if (fd < 0) {
		r = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "key %s", path);
		return r == -ENOENT || r == -ENOTDIR ? hint_folder(path, reterr) : r;
	}
	r = write_all(fd, text, length);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		r = sync_folder_of(path);
	if (r < 0) {
		unlink(path); /* made above by O_EXCL, so it is ours; a torn key must not stand there */
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "key %s", path);
	}
	return 0;
}

/* One page between two that nobody may touch, the key at its end: not in a core dump, not swapped where the limit allows, and zero in children. */
static struct nc_secret_key *guarded_key(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	if (mmap(base + page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		munmap(base, 3 * page);
		return NULL;
	}
	/* WIPEONFORK since Linux 4.14; where a kernel refuses, the key is as safe as any memory of the supervisor. */
	madvise(base + page, page, MADV_DONTDUMP);
	madvise(base + page, page, MADV_WIPEONFORK);
	mlock(base + page, page);
	return (struct nc_secret_key *)(void *)(base + 2 * page - sizeof(struct nc_secret_key));
}

void nc_key_free(struct nc_secret_key *key)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!key)
		return;
	sodium_memzero(key, sizeof(*key));
	munmap((char *)(key + 1) - 2 * page, 3 * page);
}

static void cleanup_key(struct nc_secret_key **key)
{
	nc_key_free(*key);
}

int nc_key_load_secret(const char *path, struct nc_secret_key **ret_key, struct nc_error *reterr)
{
	__attribute__((cleanup(cleanup_key))) struct nc_secret_key *key = NULL;
	__attribute__((cleanup(wipe))) struct reading reading;
	struct nc_public_key public;
	NC_CLOSE int fd = -1;
	int r;

	reading.used = 0;
	r = begin(reterr);
	if (r < 0)
		return r;
	r = open_secret(path, &fd, reterr);
	if (r < 0)
		return r;
	key = guarded_key();
	if (!key)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no guarded memory for a key");
	reading.used = sizeof(reading.text);
	r = read_small(fd, path, reading.text, &reading.used, reterr);
	if (r < 0)
		return r;
	r = nc_pem_decode(NC_PEM_PRIVATE, path, reading.text, reading.used, reading.seed, reterr);
	if (r < 0)
		return r;
	crypto_sign_seed_keypair(public.bytes, key->bytes, reading.seed);
	*ret_key = NC_TAKE_PTR(key);
	return 0;
}

void nc_key_public(const struct nc_secret_key *key, struct nc_public_key *ret_public)
{
	crypto_sign_ed25519_sk_to_pk(ret_public->bytes, key->bytes);
}

int nc_key_sign(const struct nc_secret_key *key, const void *message, size_t length, uint8_t ret_signature[NC_SIGNATURE_SIZE],
		struct nc_error *reterr)
{
	uint8_t signature[NC_SIGNATURE_SIZE], public[crypto_sign_PUBLICKEYBYTES];

	crypto_sign_detached(signature, NULL, message, length, key->bytes);
	crypto_sign_ed25519_sk_to_pk(public, key->bytes);
	if (crypto_sign_verify_detached(signature, message, length, public) != 0) {
		nc_error_set(reterr, NC_E_SYSTEM, -EIO, "a signature that was just made does not verify");
		return nc_error_hint(reterr, "the key's memory was wiped (by a fork), or this machine computes wrongly");
	}
	memcpy(ret_signature, signature, sizeof(signature));
	return 0;
}

/* ---- public keys ------------------------------------------------------------------------------------------------------------------------ */

int nc_key_check(const struct nc_public_key *key, struct nc_error *reterr)
{
	int r = begin(reterr);

	if (r < 0)
		return r;
	if (!crypto_core_ed25519_is_valid_point(key->bytes)) {
		nc_error_set(reterr, NC_E_KEY_INVALID, -EINVAL,
			     "the public key is of low or mixed order, or not canonically encoded: signatures under it prove nothing");
		return nc_error_hint(reterr, "no honest key generator makes such a key; ask where it came from");
	}
	return 0;
}

int nc_key_load_public(const char *path, struct nc_public_key *ret_key, struct nc_error *reterr)
{
	NC_FREE char *text = malloc(NC_PEM_FILE_MAX);
	NC_CLOSE int fd = -1;
	struct nc_public_key key;
	struct stat status;
	size_t length;
	int r;

	if (!text)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a key");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) < 0)
		return nc_error_sys(reterr, NC_E_KEY_INVALID, -errno, "key %s", path);
	if (!S_ISREG(status.st_mode))
		return nc_error_set(reterr, NC_E_KEY_INVALID, -EINVAL, "key %s is not a regular file", path);
	r = read_small(fd, path, text, &length, reterr);
	if (r == 0)
		r = nc_pem_decode(NC_PEM_PUBLIC, path, text, length, key.bytes, reterr);
	if (r == 0)
		r = nc_key_check(&key, reterr);
	sodium_memzero(text, NC_PEM_FILE_MAX); /* it may have been a private key, given by mistake */
	if (r < 0)
		return r;
	*ret_key = key;
	return 0;
}

int nc_key_public_pem(const struct nc_public_key *key, char **ret_pem, struct nc_error *reterr)
{
	char *pem = malloc(NC_PEM_TEXT_SIZE);

	if (!pem)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a key");
	nc_pem_encode(NC_PEM_PUBLIC, key->bytes, pem);
	*ret_pem = pem;
	return 0;
}

void nc_key_id(const struct nc_public_key *key, char ret_hex[NC_KEY_ID_HEX])
{
	struct nc_digest digest;

	nc_digest_of(key->bytes, sizeof(key->bytes), &digest);
	nc_digest_hex(&digest, ret_hex);
}

int nc_key_verify(const struct nc_public_key *key, const void *message, size_t length, const uint8_t signature[NC_SIGNATURE_SIZE],
		  struct nc_error *reterr)
{
	int r = begin(reterr);

	if (r < 0)
		return r;
	if (crypto_sign_verify_detached(signature, message, length, key->bytes) == 0)
		return 0;
	/* libsodium refuses keys of low order here too, and does not say so. */
	r = nc_key_check(key, reterr);
	return r < 0 ? r : nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "the signature does not verify under this key");
}
