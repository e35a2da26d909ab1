// braid-engine-probe: a fixed number of puts and gets on one store, and nothing else: no checks of
// values, no clock, no threads. It runs under an instrumenting tool, which counts what they touch.
// Without a store (--engine=none) it touches what its own loops touch. It ends without closing the
// store: what closing writes grows with the store, and is no part of a put.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "bench/engines/engines.h"
#include "bench/harness/keys.h"
#include "src/base/random.h"

namespace braid::figures {
namespace {

struct Probe {
  std::string engine = "braid";
  std::string directory;
  bench::EngineConfig config;
  uint64_t puts = 0;
  uint64_t gets = 0;
  uint64_t seed = 1;
};

/// Keeps nothing.
class NoSession : public bench::KvSession {
 public:
  Status Put(std::string_view, std::string_view) override { return Status::OK(); }
  Status Get(std::string_view, std::string*) override { return Status::OK(); }
  Status Delete(std::string_view) override { return Status::OK(); }
  Status Write(const std::vector<bench::BatchUpdate>&) override { return Status::OK(); }
  Status Scan(const bench::ScanRange&, const bench::ScanVisitor&) override { return Status::OK(); }
};

/// The same for a store and for none.
Status PutAndGet(const Probe& probe, bench::KvSession* session) {
  const bench::KeyMaker keys(8, true);
  bench::KeyBuffer key(keys);
  const bench::Permutation order(std::max<uint64_t>(probe.puts, 1), probe.seed);
  for (uint64_t i = 0; i < probe.puts; ++i) {
    const std::string_view bytes = key.Key(order(i));
    if (const Status s = session->Put(bytes, bytes); !s.ok()) return s;
  }
  Random random(probe.seed);
  std::string value;
  uint64_t found = 0;
  for (uint64_t i = 0; i < probe.gets; ++i) {
    const std::string_view bytes = key.Key(random.Uniform(probe.puts));
    const Status s = session->Get(bytes, &value);
    if (!s.ok() && !s.IsNotFound()) return s;
    found += s.ok() && value == bytes ? 1 : 0;
  }
  fmt::print("found {}\n", found);
  return Status::OK();
}

Status RunProbe(const Probe& probe) {
  if (probe.engine == "none") {
    NoSession session;
    return PutAndGet(probe, &session);
  }
  const std::unique_ptr<bench::KvEngine> engine = bench::MakeEngine(probe.engine);
  if (engine == nullptr) return Status::InvalidArgument("no store named " + probe.engine);
  bench::EngineConfig config = probe.config;
  config.directory = probe.directory;
  config.key_size = config.value_size = 8;
  config.expected_records = probe.puts;
  config.force_media_class = MediaClass::kCacheLine;
  if (const Status s = engine->Open(config); !s.ok()) return s;
  const std::unique_ptr<bench::KvSession> session = engine->NewSession();
  const Status status = PutAndGet(probe, session.get());
  if (!status.ok()) return status;
  std::fflush(nullptr);
  std::_Exit(0);
}

int Main(int argc, char** argv) {
  Probe probe;
  CLI::App app("Puts and gets on one store, for tools that count.", "braid-engine-probe");
  app.add_option("--engine", probe.engine, "Which store")->capture_default_str();
  app.add_option("--design", probe.config.design, "braid's design")->capture_default_str();
  app.add_option("--set", probe.config.settings, "Options of braid, NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--dir", probe.directory, "An empty folder for the data")->required();
  app.add_option("--puts", probe.puts, "Records, each put once")->capture_default_str();
  app.add_option("--gets", probe.gets, "Gets of records, chosen uniformly")->capture_default_str();
  app.add_option("--seed", probe.seed, "Of order and choices")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (probe.gets > 0 && probe.puts == 0) {
    fmt::print(stderr, "braid-engine-probe: --gets needs --puts\n");
    return 2;
  }
  const Status status = RunProbe(probe);
  if (status.ok()) return 0;
  fmt::print(stderr, "braid-engine-probe: {}\n", status.ToString());
  return 2;
}

}  // namespace
}  // namespace braid::figures

int main(int argc, char** argv) { return braid::figures::Main(argc, argv); }
