// What recovery does is decided by what it reads. The images of one crash point differ in a few
// words; runs of recovery and checks on some of them, each with the words it read in order, form a
// tree: a node is the word that is read next, its branches are the values it may have, and a leaf
// is one behavior. An image that comes to a known leaf behaves like the image that was run there:
// all that it reads is equal. Branches that no run has taken yet name the images worth a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/sim_persist.h"

namespace braid::crash {

class ReadTree {
 public:
  /// `pending`: number of pending stores of each dirty line; `choices`: the words that differ.
  ReadTree(std::vector<uint32_t> pending, std::vector<sim::WordChoices> choices);

  /// Words of the area to watch while an image is run; a trace holds positions in this list.
  std::vector<uint64_t> Words() const;

  /// An image whose behavior is not known: nothing written back first, then everything, then a
  /// branch picked at random. False when there is none: every image of the point has its leaf.
  bool Next(Random* random, std::vector<uint32_t>* prefixes);
  /// Any image whose behavior is known. False when there is none that was not run itself.
  bool AnyPruned(Random* random, std::vector<uint32_t>* prefixes) const;
  /// True when the image comes to a leaf.
  bool Known(const std::vector<uint32_t>& prefixes) const { return LeafOf(prefixes) != kNone; }

  /// Adds the run of an image: the words it read, and a hash of what came out. Returns what
  /// contradicts the runs so far (a read that was not noted, or chance in recovery), or nothing.
  std::string Add(const std::vector<uint32_t>& prefixes, const std::vector<uint32_t>& trace,
                  uint64_t outcome);

  /// Number of different images, and how many of them have a known leaf (2^63 at most each).
  uint64_t images() const noexcept { return ToCount(images_); }
  uint64_t covered() const noexcept { return ToCount(covered_); }
  uint64_t leaves() const noexcept { return leaves_; }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Branch {
    uint64_t value;
    uint32_t node;
  };
  struct Node {
    uint32_t word;  // kNone: a leaf
    uint64_t outcome;
    std::vector<Branch> branches;
  };
  struct Run {
    std::vector<uint32_t> prefixes;
    std::vector<uint32_t> trace;
  };
  /// A branch that no run has taken: the run that passed by, where, and what leads into it.
  struct Open {
    uint32_t node;
    uint32_t run;
    uint32_t position;
    uint32_t line;
    uint32_t choice;
  };

  static uint64_t ToCount(double images) noexcept;
  uint64_t ValueOf(uint32_t word, const std::vector<uint32_t>& prefixes) const {
    const sim::WordChoices& choices = choices_[word];
    return choices.values[prefixes[choices.line]];
  }
  uint32_t Follow(const Node& node, uint64_t value) const noexcept;
  uint32_t LeafOf(const std::vector<uint32_t>& prefixes) const;
  uint32_t NewNode(uint32_t word);
  void NoteOpen(uint32_t node, uint32_t position, uint64_t value);
  void Randomize(const Open& open, Random* random, std::vector<uint32_t>* prefixes) const;

  std::vector<uint32_t> pending_;
  std::vector<sim::WordChoices> choices_;
  std::vector<std::vector<uint32_t>> distinct_;  // by line: prefixes of different content
  std::vector<Node> nodes_;                      // the first is the root
  std::vector<Run> runs_;
  std::vector<Open> open_;
  std::vector<std::vector<uint32_t>> possible_;  // by line: prefixes that lead here, while adding
  double images_ = 1;
  double covered_ = 0;
  uint64_t leaves_ = 0;
};

}  // namespace braid::crash
