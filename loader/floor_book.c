// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor_book.c - whose each of the host's own addresses on the floor is
 *
 * The floor is one for the host, and supervisors may run in several network namespaces. Below the host's folder:
 *   floor/        its flock is the book's lock: whoever changes book or maps holds it
 *   floor/book    rows {owner, address, length}; replaced whole, by rename
 *   floor/OWNER   flocked, shared, by every supervisor of that namespace. Without a holder, and named by no instance's record, the owner is gone
 *
 * An owner is a namespace: its cookie, or its inode number with the highest bit set where the kernel tells no cookie (before 5.14). 0 is the first
 * namespace of the host, which is never gone.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "inside.h"

#define BOOK_ROWS_MAX (1u << 18)

int nc_book_lock(struct nc_host *host, int *ret_fd, struct nc_error *reterr)
{
	NC_CLOSE int fd = -1;

	if (mkdirat(host->folder_fd, "floor", 0700) && errno != EEXIST)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make %s/floor", host->folder);
	fd = openat(host->folder_fd, "floor", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s/floor", host->folder);
	while (flock(fd, LOCK_EX)) {
		if (errno != EINTR)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "lock %s/floor", host->folder);
	}
	*ret_fd = NC_TAKE_FD(fd);
	return 0;
}

static int by_row(const void *a, const void *b)
{
	const struct nc_book_row *x = a, *y = b;
	int r = nc_own_compare(&x->row, &y->row);

	return r ? r : x->owner < y->owner ? -1 : x->owner > y->owner;
}

static int by_address(const void *a, const void *b)
{
	const struct nc_book_row *x = a, *y = b;

	return nc_own_compare(&x->row, &y->row);
}

void nc_floor_book_free(struct nc_floor_book *book)
{
	free(book->rows);
	*book = (struct nc_floor_book){0};
}

/* No book yet is an empty one. A book that is not whole is an error: what it should say of other namespaces nobody knows. */
int nc_book_read(int folder_fd, struct nc_floor_book *ret_book, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(folder_fd, "book", O_RDONLY | O_CLOEXEC);
	struct nc_floor_book book = {0};
	struct stat status;

	if (fd < 0 && errno == ENOENT) {
		*ret_book = book;
		return 0;
	}
	if (fd < 0 || fstat(fd, &status))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open the book of the host floor");
	book.count = (size_t)status.st_size / sizeof(*book.rows);
	book.rows = calloc(book.count + 1, sizeof(*book.rows));
	if (!book.rows)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the book of the host floor");
	if (book.count > BOOK_ROWS_MAX || (size_t)status.st_size % sizeof(*book.rows) ||
	    read(fd, book.rows, (size_t)status.st_size) != (ssize_t)status.st_size) {
		free(book.rows);
		nc_error_set(reterr, NC_E_SYSTEM, -EIO, "the book of the host floor is not whole");
		return nc_error_hint(reterr, "end what runs, then: netcordon host down, netcordon host up");
	}
	*ret_book = book;
	return 0;
}

int nc_book_write(int folder_fd, const struct nc_floor_book *book, struct nc_error *reterr)
{
	size_t size = book->count * sizeof(*book->rows);
	NC_CLOSE int fd = openat(folder_fd, "book.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "write the book of the host floor");
	errno = 0;
	if ((size && write(fd, book->rows, size) != (ssize_t)size) || renameat(folder_fd, "book.new", folder_fd, "book"))
		return nc_error_sys(reterr, NC_E_SYSTEM, errno ? -errno : -EIO, "write the book of the host floor");
	return 0;
}

bool nc_book_has(const struct nc_floor_book *book, const struct nc_own_row *row)
{
	const struct nc_book_row wanted = {.row = *row};

	return book->count && bsearch(&wanted, book->rows, book->count, sizeof(*book->rows), by_address);
}

/* What the book says of everybody but `owner`, and of `owner` what `own` says. Sorted. */
int nc_book_make(const struct nc_floor_book *book, uint64_t owner, const struct nc_own *own, struct nc_floor_book *ret_book, struct nc_error *reterr)
{
	struct nc_floor_book made = {.rows = calloc(book->count + own->count + 1, sizeof(*made.rows))};

	if (!made.rows)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "write the book of the host floor");
	for (size_t i = 0; i < book->count; i++) {
		if (book->rows[i].owner != owner)
			made.rows[made.count++] = book->rows[i];
	}
	for (size_t i = 0; i < own->count; i++)
		made.rows[made.count++] = (struct nc_book_row){.owner = owner, .row = own->rows[i]};
	if (made.count)
		qsort(made.rows, made.count, sizeof(*made.rows), by_row);
	*ret_book = made;
	return 0;
}

static void owner_name(uint64_t owner, char ret_name[20])
{
	snprintf(ret_name, 20, "%016llx", (unsigned long long)owner);
}

int nc_book_hold(int folder_fd, uint64_t owner, int *ret_fd, struct nc_error *reterr)
{
	NC_CLOSE int fd = -1;
	char name[20];

	owner_name(owner, name);
	fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB)) /* only who holds the book's lock takes it exclusively, for a moment */
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "hold the network namespace's part of the host floor");
	*ret_fd = NC_TAKE_FD(fd);
	return 0;
}

/* Has the namespace neither a supervisor nor an instance that one of its supervisors claimed? In doubt it has. */
bool nc_book_owner_gone(struct nc_host *host, int folder_fd, uint64_t owner)
{
	NC_CLOSE int fd = -1;
	char name[20];

	if (!owner)
		return false;
	owner_name(owner, name);
	fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC);
	return fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !nc_instances_name_owner(host, owner);
}

void nc_book_owner_forget(int folder_fd, uint64_t owner)
{
	char name[20];

	owner_name(owner, name);
	unlinkat(folder_fd, name, 0);
}
