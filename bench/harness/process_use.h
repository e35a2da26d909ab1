// Purpose: what a process takes while it is measured (processor time, space on the medium, bytes
// given to write(2)), and what the rest of the machine takes beside it.
// Thread safety: functions without state.
// Persistence: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace braid::bench {

/// Processor time of all threads of this process, in nanoseconds; threads that have ended included.
uint64_t ProcessCpuNanos();

/// Bytes that this process has given to write(2) and its kin; empty where the kernel does not tell.
std::optional<uint64_t> ProcessWrittenBytes();

/// Bytes of the medium that the file or folder at `path` takes, holes left out. A call of stat a
/// file; what vanishes meanwhile counts nothing.
uint64_t AllocatedBytes(const std::string& path);

/// A moment of the machine, to be compared with a later one.
struct MachineMoment {
  uint64_t wall_nanos = 0;
  uint64_t own_nanos = 0;    ///< ProcessCpuNanos()
  uint64_t busy_nanos = 0;   ///< of all processors since they started, stolen time left out
  uint64_t steal_nanos = 0;  ///< that the hypervisor gave to others
  bool known = false;        ///< whether the kernel told the last two
};
MachineMoment LookAtMachine();

/// What others did between two moments, as shares of all processors.
struct MachineLoad {
  double load_average = 0;  ///< of the last minute, at the end
  double others = 0;        ///< 0 to 1: taken by other processes and the kernel for them
  double steal = 0;         ///< 0 to 1: taken by the hypervisor
  /// Whether a number that was measured meanwhile is to be doubted.
  bool busy() const { return others + steal >= kBusyShare; }

  static constexpr double kBusyShare = 0.1;
};
MachineLoad LoadBetween(const MachineMoment& from, const MachineMoment& to);

}  // namespace braid::bench
