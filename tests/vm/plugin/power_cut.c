/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A QEMU plugin that cuts the power of a machine with an NVDIMM as a power supply does: what was
 * only in the processor's caches is gone. A test tool of its own; never a part of braid.
 *
 * Model (x86, ADR): the durable image starts as the device's content when it is armed. A line gets
 * into it by clflush, or by clwb, clflushopt or a non-temporal store that the same processor
 * follows with a fence (sfence, mfence, a locked instruction, xchg with memory). At the cut, every
 * flushed line that awaits its fence, and every line whose content differs from the durable one,
 * gets in with the probability `keep`: it was evicted, or written back in time. The rest is lost.
 *
 * The host arms it when the guest has mounted its file system; until then all is durable at once,
 * and the guest runs at its usual speed. From then on a block of translated code is one
 * instruction: only so are the guest's registers in memory when a callback runs, and a flush
 * instruction tells its address by registers alone.
 *
 * Arguments, as name=value. image: backing file of the NVDIMM, shared with QEMU. base: its physical
 * address, hexadecimal. out: file for the durable image. control: file with the host's order, "arm"
 * first, then "cut N": at the flush or fence of the device N later. keep: the share of lines, in
 * percent. seed: of what is kept.
 *
 * Says "power cut: armed" on the error output. QEMU's exit status after the cut is 42.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qemu_interface.h"

#define LINE 64u
#define PAGE 4096u
#define MAX_CPUS 16

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static const char *image_path, *out_path, *control_path;
static uint64_t base, seed = 1;
static unsigned keep_percent;

static uint8_t* live;      /* the device as the guest sees it */
static uint8_t* durable;   /* what a cut leaves for sure */
static uint64_t* versions; /* of each durable line: the number of the flush that it is from */
static uint64_t size;

