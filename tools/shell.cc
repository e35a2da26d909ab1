// braid shell POOL: verbs typed one after the other on a pool that stays open.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/key_range_flags.h"
#include "tools/line_editor.h"
#include "tools/pool_flags.h"
#include "tools/record_text.h"
#include "tools/shell_words.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

// What a scan shows on a terminal without --limit.
constexpr uint64_t kScreenRecords = 100;
// Keys that a second Tab lists.
constexpr size_t kListedKeys = 20;

volatile std::sig_atomic_t interrupted = 0;
extern "C" void NoteInterrupt(int) { interrupted = 1; }

struct Command {
  const char* name;
  const char* arguments;
  const char* help;
  bool takes_key;  ///< its first argument is a key or the start of one
};

constexpr Command kCommands[] = {
    {"get", "KEY", "print the value of a key", true},
    {"put", "KEY VALUE", "store a value", true},
    {"delete", "KEY", "remove a key", true},
    {"scan", "[PREFIX]", "print records; --from, --to, --limit, --reverse, --keys-only", true},
    {"count", "[PREFIX]", "count keys; --from, --to", true},
    {"stat", "[FIELD]", "print the statistics of the store since it was opened", false},
    {"begin", "", "gather puts and deletes from here on", false},
    {"write", "", "store what was gathered: all of it or nothing", false},
    {"abort", "", "forget what was gathered", false},
    {"hex", "on|off", "keys and values are hex digits", false},
    {"help", "", "print this list", false},
    {"quit", "", "close the pool and leave; Ctrl-D does, too", false},
};

/// What `scan` and `count` look at.
struct ScanArguments {
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::optional<std::string> prefix;
  std::optional<uint64_t> limit;
  bool reverse = false;
  bool keys_only = false;
};

std::string CommonStart(std::string_view a, std::string_view b) {
  const auto [end, ignored] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return {a.begin(), end};
}

class Shell {
 public:
  /// `order`: of the keys; null: bytes.
  Shell(DB* db, std::shared_ptr<const KeyOrder> order, bool terminal)
      : db_(db), order_(std::move(order)), terminal_(terminal) {}

  /// Runs line `number`. False when it was the last one.
  bool Run(const std::string& line, uint64_t number);
  Completion Complete(std::string_view line) const;
  std::string Prompt() const {
    return batch_ ? fmt::format("braid ({})> ", batch_->Count()) : "braid> ";
  }
  int exit_code() const { return exit_code_; }
  /// Updates that were gathered and not written.
  uint64_t unwritten() const { return batch_ ? batch_->Count() : 0; }

 private:
  using Words = std::vector<Word>;

  Status Do(const std::string& command, const Words& words);
  Status Bytes(const Words& words, size_t index, std::string* bytes) const;
  Status Get(const Words& words);
  Status Update(const Words& words, bool put);
  Status Scan(const Words& words, bool count);
  Status ParseScan(const Words& words, ScanArguments* arguments) const;
  Status Stat(const Words& words);
  Status Batch(const std::string& command);
  void Help();
  Completion CompleteKey(const Word& word) const;

  DB* const db_;
  const std::shared_ptr<const KeyOrder> order_;
  const bool terminal_;
  std::optional<WriteBatch> batch_;
  bool hex_ = false;
  int exit_code_ = kExitOk;
  Output out_;
};

Status Expect(const std::vector<Word>& words, size_t least, size_t most, const char* usage) {
  if (words.size() - 1 >= least && words.size() - 1 <= most) return Status::OK();
  return Status::InvalidArgument(
      fmt::format("write '{}'; put a word with blanks in double quotes", usage));
}

bool Shell::Run(const std::string& line, uint64_t number) {
  const Words words = SplitWords(line);
  if (words.empty() || words[0].text.front() == '#') return true;
  const std::string& command = words[0].text;
  if (command == "quit" || command == "exit") return false;
  interrupted = 0;
  const Status status = Do(command, words);
  if (out_.Finish(kExitOk) != kExitOk) exit_code_ = kExitError;
  if (status.ok()) return true;
  if (status.IsNotFound()) {
    std::fprintf(stderr, "braid: %s\n", EscapeForTerminal(status.message()).c_str());
    if (exit_code_ == kExitOk) exit_code_ = kExitNotFound;
    return true;
  }
  if (terminal_) {
    Fail(status);
    return true;
  }
  // A person sees the message and goes on; a script must not.
  const std::string full = status.ToString();
  exit_code_ =
      Fail(fmt::format("line {} of the input: {}; the lines before it are done", number,
                       status.IsInvalidArgument() ? status.message() : std::string_view(full)));
  return false;
}

