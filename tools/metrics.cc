// braid metrics POOL: the statistics of a pool for Prometheus.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "braid/version.h"
#include "tools/http_server.h"
#include "tools/interrupt.h"
#include "tools/metric_table.h"
#include "tools/pool_flags.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

class MetricsVerb final : public Verb {
 public:
  std::string name() const override { return "metrics"; }
  std::string summary() const override {
    return "print the statistics for Prometheus, or serve them";
  }
  std::string description() const override {
    return "Prints the statistics of a pool in the text exposition format of Prometheus, or serves "
           "them over HTTP. docs/guide/metrics.md describes every metric.";
  }

  void Configure(CLI::App& app) override {
    auto* const pool = app.add_option("POOL", path_, "the pool")->type_name("");
    auto* const listen =
        app.add_option("--listen", listen_,
                       "serve /metrics over HTTP at [HOST:]PORT until Ctrl-C; HOST is 127.0.0.1 "
                       "unless it is given, port 0 a free one")
            ->type_name("ADDRESS");
    app.add_flag("--allow-remote", allow_remote_,
                 "let --listen take an address that other machines can reach; nobody is asked for "
                 "a password")
        ->needs(listen);
    app.add_flag("--markdown", markdown_, "print docs/guide/metrics.md, the table of all metrics")
        ->excludes(pool)
        ->excludes(listen);
    app.footer(
        "A pool is open in one process at a time. Where that process was started with\n"
        "--publish-stats, its numbers are printed. A pool that no process has open is opened for\n"
        "it, and its sizes are printed; --listen never opens a pool, and says braid_up 0 then.\n"
        "\n"
        "Example: braid metrics POOL --listen 9100");
  }

  int Run() override {
    if (markdown_) {
      Output out;
      out.Write(MetricsPage());
      return out.Finish(kExitOk);
    }
    if (path_.empty()) return Fail("no POOL: see 'braid metrics --help'");
    return listen_.empty() ? PrintOnce() : Serve();
  }

 private:
  int FailInspect(const Status& status) const {
    if (!status.IsNotFound()) return Fail(status);
    return Fail(fmt::format("no pool at '{}': check the path", path_));
  }

  int PrintOnce() const {
    StatsSnapshot snapshot;
    std::string why;
    const Seen seen = ReadStatsFile(path_, &snapshot, &why);
    if (seen != Seen::kSnapshot) {
      Result<PoolInfo> info = DB::Inspect(path_);
      if (!info.ok()) return FailInspect(info.status());
      if (info->in_use) {
        return Fail(fmt::format(
            "another process has the pool open and does not tell what it does{}: start it with "
            "--publish-stats",
            why.empty() || seen == Seen::kNoFile ? "" : " (" + why + ")"));
      }
      if (const Status status = OpenAndLook(info->design, &snapshot); !status.ok()) {
        return Fail(status);
      }
    }
    Output out;
    out.Write(Text(&snapshot));
    return out.Finish(kExitOk);
  }

  Status OpenAndLook(const std::string& design, StatsSnapshot* snapshot) const {
    Options options;
    options.design = design;
    options.create_if_missing = false;
    Result<PoolInfo> info = DB::Inspect(path_);
    const bool in_byte_order = !info.ok() || info->comparator == kBytewiseOrder;
    auto opened = in_byte_order ? DB::Open(options, path_) : OpenAsItIs(options, path_);
    if (!opened.ok()) return opened.status();
    *snapshot = MakeSnapshot((*opened)->GetStatistics());
    return (*opened)->Close();
  }

  int Serve() const {
    // What is no pool now is a slip of the pen, more likely than one that is still to come.
    Result<PoolInfo> info = DB::Inspect(path_);
    if (!info.ok()) return FailInspect(info.status());
    auto server = HttpServer::Listen(listen_, allow_remote_);
    if (!server.ok()) return Fail(server.status());
    StopOnSignal();
    Output out;
    out.WriteLine(fmt::format("serving http://{}/metrics", (*server)->address()));
    if (const int exit_code = out.Finish(kExitOk); exit_code != kExitOk) return exit_code;
    const Status status = (*server)->Serve([this] {
      StatsSnapshot snapshot;
      std::string why;
      const bool seen = ReadStatsFile(path_, &snapshot, &why) == Seen::kSnapshot;
      return Text(seen ? &snapshot : nullptr);
    });
    return status.ok() ? kExitOk : Fail(status);
  }

  std::string Text(const StatsSnapshot* snapshot) const {
    MetricsSource source;
    source.pool = path_;
    source.snapshot = snapshot;
    // Works while another process has the pool open.
    if (Result<PoolInfo> info = DB::Inspect(path_); info.ok()) {
      source.facts = {{"design", info->design},
                      {"media_class", MediaClassName(info->media_class)},
                      {"format", std::to_string(info->format_version)},
                      {"version", BRAID_VERSION_STRING}};
    }
    return MetricsText(source);
  }

  std::string path_;
  std::string listen_;
  bool allow_remote_ = false;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeMetricsVerb() { return std::make_unique<MetricsVerb>(); }

}  // namespace braid::tools
