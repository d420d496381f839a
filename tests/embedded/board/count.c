/* A plugin of QEMU that counts the instructions executed between two addresses:
 *
 *     -plugin count.so,begin=0x..,end=0x..,out=FILE
 *
 * Debian does not package the plugin header, so the part of that interface which is used is declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum { QEMU_PLUGIN_CB_NO_REGS = 0, QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

typedef void (*translate_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translate_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int, void *);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);

EXPORT int qemu_plugin_version = 1;

static uint64_t begin, end, executed, at_begin, counted;
static const char *out;

static void on_begin(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    at_begin = executed;
}

static void on_end(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    counted += executed - at_begin;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    const uint64_t address = qemu_plugin_tb_vaddr(block);
    if (address == begin) {
        qemu_plugin_register_vcpu_tb_exec_cb(block, on_begin, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
    if (address == end) {
        qemu_plugin_register_vcpu_tb_exec_cb(block, on_end, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
    qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &executed,
                                             qemu_plugin_tb_n_insns(block));
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    FILE *file = fopen(out, "w");
    if (file != NULL) {
        fprintf(file, "%" PRIu64 "\n", counted);
        fclose(file);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "begin=", 6) == 0) {
            begin = strtoull(argv[i] + 6, NULL, 0);
        } else if (strncmp(argv[i], "end=", 4) == 0) {
            end = strtoull(argv[i] + 4, NULL, 0);
        } else if (strncmp(argv[i], "out=", 4) == 0) {
            out = strdup(argv[i] + 4);
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
    return out == NULL ? -1 : 0;
}