/* A line as it was when it was flushed; it is durable at the next fence of its processor. */
struct Flushed {
  uint64_t line;
  uint64_t version;
  uint8_t bytes[LINE];
};
static struct {
  struct Flushed* lines;
  size_t count, capacity;
} waiting[MAX_CPUS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t flushes, fences, streamed;
static atomic_bool arm_ordered, cut_ordered;
static uint64_t events_to_cut;
/* A guest that writes nothing more is cut after so many fences that were for nothing. */
static uint64_t idle_fences_to_cut = 100 * 1000;

/* ---- The cut ----------------------------------------------------------------------------------
 */

static uint64_t Random(void) {
  seed += 0x9E3779B97F4A7C15ull;
  uint64_t z = seed;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static bool Kept(void) { return Random() % 100 < keep_percent; }

static void Die(const char* what) {
  perror(what);
  _exit(43);
}

static void WriteDurable(void) {
  const int file = open(out_path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || ftruncate(file, (off_t)size) != 0) Die(out_path);
  static const uint8_t zeroes[PAGE];
  for (uint64_t at = 0; at < size; at += PAGE) {
    if (memcmp(durable + at, zeroes, PAGE) == 0) continue;
    if (pwrite(file, durable + at, PAGE, (off_t)at) != (ssize_t)PAGE) Die(out_path);
  }
  close(file);
}

/* Called with the mutex held, and never returns: no processor gets past its next flush or fence. */
static void CutPower(void) {
  /* The others run into the mutex within this time, so that no line changes under the copy. */
  usleep(50 * 1000);
  uint64_t unfenced = 0, unfenced_kept = 0, dirty = 0, dirty_kept = 0;
  for (int cpu = 0; cpu < MAX_CPUS; ++cpu) {
    for (size_t i = 0; i < waiting[cpu].count; ++i) {
      const struct Flushed* flushed = &waiting[cpu].lines[i];
      ++unfenced;
      if (flushed->version < versions[flushed->line] || !Kept()) continue;
      memcpy(durable + flushed->line * LINE, flushed->bytes, LINE);
      versions[flushed->line] = flushed->version;
      ++unfenced_kept;
    }
  }
  for (uint64_t page = 0; page < size; page += PAGE) {
    if (memcmp(live + page, durable + page, PAGE) == 0) continue;
    for (uint64_t at = page; at < page + PAGE; at += LINE) {
      if (memcmp(live + at, durable + at, LINE) == 0) continue;
      ++dirty;
      if (!Kept()) continue;
      memcpy(durable + at, live + at, LINE);
      ++dirty_kept;
    }
  }
  WriteDurable();
  fprintf(stderr,
          "power cut: flushes=%lu streamed=%lu fences=%lu unfenced=%lu unfenced_kept=%lu dirty=%lu "
          "dirty_kept=%lu\n",
          flushes, streamed, fences, unfenced, unfenced_kept, dirty, dirty_kept);
  _exit(42);
}

/* Waits for the host's orders. */
static void* WatchControl(void* unused) {
  (void)unused;
  while (!atomic_load(&cut_ordered)) {
    usleep(2000);
    char order[64] = "";
    FILE* file = fopen(control_path, "r");
    if (file == NULL) continue;
    if (fgets(order, sizeof order, file) != NULL) {
      if (strncmp(order, "arm", 3) == 0) atomic_store(&arm_ordered, true);
      if (sscanf(order, "cut %lu", &events_to_cut) == 1) atomic_store(&cut_ordered, true);
    }
    fclose(file);
  }
  return NULL;
}

/* Before a flush of the device, or a fence: `for_device` when it makes something durable. */
static void CountEvent(bool for_device) {
  if (!atomic_load(&cut_ordered)) return;
  uint64_t* left = for_device ? &events_to_cut : &idle_fences_to_cut;
  if (*left == 0) CutPower();
  --*left;
}

/* ---- Flushes and fences ------------------------------------------------------------------------
 */

/* Offset of a guest address in the device; false: it is elsewhere. */
static bool OffsetOf(unsigned cpu, uint64_t address, uint64_t* offset) {
  uint32_t attributes = 0;
  const uint64_t page = x86_cpu_get_phys_page_attrs_debug(
      qemu_get_cpu((int)cpu), address & ~(uint64_t)(PAGE - 1), &attributes);
  if (page == UINT64_MAX) return false;
  const uint64_t physical = page | (address & (PAGE - 1));
  if (physical < base || physical >= base + size) return false;
  *offset = physical - base;
  return true;
}

static struct Flushed* AddWaiting(unsigned cpu) {
  if (waiting[cpu].count == waiting[cpu].capacity) {
    waiting[cpu].capacity = waiting[cpu].capacity == 0 ? 256 : waiting[cpu].capacity * 2;
    waiting[cpu].lines =
        realloc(waiting[cpu].lines, waiting[cpu].capacity * sizeof *waiting[cpu].lines);
    if (waiting[cpu].lines == NULL) Die("memory");
  }
  return &waiting[cpu].lines[waiting[cpu].count++];
}

/* Snapshots the line; `at_once` makes it durable now. */
static void FlushLine(unsigned cpu, uint64_t offset, bool at_once) {
  const uint64_t line = offset / LINE;
  const uint64_t version = ++flushes;
  if (at_once) {
    memcpy(durable + line * LINE, live + line * LINE, LINE);
    versions[line] = version;
    return;
  }
  struct Flushed* flushed = AddWaiting(cpu);
  flushed->line = line;
  flushed->version = version;
  memcpy(flushed->bytes, live + line * LINE, LINE);
}

static void OnFence(unsigned cpu, void* unused) {
  (void)unused;
  if (cpu >= MAX_CPUS || (waiting[cpu].count == 0 && !atomic_load(&cut_ordered))) return;
  pthread_mutex_lock(&mutex);
  CountEvent(waiting[cpu].count > 0);
  ++fences;
  for (size_t i = 0; i < waiting[cpu].count; ++i) {
    const struct Flushed* flushed = &waiting[cpu].lines[i];
    /* Another processor may have made a later content durable: a line never goes back. */
    if (flushed->version < versions[flushed->line]) continue;
    memcpy(durable + flushed->line * LINE, flushed->bytes, LINE);
    versions[flushed->line] = flushed->version;
  }
  waiting[cpu].count = 0;
  pthread_mutex_unlock(&mutex);
}

/* A memory operand: base + index * scale + displacement, or relative to the next instruction. */
struct Operand {
  int base, index; /* register numbers as instructions encode them; -1: none */
  unsigned shift;
  int64_t displacement;
  uint64_t fixed;
  bool at_once; /* clflush waits for no fence */
};

static uint64_t Register(void* cpu, int number) {
  /* Instructions and the debugger's interface count the first eight registers differently. */
  static const int order[8] = {0, 2, 3, 1, 7, 6, 4, 5};
  static __thread GByteArray* bytes;
  if (bytes == NULL) bytes = g_byte_array_new();
  g_byte_array_set_size(bytes, 0);
  x86_cpu_gdb_read_register(cpu, bytes, number < 8 ? order[number] : number);
  uint64_t value = 0;
  memcpy(&value, bytes->data, sizeof value);
  return value;
}

static void OnFlush(unsigned cpu, void* argument) {
  if (cpu >= MAX_CPUS) return;
  const struct Operand* operand = argument;
  void* state = qemu_get_cpu((int)cpu);
  uint64_t address = operand->fixed + (uint64_t)operand->displacement;
  if (operand->base >= 0) address += Register(state, operand->base);
  if (operand->index >= 0) address += Register(state, operand->index) << operand->shift;
  uint64_t offset = 0;
  if (!OffsetOf(cpu, address, &offset)) return;
  pthread_mutex_lock(&mutex);
  CountEvent(true);
  FlushLine(cpu, offset, operand->at_once);
  pthread_mutex_unlock(&mutex);
}

/* Runs after the store. */
static void OnStreamingStore(unsigned cpu, uint32_t access, uint64_t address, void* unused) {
  (void)unused;
  uint64_t offset = 0;
  if (cpu >= MAX_CPUS || !OffsetOf(cpu, address, &offset)) return;
  const uint64_t end = offset + (1u << qemu_plugin_mem_size_shift(access));
  pthread_mutex_lock(&mutex);
  ++streamed;
  for (uint64_t at = offset / LINE * LINE; at < end && at < size; at += LINE) {
    FlushLine(cpu, at, false);
  }
  pthread_mutex_unlock(&mutex);
}

/* ---- Which instructions ------------------------------------------------------------------------
 */

enum Kind { kOther, kFence, kFlush, kFlushAtOnce, kStreamingStore };

struct Decoded {
  enum Kind kind;
  size_t operand; /* index of the ModRM byte */
  unsigned rex;
};

static enum Kind KindOfGroup15(uint8_t modrm, bool prefix66, bool prefix_f) {
  const unsigned operation = modrm >> 3 & 7;
  if (prefix_f) return kOther;
  if (modrm >> 6 == 3) return !prefix66 && operation >= 6 ? kFence : kOther;
  if (operation == 7) return prefix66 ? kFlush : kFlushAtOnce;
  return operation == 6 && prefix66 ? kFlush : kOther;
}

static struct Decoded Decode(const uint8_t* code, size_t length) {
  struct Decoded result = {kOther, 0, 0};
  bool prefix66 = false, prefix_f = false;
  size_t i = 0;
  for (; i < length; ++i) {
    const uint8_t byte = code[i];
    if (byte == 0xF0) result.kind = kFence; /* lock */
    if (byte == 0x66) prefix66 = true;
    if (byte == 0xF2 || byte == 0xF3) prefix_f = true;
    if (byte != 0x66 && byte != 0x67 && (byte & 0xFE) != 0x64 && (byte & 0xE7) != 0x26 &&
        byte != 0xF0 && byte != 0xF2 && byte != 0xF3) {
      break;
    }
  }
  if (result.kind == kFence) return result;
  if (i + 3 < length && (code[i] == 0xC5 || (code[i] == 0xC4 && (code[i + 1] & 0x1F) == 1))) {
    const uint8_t operation = code[i] == 0xC5 ? code[i + 2] : code[i + 3];
    if (operation == 0xE7 || operation == 0x2B) result.kind = kStreamingStore;
    return result;
  }
  if (i < length && (code[i] & 0xF0) == 0x40) result.rex = code[i++];
  if (i + 1 < length && (code[i] & 0xFE) == 0x86 && code[i + 1] >> 6 != 3) {
    result.kind = kFence; /* xchg with memory */
  } else if (i + 2 < length && code[i] == 0x0F) {
    const uint8_t operation = code[i + 1];
    result.operand = i + 2;
    if (operation == 0xAE) result.kind = KindOfGroup15(code[i + 2], prefix66, prefix_f);
    if (operation == 0xC3 || operation == 0x2B || operation == 0xE7) {
      result.kind = kStreamingStore;
    }
  }
  return result;
}

static int64_t Signed(const uint8_t* bytes, bool four) {
  int32_t wide = 0;
  if (!four) return (int8_t)bytes[0];
  memcpy(&wide, bytes, sizeof wide);
  return wide;
}

static struct Operand* DecodeOperand(const uint8_t* code, const struct Decoded* decoded,
                                     uint64_t next_instruction) {
  struct Operand* operand = calloc(1, sizeof *operand);
  if (operand == NULL) Die("memory");
  const uint8_t* at = code + decoded->operand;
  const unsigned mode = *at >> 6, low = *at & 7;
  const int extend_base = (decoded->rex & 1) != 0 ? 8 : 0;
  const int extend_index = (decoded->rex & 2) != 0 ? 8 : 0;
  ++at;
  operand->index = -1;
  operand->base = (int)low + extend_base;
  bool wide = mode == 2;
  if (low == 4) {
    const uint8_t scaled = *at++;
    operand->shift = scaled >> 6;
    const int index = (scaled >> 3 & 7) + extend_index;
    if (index != 4) operand->index = index;
    operand->base = (scaled & 7) + extend_base;
    if ((scaled & 7) == 5 && mode == 0) {
      operand->base = -1;
      wide = true;
    }
  } else if (low == 5 && mode == 0) {
    operand->base = -1;
    operand->fixed = next_instruction;
    wide = true;
  }
  if (mode == 1 || wide) operand->displacement = Signed(at, wide);
  operand->at_once = decoded->kind == kFlushAtOnce;
  return operand;
}

static void OnTranslate(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  const size_t count = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < count; ++i) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    const uint8_t* code = qemu_plugin_insn_data(instruction);
    const size_t length = qemu_plugin_insn_size(instruction);
    const struct Decoded decoded = Decode(code, length);
    switch (decoded.kind) {
      case kOther:
        break;
      case kFence:
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, OnFence, kPluginNoRegisters, NULL);
        break;
      case kFlush:
      case kFlushAtOnce:
        qemu_plugin_register_vcpu_insn_exec_cb(
            instruction, OnFlush, kPluginNoRegisters,
            DecodeOperand(code, &decoded, qemu_plugin_insn_vaddr(instruction) + length));
        break;
      case kStreamingStore:
        qemu_plugin_register_vcpu_mem_cb(instruction, OnStreamingStore, kPluginNoRegisters,
                                         kPluginStores, NULL);
        break;
    }
  }
}

