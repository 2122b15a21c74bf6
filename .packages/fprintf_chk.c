/* A function of glibc that LLVM's unwinder in Debian calls for its messages. musl has none. */
#include <stdarg.h>
#include <stdio.h>

int __fprintf_chk(FILE *file, int flag, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int written = vfprintf(file, format, values);
    va_end(values);
    return written;
}
