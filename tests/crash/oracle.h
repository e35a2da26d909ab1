// What a database may contain after a crash: the acknowledged operations, and those plus the one in
// flight.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "braid/db.h"

namespace braid::crash {

using Content = std::map<std::string, std::string>;
/// A content in key order.
using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Update {
  std::string key;
  std::optional<std::string> value;  // none: a delete
};

void Apply(const std::vector<Update>& updates, Content* content);

/// Operations of which any may be lost, each as a whole: those that were not synced when the page
/// cache went. `base` is what was synced before them.
struct Lossy {
  Content base;
  std::vector<std::vector<Update>> operations;  // in their order
};

/// The contents that a recovered database may have, one of which it must have in full. The same set
/// with fewer bits in `mask` is the stricter demand that a reader has seen one of them already.
struct Allowed {
  std::vector<std::shared_ptr<const Pairs>> states;
  uint64_t mask = 0;                                  // states that are still possible
  std::shared_ptr<const std::set<std::string>> keys;  // every key ever used
  std::shared_ptr<const Lossy> lossy;                 // instead of states, if set
};

class Oracle {
 public:
  /// `page_cache`: a power loss may take what was acknowledged and not yet synced.
  explicit Oracle(bool page_cache = false);

  void Begin(std::vector<Update> updates);
  /// The operation in flight has returned ok: it must survive.
  void Acknowledge();
  /// The operation in flight has returned an error: it must not have happened.
  void Refuse();
  /// A crash has happened and `state` is what came out of it.
  void Adopt(const Pairs& state);

  /// All that was acknowledged is on the medium.
  void Synced();

  const Content& acknowledged() const noexcept { return acknowledged_; }
  /// After a crash of the process.
  Allowed allowed() const;
  /// After a power loss.
  Allowed allowed_after_power_loss() const;
  /// Grows whenever less is allowed than before: an image that was right may be wrong now.
  uint64_t version() const noexcept { return version_; }

 private:
  void Rebuild();

  bool page_cache_;
  Content acknowledged_;
  Lossy unsynced_;
  std::optional<std::vector<Update>> in_flight_;
  std::shared_ptr<const Pairs> before_;
  std::shared_ptr<const Pairs> after_;
  std::shared_ptr<const std::set<std::string>> keys_;
  uint64_t version_ = 0;
};

/// Reads everything back, by scans both ways and a get of every key ever used, and takes the bits
/// of the states that do not fit out of allowed->mask. Returns what is wrong, or an empty string.
std::string CheckContent(DB* db, Allowed* allowed);

/// The same of a content that was read in another way: in key order.
std::string CheckPairs(const Pairs& found, Allowed* allowed);

/// The state that is left in a mask of one bit (or of equal states).
const Pairs& StateLeft(const Allowed& allowed);

/// Bytes as a person can read them.
std::string Readable(Slice bytes);

}  // namespace braid::crash