/* ---- Start -------------------------------------------------------------------------------------
 */

static bool TakeArgument(char* argument) {
  char* value = strchr(argument, '=');
  if (value == NULL) return false;
  *value++ = '\0';
  if (strcmp(argument, "image") == 0)
    image_path = strdup(value);
  else if (strcmp(argument, "out") == 0)
    out_path = strdup(value);
  else if (strcmp(argument, "control") == 0)
    control_path = strdup(value);
  else if (strcmp(argument, "base") == 0)
    base = strtoull(value, NULL, 16);
  else if (strcmp(argument, "keep") == 0)
    keep_percent = (unsigned)strtoul(value, NULL, 10);
  else if (strcmp(argument, "seed") == 0)
    seed = strtoull(value, NULL, 10);
  else
    return false;
  return true;
}

static bool MapImage(void) {
  struct stat facts;
  const int file = open(image_path, O_RDWR);
  if (file < 0 || fstat(file, &facts) != 0) return false;
  size = (uint64_t)facts.st_size;
  const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  live = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
  durable = mmap(NULL, size, PROT_READ | PROT_WRITE, anonymous, -1, 0);
  versions = mmap(NULL, size / LINE * sizeof *versions, PROT_READ | PROT_WRITE, anonymous, -1, 0);
  return live != MAP_FAILED && durable != MAP_FAILED && versions != MAP_FAILED;
}

