/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What power_cut.c uses of QEMU 7.2: its plugin interface, of which Debian has no header, and three
 * functions that the interface lacks but Debian's binary exports, to read registers and page
 * tables. All by their documented or observable signatures.
 */
#ifndef BRAID_TESTS_VM_PLUGIN_QEMU_INTERFACE_H
#define BRAID_TESTS_VM_PLUGIN_QEMU_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;

enum { kPluginNoRegisters = 0, kPluginStores = 2 };

typedef void (*PluginCallback)(qemu_plugin_id_t id);
typedef void (*CpuCallback)(qemu_plugin_id_t id, unsigned vcpu);
typedef void (*TranslateCallback)(qemu_plugin_id_t id, struct qemu_plugin_tb* block);
typedef void (*ExecuteCallback)(unsigned vcpu, void* argument);
typedef void (*MemoryCallback)(unsigned vcpu, uint32_t access, uint64_t address, void* argument);

/* Drops the plugin's callbacks and all translated code, then calls back. */
void qemu_plugin_reset(qemu_plugin_id_t id, PluginCallback callback);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, CpuCallback callback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, TranslateCallback callback);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t index);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn* instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn* instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* instruction);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* instruction,
                                            ExecuteCallback callback, int flags, void* argument);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn* instruction, MemoryCallback callback,
                                      int flags, int accesses, void* argument);
unsigned qemu_plugin_mem_size_shift(uint32_t access);

/* GLib's byte array, as its documentation shows it. */
typedef struct {
  uint8_t* data;
  unsigned len;
} GByteArray;
GByteArray* g_byte_array_new(void);
GByteArray* g_byte_array_set_size(GByteArray* array, unsigned length);

/* Not of the plugin interface. */
extern int singlestep; /* translate one instruction a block */
void* qemu_get_cpu(int index);
int x86_cpu_gdb_read_register(void* cpu, GByteArray* out, int number);
uint64_t x86_cpu_get_phys_page_attrs_debug(void* cpu, uint64_t address, uint32_t* attributes);

#endif
