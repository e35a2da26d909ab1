// The images of one crash point, pruned by what recovery reads; see read_tree.h.
#include <algorithm>
#include <utility>

#include "crash/image_checker.h"

namespace braid::crash {
namespace {

constexpr uint64_t kRecheckOneIn = 8;  // points

uint64_t HashOf(const std::vector<uint32_t>& prefixes) {
  uint64_t hash = 1;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    if (prefixes[i] != 0) hash = Mix64(hash ^ Mix64(i * 0x10001u + prefixes[i]));
  }
  return hash;
}

}  // namespace

std::string ImageChecker::CheckPrefixes(sim::SimPersist* sim, const std::vector<uint32_t>& prefixes,
                                        const Image& demands, size_t depth) {
  if (depth == 0) AdoptThread();
  Image image = demands;
  image.hash = sim->ImageHash(prefixes);
  image.seed = Mix64(demands.seed ^ HashOf(prefixes));
  area_->PushFrame();
  sim->MakeImage(prefixes);
  if (depth == 0) TakeTier(image.process_crash);
  std::string wrong = CheckAtDepth(image, depth);
  area_->PopFrame();
  return wrong;
}

std::string ImageChecker::Explore(sim::SimPersist* sim, const Image& demands,
                                  const sim::ImageLimits& limits, size_t depth,
                                  Position* position) {
  if (depth == 0) AdoptThread();
  Level& level = levels_[depth];
  ReadTree tree(sim->Units().counts(), sim->Choices());
  level.tracker->Watch(tree.Words());
  level.tracked = true;
  Random random(Mix64(demands.seed + 1));
  const uint64_t most =
      std::min(limits.runs, tree.images() <= limits.exhaustive ? tree.images() : limits.sampled);
  std::vector<uint32_t> prefixes;
  std::string wrong;
  bool complete = false;
  for (uint64_t run = 0; run < most && wrong.empty(); ++run) {
    if (!tree.Next(&random, &prefixes)) {
      complete = true;
      break;
    }
    if (position != nullptr) {
      position->by_prefixes = true;
      position->prefixes = prefixes;
    }
    Image image = demands;
    image.hash = sim->ImageHash(prefixes);
    if (IsNew(image)) {
      ++counts_.images;
      if (depth > 0) ++counts_.nested[depth];
    }
    wrong = CheckPrefixes(sim, prefixes, demands, depth);
    if (wrong.empty()) wrong = tree.Add(prefixes, level.tracker->trace(), level.outcome);
    image.seed = Mix64(demands.seed ^ HashOf(prefixes));
    if (wrong.empty() && WillCrashAgain(image, depth)) {
      level.tracked = false;
      wrong = CheckPrefixes(sim, prefixes, demands, depth);
      level.tracked = true;
    }
  }
  if (wrong.empty() && random.OneIn(kRecheckOneIn)) {
    wrong = Recheck(sim, &tree, demands, depth, &random);
  }
  level.tracked = false;
  if (!wrong.empty()) return wrong;
  counts_.pruned +=
      std::min(tree.covered(), std::max(limits.exhaustive, tree.leaves())) - tree.leaves();
  if (depth == 0 && (complete || tree.covered() == tree.images())) ++counts_.complete;
  return {};
}

/// Runs an image that need not be run: it must read and give the same as the one it equals.
std::string ImageChecker::Recheck(sim::SimPersist* sim, ReadTree* tree, const Image& demands,
                                  size_t depth, Random* random) {
  std::vector<uint32_t> prefixes;
  if (!tree->AnyPruned(random, &prefixes)) return {};
  ++counts_.rechecked;
  const uint64_t leaves = tree->leaves();
  std::string wrong = CheckPrefixes(sim, prefixes, demands, depth);
  if (wrong.empty()) {
    wrong = tree->Add(prefixes, levels_[depth].tracker->trace(), levels_[depth].outcome);
  }
  if (wrong.empty() && tree->leaves() != leaves) wrong = "it reads what it was not to read";
  return wrong.empty() ? wrong : "an image that was pruned is not like the one it equals: " + wrong;
}

}  // namespace braid::crash