/* Runs while all processors stand still and no translated code is left. */
static void Arm(qemu_plugin_id_t id) {
  for (uint64_t at = 0; at < size; at += PAGE) {
    if (memcmp(live + at, durable + at, PAGE) != 0) memcpy(durable + at, live + at, PAGE);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, OnTranslate);
  fprintf(stderr, "power cut: armed\n");
}

/* The one place where QEMU lets a plugin drop translated code is a processor's own thread. */
static void OnIdle(qemu_plugin_id_t id, unsigned cpu) {
  (void)cpu;
  if (!atomic_exchange(&arm_ordered, false) || singlestep != 0) return;
  singlestep = 1;
  qemu_plugin_reset(id, Arm);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
                                                               const struct qemu_info* info,
                                                               int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (!TakeArgument(argv[i])) {
      fprintf(stderr, "power_cut: unknown argument %s\n", argv[i]);
      return -1;
    }
  }
  if (image_path == NULL || out_path == NULL || control_path == NULL || base == 0 || !MapImage()) {
    fprintf(stderr, "power_cut: needs image, out, control and base\n");
    return -1;
  }
  pthread_t watcher;
  if (pthread_create(&watcher, NULL, WatchControl, NULL) != 0) return -1;
  qemu_plugin_register_vcpu_idle_cb(id, OnIdle);
  return 0;
}
