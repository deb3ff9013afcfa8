// SPDX-License-Identifier: GPL-2.0-only
/*
 * empty_hooks.c - runs a command in a cgroup on whose hooks the programs of an object stand: empty_hooks OBJECT ROOT CGROUP COMMAND...
 *
 * Programs called guard_* are attached at ROOT, all others at CGROUP, by links, with BPF_F_ALLOW_MULTI as the product's are. The links are the command's:
 * they go when it ends. An object's map `listed` is pinned where the environment's LISTED says.
 */
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 3;
}

static int attach(struct bpf_program *program, int root, int cgroup)
{
	int where = strncmp(bpf_program__name(program), "guard_", 6) ? cgroup : root;
	struct bpf_link *link = bpf_program__attach_cgroup(program, where);

	return link && fcntl(bpf_link__fd(link), F_SETFD, 0) == 0 ? 0 : -1;
}

static int join(const char *cgroup)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	file = fopen(path, "we");
	return file && fputs("0", file) >= 0 && fclose(file) == 0 ? 0 : -1;
}

/* 0 where the object has no such map, or nobody asks for it. */
static int pin_listed(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "listed");
	const char *path = getenv("LISTED");

	return map && path ? bpf_map__pin(map, path) : 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *program;
	int root, cgroup;

	if (argc < 5)
		return 2;
	root = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cgroup = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || cgroup < 0)
		return fail("open the cgroups");
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object))
		return fail("load the programs");
	if (pin_listed(object))
		return fail("pin the map");
	bpf_object__for_each_program(program, object) if (attach(program, root, cgroup) < 0) return fail(bpf_program__name(program));
	if (join(argv[3]) < 0)
		return fail("join the cgroup");
	execvp(argv[4], argv + 4);
	return fail(argv[4]);
}
