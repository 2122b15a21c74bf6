/* A disk that fails: preloaded, it makes the call FAULT_CALL fail with EIO, or kill the process where
   FAULT_KILL is set, at its FAULT_AT-th use on a path or file below FAULT_BELOW. Counts from 1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int uses;

static int fails(const char *call, const char *path) {
    const char *wanted = getenv("FAULT_CALL"), *at = getenv("FAULT_AT"), *below = getenv("FAULT_BELOW");
    if (!wanted || !at || !below || strcmp(call, wanted) || !strstr(path, below)) return 0;
    if (atomic_fetch_add(&uses, 1) + 1 != atoi(at)) return 0;
    if (getenv("FAULT_KILL")) raise(SIGKILL);
    errno = EIO;
    return 1;
}

static int fd_fails(const char *call, int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    return fd_fails("write", fd) ? -1 : REAL(write)(fd, bytes, count);
}
int fsync(int fd) { return fd_fails("fsync", fd) ? -1 : REAL(fsync)(fd); }
int rename(const char *from, const char *to) { return fails("rename", to) ? -1 : REAL(rename)(from, to); }
int symlink(const char *to, const char *at) { return fails("symlink", at) ? -1 : REAL(symlink)(to, at); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir", path) ? -1 : REAL(mkdir)(path, mode); }
int chmod(const char *path, mode_t mode) { return fails("chmod", path) ? -1 : REAL(chmod)(path, mode); }
