// A catalogue of files, in the order in which people expect their names: "part 9" before "part 10",
// "Album" beside "album". The order is a function of two keys, as LevelDB has them. Folders are
// removed as a whole, with what they contain and the note of it, in one step: a range delete in a
// batch, which a crash or a reader finds done or not begun.
//
//   file_catalog FOLDER < commands
//
//   add NAME BYTES        note a file; NAME is FOLDER/FILE, without blanks
//   list FOLDER           show its files, those of folders in it too, in order
//   remove FOLDER         forget the folder's files, and keep a note of when: how many there were
//   rename FOLDER NEW     move the folder: all its files, or none
//   removed               show the notes
#include <braid/comparator.h>
#include <braid/db.h>

#include <cctype>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

namespace {

using braid::Slice;
using braid::Status;

// Numbers by their value, letters without regard to case. What compares as equal is one key: "A"
// and "a" are the same file, but "a01" and "a1" are two, with nothing in between.
class ByNameAndNumber final : public braid::Comparator {
 public:
  std::string_view Name() const override { return "file_catalog.1"; }

  int Compare(Slice a, Slice b) const override {
    size_t i = 0;
    size_t j = 0;
    while (i < a.size() && j < b.size()) {
      if (IsDigit(a[i]) && IsDigit(b[j])) {
        const Slice x = TakeNumber(a, &i);
        const Slice y = TakeNumber(b, &j);
        if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
        if (const int order = x.compare(y); order != 0) return order;
        continue;
      }
      if (const int order = Lower(a[i++]) - Lower(b[j++]); order != 0) return order;
    }
    if (i < a.size() || j < b.size()) return i < a.size() ? 1 : -1;
    // They differ in zeros in front of numbers, and in case, at most.
    for (i = 0; i < a.size() && i < b.size(); ++i) {
      if (const int order = Lower(a[i]) - Lower(b[i]); order != 0) return order;
    }
    return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
  }

 private:
  static int Lower(char c) { return std::tolower(static_cast<unsigned char>(c)); }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  // The digits at `*at`, without zeros in front.
  static Slice TakeNumber(Slice text, size_t* at) {
    while (*at < text.size() && text[*at] == '0') ++*at;
    const size_t begin = *at;
    while (*at < text.size() && IsDigit(text[*at])) ++*at;
    return text.substr(begin, *at - begin);
  }
};

// Keys of notes come before those of files, whose first letter is no '!'.
const std::string kNotes = "!removed/";

// All names that begin with "music/" come before this: no text has such a byte.
std::string EndOf(const std::string& folder) { return folder + "/\xff"; }

void Fail(const Status& status) { std::cerr << "file_catalog: " << status.ToString() << "\n"; }

class Catalog {
 public:
  explicit Catalog(std::unique_ptr<braid::DB> db) : db_(std::move(db)) {}

  Status Add(const std::string& name, const std::string& bytes) { return db_->Put(name, bytes); }

  template <class Show>
  Status ForEach(const std::string& folder, Show&& show) {
    braid::ReadOptions options;
    options.lower_bound = folder + "/";
    options.upper_bound = EndOf(folder);
    const std::unique_ptr<braid::Iterator> files = db_->NewIterator(options);
    for (files->SeekToFirst(); files->Valid(); files->Next()) show(files->key(), files->value());
    return files->status();
  }

  Status Remove(const std::string& folder) {
    size_t count = 0;
    if (Status s = ForEach(folder, [&](Slice, Slice) { ++count; }); !s.ok()) return s;
    braid::WriteBatch batch;
    batch.DeleteRange(folder + "/", EndOf(folder));
    batch.Put(kNotes + folder, std::to_string(count));
    return db_->Write(batch);
  }

  Status Rename(const std::string& from, const std::string& to) {
    braid::WriteBatch batch;
    batch.DeleteRange(from + "/", EndOf(from));
    Status s = ForEach(from, [&](Slice name, Slice bytes) {
      batch.Put(to + std::string(name.substr(from.size())), bytes);
    });
    return s.ok() ? db_->Write(batch) : s;
  }

 private:
  std::unique_ptr<braid::DB> db_;
};

Status Run(Catalog* catalog, std::istringstream* words) {
  std::string command;
  std::string first;
  std::string second;
  *words >> command >> first >> second;
  const auto show = [](Slice name, Slice bytes) { std::cout << name << " " << bytes << "\n"; };
  if (command == "add" && !second.empty() && first[0] != '!') return catalog->Add(first, second);
  if (command == "list" && second.empty() && !first.empty()) return catalog->ForEach(first, show);
  if (command == "remove" && second.empty() && !first.empty()) return catalog->Remove(first);
  if (command == "rename" && !second.empty()) return catalog->Rename(first, second);
  if (command == "removed" && first.empty()) {
    return catalog->ForEach(
        "!removed", [&](Slice note, Slice count) { show(note.substr(kNotes.size()), count); });
  }
  return Status::InvalidArgument("no command: " + words->str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: file_catalog FOLDER < commands\n";
    return 2;
  }
  auto db = braid::DB::OpenWithComparator({}, argv[1], std::make_shared<ByNameAndNumber>());
  if (!db.ok()) {
    Fail(db.status());
    return 1;
  }
  Catalog catalog(std::move(*db));
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    if (const Status status = Run(&catalog, &words); !status.ok()) {
      Fail(status);
      return 1;
    }
  }
  return 0;
}