Status Shell::Do(const std::string& command, const Words& words) {
  if (command == "get") return Get(words);
  if (command == "put") return Update(words, true);
  if (command == "delete") return Update(words, false);
  if (command == "scan") return Scan(words, false);
  if (command == "count") return Scan(words, true);
  if (command == "stat") return Stat(words);
  if (command == "begin" || command == "write" || command == "abort") {
    if (Status status = Expect(words, 0, 0, command.c_str()); !status.ok()) return status;
    return Batch(command);
  }
  if (command == "hex") {
    const bool on = words.size() == 2 && words[1].text == "on";
    const bool off = words.size() == 2 && words[1].text == "off";
    if (!on && !off) return Status::InvalidArgument("write 'hex on' or 'hex off'");
    hex_ = on;
    return Status::OK();
  }
  if (command == "help") {
    Help();
    return Status::OK();
  }
  return Status::InvalidArgument(
      fmt::format("unknown command '{}': 'help' lists the commands", command));
}

Status Shell::Bytes(const Words& words, size_t index, std::string* bytes) const {
  return WordBytes(words[index], hex_, bytes);
}

Status Shell::Get(const Words& words) {
  if (Status status = Expect(words, 1, 1, "get KEY"); !status.ok()) return status;
  std::string key;
  if (Status status = Bytes(words, 1, &key); !status.ok()) return status;
  std::string value;
  const Status status = db_->Get(key, &value);
  if (status.IsNotFound()) {
    return Status::NotFound(fmt::format("no key '{}'", hex_ ? EncodeHex(key) : EscapeText(key)));
  }
  if (!status.ok()) return status;
  out_.WriteLine(hex_ ? EncodeHex(value) : terminal_ ? EscapeForTerminal(value) : value);
  return Status::OK();
}

Status Shell::Update(const Words& words, bool put) {
  const Status fits =
      put ? Expect(words, 2, 2, "put KEY VALUE") : Expect(words, 1, 1, "delete KEY");
  if (!fits.ok()) return fits;
  std::string key;
  std::string value;
  if (Status status = Bytes(words, 1, &key); !status.ok()) return status;
  if (put) {
    if (Status status = Bytes(words, 2, &value); !status.ok()) return status;
  }
  if (!batch_) return put ? db_->Put(key, value) : db_->Delete(key);
  if (put) {
    batch_->Put(key, value);
  } else {
    batch_->Delete(key);
  }
  return Status::OK();
}

Status Shell::ParseScan(const Words& words, ScanArguments* arguments) const {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& name = words[i].text;
    const bool named = !words[i].quoted && name.starts_with("--");
    if (named && name == "--reverse") {
      arguments->reverse = true;
      continue;
    }
    if (named && name == "--keys-only") {
      arguments->keys_only = true;
      continue;
    }
    const bool bound = name == "--from" || name == "--to" || name == "--prefix";
    if (named && !bound && name != "--limit") {
      return Status::InvalidArgument(
          fmt::format("unknown option '{}': there are --from, --to, --prefix, --limit, --reverse "
                      "and --keys-only; put a key that starts with -- in double quotes",
                      name));
    }
    if (named && ++i == words.size()) {
      return Status::InvalidArgument(fmt::format("'{}' needs a value behind it", name));
    }
    if (named && name == "--limit") {
      arguments->limit = ParseSize(words[i].text);
      if (arguments->limit) continue;
      return Status::InvalidArgument(fmt::format("'{}' is no number of records", words[i].text));
    }
    std::string bytes;
    if (Status status = Bytes(words, i, &bytes); !status.ok()) return status;
    std::optional<std::string>* const place =
        !named || name == "--prefix" ? &arguments->prefix
                                     : (name == "--from" ? &arguments->from : &arguments->to);
    if (*place) return Status::InvalidArgument("a bound is given twice: leave one of them out");
    *place = std::move(bytes);
  }
  return Status::OK();
}

