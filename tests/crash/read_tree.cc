#include "crash/read_tree.h"

#include <algorithm>
#include <utility>

namespace braid::crash {

ReadTree::ReadTree(std::vector<uint32_t> pending, std::vector<sim::WordChoices> choices)
    : pending_(std::move(pending)), choices_(std::move(choices)), distinct_(pending_.size()) {
  // Prefixes that leave the same content are one image: the first of them stands for all.
  std::vector<std::vector<uint64_t>> content(pending_.size());
  for (size_t line = 0; line < pending_.size(); ++line) content[line].resize(pending_[line] + 1);
  for (const sim::WordChoices& word : choices_) {
    std::vector<uint64_t>& hashes = content[word.line];
    for (size_t i = 0; i < hashes.size(); ++i) {
      hashes[i] = Mix64(hashes[i] + Mix64(word.word)) ^ word.values[i];
    }
  }
  for (size_t line = 0; line < pending_.size(); ++line) {
    const std::vector<uint64_t>& hashes = content[line];
    for (uint32_t i = 0; i < hashes.size(); ++i) {
      if (std::find(hashes.begin(), hashes.begin() + i, hashes[i]) == hashes.begin() + i) {
        distinct_[line].push_back(i);
      }
    }
    images_ *= static_cast<double>(distinct_[line].size());
  }
}

std::vector<uint64_t> ReadTree::Words() const {
  std::vector<uint64_t> words;
  words.reserve(choices_.size());
  for (const sim::WordChoices& word : choices_) words.push_back(word.word);
  return words;
}

uint64_t ReadTree::ToCount(double images) noexcept {
  constexpr double kMost = 9.0e18;
  return static_cast<uint64_t>(std::min(images, kMost));
}

uint32_t ReadTree::Follow(const Node& node, uint64_t value) const noexcept {
  for (const Branch& branch : node.branches) {
    if (branch.value == value) return branch.node;
  }
  return kNone;
}

uint32_t ReadTree::LeafOf(const std::vector<uint32_t>& prefixes) const {
  uint32_t at = nodes_.empty() ? kNone : 0;
  while (at != kNone && nodes_[at].word != kNone) {
    at = Follow(nodes_[at], ValueOf(nodes_[at].word, prefixes));
  }
  return at;
}

bool ReadTree::Next(Random* random, std::vector<uint32_t>* prefixes) {
  if (runs_.empty()) {
    prefixes->assign(pending_.size(), 0);
    return true;
  }
  if (runs_.size() == 1 && !Known(pending_)) {
    *prefixes = pending_;
    return true;
  }
  while (!open_.empty()) {
    const size_t pick = random->Uniform(open_.size());
    const Open open = open_[pick];
    open_[pick] = open_.back();
    open_.pop_back();
    *prefixes = runs_[open.run].prefixes;
    (*prefixes)[open.line] = open.choice;
    const Node& node = nodes_[open.node];
    if (Follow(node, ValueOf(node.word, *prefixes)) != kNone) continue;  // taken meanwhile
    if (random->OneIn(2)) Randomize(open, random, prefixes);
    return true;
  }
  return false;
}

/// Lines that were not looked at on the way to the branch may hold anything.
void ReadTree::Randomize(const Open& open, Random* random, std::vector<uint32_t>* prefixes) const {
  std::vector<bool> bound(pending_.size(), false);
  bound[open.line] = true;
  const std::vector<uint32_t>& trace = runs_[open.run].trace;
  for (size_t i = 0; i < open.position; ++i) bound[choices_[trace[i]].line] = true;
  for (size_t line = 0; line < pending_.size(); ++line) {
    if (bound[line] || random->OneIn(2)) continue;
    (*prefixes)[line] = static_cast<uint32_t>(random->Uniform(pending_[line] + 1u));
  }
}

bool ReadTree::AnyPruned(Random* random, std::vector<uint32_t>* prefixes) const {
  if (runs_.empty() || covered_ <= static_cast<double>(leaves_)) return false;
  for (int tries = 0; tries < 8; ++tries) {
    const Run& run = runs_[random->Uniform(runs_.size())];
    std::vector<bool> read(choices_.size(), false);
    for (const uint32_t word : run.trace) read[word] = true;
    *prefixes = run.prefixes;
    // Another content that is equal in all the words that were read.
    for (size_t line = 0; line < pending_.size(); ++line) {
      const auto other = static_cast<uint32_t>(random->Uniform(pending_[line] + 1u));
      const bool same =
          std::all_of(choices_.begin(), choices_.end(), [&](const sim::WordChoices& word) {
            return word.line != line || !read[static_cast<size_t>(&word - choices_.data())] ||
                   word.values[other] == word.values[run.prefixes[line]];
          });
      if (same) (*prefixes)[line] = other;
    }
    if (*prefixes != run.prefixes) return true;
  }
  return false;
}

uint32_t ReadTree::NewNode(uint32_t word) {
  nodes_.push_back({word, 0, {}});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

/// Branches of a new node that the run at hand does not take.
void ReadTree::NoteOpen(uint32_t node, uint32_t position, uint64_t value) {
  const sim::WordChoices& word = choices_[nodes_[node].word];
  std::vector<uint64_t> values{value};
  for (const uint32_t choice : possible_[word.line]) {
    const uint64_t other = word.values[choice];
    if (std::find(values.begin(), values.end(), other) != values.end()) continue;
    values.push_back(other);
    open_.push_back({node, static_cast<uint32_t>(runs_.size() - 1), position, word.line, choice});
  }
}

std::string ReadTree::Add(const std::vector<uint32_t>& prefixes, const std::vector<uint32_t>& trace,
                          uint64_t outcome) {
  const auto contradiction = [&](size_t position, const char* what) {
    return "two runs that read the same so far go on differently at read " +
           std::to_string(position) + ": " + what +
           ". Either a read was not noted or recovery depends on something outside the image";
  };
  runs_.push_back({prefixes, trace});
  possible_ = distinct_;
  if (nodes_.empty()) NewNode(trace.empty() ? kNone : trace[0]);
  bool is_new = runs_.size() == 1;
  uint32_t at = 0;
  for (size_t i = 0; i < trace.size(); ++i) {
    if (nodes_[at].word != trace[i]) return contradiction(i, "another word is read");
    const sim::WordChoices& word = choices_[trace[i]];
    const uint64_t value = ValueOf(trace[i], prefixes);
    if (is_new) NoteOpen(at, static_cast<uint32_t>(i), value);
    std::erase_if(possible_[word.line],
                  [&](uint32_t choice) { return word.values[choice] != value; });
    uint32_t next = Follow(nodes_[at], value);
    if (next == kNone) {
      is_new = true;
      next = NewNode(i + 1 < trace.size() ? trace[i + 1] : kNone);
      nodes_[at].branches.push_back({value, next});
    }
    at = next;
  }
  if (nodes_[at].word != kNone) return contradiction(trace.size(), "the run ends early");
  if (!is_new) {
    return nodes_[at].outcome == outcome ? std::string()
                                         : contradiction(trace.size(), "another outcome");
  }
  nodes_[at].outcome = outcome;
  ++leaves_;
  double equal = 1;
  for (const std::vector<uint32_t>& prefixes_left : possible_) {
    equal *= static_cast<double>(prefixes_left.size());
  }
  covered_ += equal;
  return {};
}

}  // namespace braid::crash
