// Looks at all that an open pool shows: right answers, errors that say where, and what was wrong in
// silence.
#pragma once

#include <regex>
#include <string>

#include "pool_states.h"
#include "support/child_process.h"

namespace braid::test {

/// For the child of a trial.
inline constexpr unsigned kAlarmSeconds = kSanitizer ? 120 : 20;

/// What a trial came to; the child's exit code.
enum Verdict : int {
  kAllRight = 0,
  kOpenFailed = 10,    ///< the open told of it
  kError = 11,         ///< verify or a read told of it
  kSilent = 20,        ///< a wrong answer without an error
  kSilentRead = 21,    ///< the same, but verify told
  kVerifyMissed = 22,  ///< a read told of it, but not verify
  kBadMessage = 23,    ///< an error that does not name file, offset and object
};

/// "segment-000001+0x1f0: object: what is wrong with it", with any folder before it.
inline bool NamesPlaceAndObject(const std::string& message) {
  static const std::regex kForm("segment-[0-9]{6}\\+0x[0-9a-f]+: [^:]+: .+");
  return std::regex_search(message, kForm);
}

/// Reads everything through one open database and notes errors and silent faults.
class Examiner {
 public:
  Examiner(const BuiltPool& pool, DB* db) : pool_(pool), db_(db) {}

  void Run() {
    VerifyReport report;
    verified_ = db_->Verify(&report);
    Note(verified_, "verify");
    for (const std::string& problem : report.problems) CheckMessage(problem);
    Scan(true);
    Scan(false);
    for (const auto& [key, value] : pool_.content) Get(key, &value);
    for (const auto& [key, unused] : pool_.deleted) Get(key, nullptr);
    if (verified_.ok() && !read_error_.empty()) {
      verify_missed_ = "verify found nothing, but " + read_error_;
    }
  }
  const std::string& silent() const { return silent_; }
  const std::string& error() const { return error_; }
  const std::string& verify_missed() const { return verify_missed_; }
  const std::string& bad_message() const { return bad_message_; }
  bool verified() const { return verified_.ok(); }

 private:
  void CheckMessage(const std::string& message) {
    if (bad_message_.empty() && !NamesPlaceAndObject(message)) bad_message_ = message;
  }
  void Note(const Status& status, const std::string& what) {
    if (status.ok()) return;
    if (status.message().empty()) Silent(what + ": an error without a message");
    if (status.IsCorruption()) CheckMessage(std::string(status.message()));
    if (error_.empty()) error_ = what + ": " + status.ToString();
  }
  void ReadError(const Status& status, const std::string& what) {
    Note(status, what);
    if (read_error_.empty()) read_error_ = what + ": " + status.ToString();
  }
  void Silent(const std::string& what) {
    if (silent_.empty()) silent_ = what;
  }

  void Get(const std::string& key, const std::string* expected) {
    std::string value;
    const Status status = db_->Get(key, &value);
    if (status.ok()) {
      if (expected == nullptr) Silent("get " + key + ": a deleted key is back");
      if (expected != nullptr && value != *expected) {
        Silent("get " + key + ": " + Printable(value) + ", expected " + Printable(*expected));
      }
    } else if (status.IsNotFound()) {
      if (expected != nullptr) Silent("get " + key + ": missing without an error");
    } else {
      ReadError(status, "get " + key);
    }
  }

  /// What is shown must be right and in order; only an error excuses what is not shown.
  void Scan(bool forward) {
    const std::string what = forward ? "forward scan" : "backward scan";
    const auto it = db_->NewIterator({});
    size_t shown = 0;
    std::string last;
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         forward ? it->Next() : it->Prev()) {
      const std::string key(it->key());
      const auto expected = pool_.content.find(key);
      if (expected == pool_.content.end() || expected->second != it->value()) {
        Silent(what + " shows " + Printable(key) + " = " + Printable(it->value()));
        return;
      }
      if (shown > 0 && (forward ? key <= last : key >= last)) {
        Silent(what + " shows " + Printable(key) + " after " + Printable(last));
        return;
      }
      last = key;
      ++shown;
    }
    const Status status = it->status();
    if (!status.ok()) {
      ReadError(status, what);
    } else if (shown != pool_.content.size()) {
      Silent(what + " ends after " + std::to_string(shown) + " of " +
             std::to_string(pool_.content.size()) + " keys without an error");
    }
  }

  const BuiltPool& pool_;
  DB* db_;
  Status verified_;
  std::string error_;
  std::string read_error_;
  std::string silent_;
  std::string verify_missed_;
  std::string bad_message_;
};

/// One open with everything read. An open that fails is an answer; an empty database is not.
inline int Examine(const BuiltPool& pool, const Options& options, const std::string& path, int fd) {
  Result<std::unique_ptr<DB>> opened = DB::Open(options, path);
  if (!opened.ok()) {
    const Status& status = opened.status();
    SayTo(fd, "open: " + status.ToString());
    if (status.message().empty()) return kSilent;
    const bool clear = !status.IsCorruption() || NamesPlaceAndObject(std::string(status.message()));
    return clear ? kOpenFailed : kBadMessage;
  }
  Examiner examiner(pool, opened.value().get());
  examiner.Run();
  const Status closed = opened.value()->Close();
  const auto say = [fd](const std::string& text, Verdict verdict) {
    SayTo(fd, text);
    return verdict;
  };
  if (!examiner.silent().empty()) {
    return say(examiner.silent(), examiner.verified() ? kSilent : kSilentRead);
  }
  if (!examiner.verify_missed().empty()) return say(examiner.verify_missed(), kVerifyMissed);
  if (!examiner.bad_message().empty()) return say(examiner.bad_message(), kBadMessage);
  if (!examiner.error().empty()) return say(examiner.error(), kError);
  if (!closed.ok()) return say("close: " + closed.ToString(), kError);
  return kAllRight;
}

}  // namespace braid::test