Status Shell::Scan(const Words& words, bool count) {
  ScanArguments arguments;
  if (Status status = ParseScan(words, &arguments); !status.ok()) return status;
  if (arguments.prefix) {
    if (Status status = CheckPrefix(order_.get()); !status.ok()) return status;
  }
  const KeyRange range = RangeOf(arguments.from, arguments.to, arguments.prefix, order_.get());
  uint64_t records = 0;
  const bool on_screen = terminal_ && !count && !arguments.limit;
  const uint64_t limit =
      on_screen ? kScreenRecords : arguments.limit.value_or(std::numeric_limits<uint64_t>::max());
  const std::unique_ptr<Iterator> it = db_->NewIterator(range.options);
  const RecordStyle style{.hex = hex_, .keys_only = arguments.keys_only};
  std::string line;
  if (!range.empty && arguments.reverse) it->SeekToLast();
  if (!range.empty && !arguments.reverse) it->SeekToFirst();
  while (it->Valid() && records < limit) {
    if (interrupted != 0) {
      out_.Finish(kExitOk);
      return Status::Aborted(fmt::format("stopped after {}", Counted(records, "record")));
    }
    ++records;
    if (!count) {
      line.clear();
      AppendRecordLine(it->key(), it->value(), style, &line);
      if (!out_.Write(line)) break;
    }
    if (arguments.reverse) {
      it->Prev();
    } else {
      it->Next();
    }
  }
  if (!it->status().ok()) return it->status();
  if (count) out_.WriteLine(std::to_string(records));
  if (on_screen && it->Valid()) {
    out_.WriteLine(fmt::format("... the first {}; --limit N shows more", records));
  }
  return Status::OK();
}

Status Shell::Stat(const Words& words) {
  if (Status status = Expect(words, 0, 1, "stat [FIELD]"); !status.ok()) return status;
  bool found = false;
  for (const StatisticsField& field : ListFields(db_->GetStatistics())) {
    const bool named = words.size() == 2;
    if (named ? words[1].text != field.name : field.value == 0) continue;
    found = true;
    out_.WriteLine(named ? std::to_string(field.value)
                         : fmt::format("{:<23}{}", field.name, GroupDigits(field.value)));
  }
  if (found || words.size() == 1) return Status::OK();
  return Status::InvalidArgument(
      fmt::format("unknown field '{}': 'stat' lists those that are not 0", words[1].text));
}

Status Shell::Batch(const std::string& command) {
  if (command == "begin") {
    if (batch_) return Status::InvalidArgument("a batch has begun: 'write' or 'abort' ends it");
    batch_.emplace();
    return Status::OK();
  }
  if (!batch_) return Status::InvalidArgument("no batch has begun: write 'begin' first");
  if (command == "write") {
    if (Status status = db_->Write(*batch_); !status.ok()) return status;
  }
  batch_.reset();
  return Status::OK();
}

void Shell::Help() {
  for (const Command& command : kCommands) {
    out_.WriteLine(fmt::format("  {:<18}{}", fmt::format("{} {}", command.name, command.arguments),
                               command.help));
  }
  out_.Write(
      "\n"
      "Put a word with blanks in double quotes, with \\\" for a quote; \\t \\n \\r \\\\ and\n"
      "\\xHH are bytes. What was gathered since 'begin' is not seen before 'write'.\n");
}

Completion Shell::Complete(std::string_view line) const {
  Words words = SplitWords(line);
  const bool fresh = words.empty() || !words.back().open;
  if (fresh) words.push_back({.text = "", .begin = line.size(), .quoted = false, .open = true});
  const Word& word = words.back();
  if (words.size() == 1) {
    Completion completion{.replacement = {}, .begin = word.begin, .choices = {}, .more = false};
    for (const Command& command : kCommands) {
      if (std::string_view(command.name).starts_with(word.text)) {
        completion.choices.emplace_back(command.name);
      }
    }
    if (completion.choices.size() == 1) {
      completion.replacement = completion.choices[0] + " ";
    } else if (!completion.choices.empty()) {
      completion.replacement = completion.choices.front();
      for (const std::string& choice : completion.choices) {
        completion.replacement = CommonStart(completion.replacement, choice);
      }
    }
    return completion;
  }
  const auto* const command =
      std::find_if(std::begin(kCommands), std::end(kCommands),
                   [&](const Command& candidate) { return words[0].text == candidate.name; });
  const bool option_value = words.size() > 2 && (words[words.size() - 2].text == "--from" ||
                                                 words[words.size() - 2].text == "--to" ||
                                                 words[words.size() - 2].text == "--prefix");
  if (command == std::end(kCommands) || !command->takes_key ||
      (words.size() != 2 && !option_value)) {
    return {.replacement = {}, .begin = word.begin, .choices = {}, .more = false};
  }
  return CompleteKey(word);
}

Completion Shell::CompleteKey(const Word& word) const {
  Completion completion{.replacement = {}, .begin = word.begin, .choices = {}, .more = false};
  std::string start;
  Word closed = word;
  closed.open = false;
  if (!CheckPrefix(order_.get()).ok()) return completion;
  if (!WordBytes(closed, hex_, &start).ok()) return completion;
  const KeyRange range = RangeOf(std::nullopt, std::nullopt, start);
  // All keys between the first and the last share what these two share: two seeks find it, however
  // many there are.
  const std::unique_ptr<Iterator> it = db_->NewIterator(range.options);
  it->SeekToLast();
  if (!it->Valid()) return completion;
  const std::string last(it->key());
  it->SeekToFirst();
  if (!it->Valid()) return completion;
  const std::string first(it->key());
  const bool only = first == last;
  completion.replacement = QuoteWord(CommonStart(first, last), hex_, only) + (only ? " " : "");
  for (; it->Valid() && completion.choices.size() < kListedKeys; it->Next()) {
    completion.choices.push_back(QuoteWord(it->key(), hex_, true));
  }
  completion.more = it->Valid();
  return completion;
}

class ShellVerb final : public Verb {
 public:
  std::string name() const override { return "shell"; }
  std::string summary() const override { return "type commands on a pool that stays open"; }
  std::string description() const override {
    return "Opens a pool and takes commands, typed on a terminal or line by line from a pipe, "
           "until the end of the input. The pool stays open in between, so that many small "
           "commands cost one open.";
  }
  std::string exit_code_one() const override { return "A key that was asked for is not there."; }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_flag("--no-history", no_history_, "neither read nor keep the history of lines");
    std::string commands = "Commands:\n";
    for (const Command& command : kCommands) {
      commands += fmt::format("  {:<18}{}\n", fmt::format("{} {}", command.name, command.arguments),
                              command.help);
    }
    app.footer(
        commands +
        "\n"
        "Put a word with blanks in double quotes, with \\\" for a quote; \\t \\n \\r \\\\ and\n"
        "\\xHH are bytes. On a terminal Tab completes commands and keys, and lines are kept\n"
        "in $XDG_STATE_HOME/braid/history, or ~/.local/state/braid/history. From a pipe the\n"
        "first error ends it with exit code 2.\n"
        "\n"
        "Example: echo 'put a 1' | braid shell POOL");
  }

  int Run() override {
    auto opened = pool_.OpenExisting();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
    struct sigaction action {};
    action.sa_handler = NoteInterrupt;  // no SA_RESTART: a read that waits must end
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    Shell shell(&db, pool_.KeyOrderOfPool(), terminal);
    EditorSettings settings;
    settings.terminal = terminal;
    if (!no_history_) settings.history_path = HistoryPath();
    settings.complete = [&shell](std::string_view line) { return shell.Complete(line); };
    const std::unique_ptr<LineEditor> editor = MakeLineEditor(settings);
    if (terminal) {
      Output out;
      out.WriteLine(fmt::format("braid {}: 'help' lists the commands, Ctrl-D leaves",
                                EscapeForTerminal(pool_.path())));
      out.Finish(kExitOk);
    }
    uint64_t number = 0;
    while (const std::optional<std::string> line = editor->Read(shell.Prompt())) {
      if (!shell.Run(*line, ++number)) break;
    }
    int exit_code = shell.exit_code();
    if (exit_code != kExitError && shell.unwritten() > 0) {
      exit_code =
          Fail(fmt::format("{} gathered since 'begin' and not written: end a batch with "
                           "'write'",
                           Counted(shell.unwritten(), "update")));
    }
    return CloseAndReturn(db, exit_code);
  }

 private:
  PoolFlags pool_;
  bool no_history_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeShellVerb() { return std::make_unique<ShellVerb>(); }

}  // namespace braid::tools
