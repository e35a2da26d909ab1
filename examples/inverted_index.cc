// Finds documents by the words in them.
//
//   inverted_index FOLDER < commands
//
//   add NAME TEXT         keep a document; one of that name is replaced
//   remove NAME           forget it
//   find WORD...          names of the documents that have all the words
//   starts LETTERS        words that start so, and in how many documents each is
//   save, old WORD...     remember this moment; find as of that moment
//
// Keys:   d NAME          the document's text
//         w WORD NAME     how often the word is in the document
// with a zero byte between the parts: the documents of a word lie side by side in the order of
// their names, and so do the words that start alike.
//
// A document and all its words change in one batch, so that a crash leaves no word that leads to
// a document without it, and a search on a snapshot sees none that is half replaced.
#include <braid/db.h>

#include <cctype>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using braid::Status;

const std::string kDocuments{"d\0", 2};
const std::string kWords{"w\0", 2};

std::string WordKey(const std::string& word, const std::string& name) {
  return kWords + word + '\0' + name;
}

// The words of a text in small letters, each with its number.
std::map<std::string, int> WordsOf(std::string_view text) {
  std::map<std::string, int> words;
  std::string word;
  for (const char letter : std::string(text) + ' ') {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
    } else if (!word.empty()) {
      ++words[word];
      word.clear();
    }
  }
  return words;
}

class Index {
 public:
  explicit Index(braid::DB* db) : db_(db) {}

  // Replaces the document `name`; no text removes it.
  Status Set(const std::string& name, const std::string& text) {
    braid::WriteBatch batch;
    std::string old;
    if (Status status = db_->Get(kDocuments + name, &old); status.ok()) {
      for (const auto& [word, count] : WordsOf(old)) batch.Delete(WordKey(word, name));
      batch.Delete(kDocuments + name);
    } else if (!status.IsNotFound()) {
      return status;
    }
    if (!text.empty()) batch.Put(kDocuments + name, text);
    for (const auto& [word, count] : WordsOf(text)) {
      batch.Put(WordKey(word, name), std::to_string(count));  // a later update of a key wins
    }
    return db_->Write(batch);
  }

  // Walks all words' lists together: each is asked to jump to where the last one stood, and where
  // all stand on one name, it has them all.
  Status Find(const std::vector<std::string>& words, const braid::Snapshot* moment) {
    std::vector<std::unique_ptr<braid::Iterator>> lists;
    for (const std::string& word : words) {
      lists.push_back(db_->NewIterator(PrefixOf(WordKey(word, ""), moment)));
    }
    std::string name;
    for (size_t agreed = 0, i = 0; !lists.empty(); i = (i + 1) % lists.size()) {
      lists[i]->Seek(WordKey(words[i], name));
      if (!lists[i]->Valid()) return lists[i]->status();
      const std::string found(lists[i]->key().substr(WordKey(words[i], "").size()));
      agreed = found == name ? agreed + 1 : 1;
      name = found;
      if (agreed < lists.size()) continue;
      std::cout << name << "\n";
      name.push_back('\0');  // the smallest name after this one
      agreed = 0;
    }
    return {};
  }

  // A scan by prefix is two bounds; no option can hide a key from it.
  Status Starts(const std::string& letters) {
    const auto at = db_->NewIterator(PrefixOf(kWords + letters, nullptr));
    std::string word;
    int documents = 0;
    for (at->SeekToFirst();; at->Next()) {
      const bool more = at->Valid();
      const std::string_view key = more ? at->key().substr(kWords.size()) : std::string_view();
      const std::string_view next = key.substr(0, key.find('\0'));
      if ((!more || next != word) && documents > 0) {
        std::cout << word << ": " << documents << "\n";
        documents = 0;
      }
      if (!more) return at->status();
      word = next;
      ++documents;
    }
  }

  Status Run(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::string name;
    words >> verb;
    if (verb == "add" || verb == "remove") {
      std::string text;
      words >> name >> std::ws;
      std::getline(words, text);
      if (!name.empty() && text.empty() == (verb == "remove")) return Set(name, text);
    }
    if (verb == "starts" && words >> name) return Starts(name);
    if (verb == "save") {
      saved_ = db_->GetSnapshot();
      return {};
    }
    if (verb == "find" || (verb == "old" && saved_ != nullptr)) {
      std::vector<std::string> all;
      while (words >> name) all.push_back(name);
      return Find(all, verb == "old" ? saved_.get() : nullptr);
    }
    return Status::InvalidArgument("not understood: " + line);
  }

 private:
  // All keys that start with `prefix`, whose last byte is not 0xFF.
  static braid::ReadOptions PrefixOf(const std::string& prefix, const braid::Snapshot* moment) {
    braid::ReadOptions options;
    options.snapshot = moment;
    options.lower_bound = prefix;
    options.upper_bound = prefix;
    ++options.upper_bound->back();
    return options;
  }

  braid::DB* db_;
  std::shared_ptr<const braid::Snapshot> saved_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: inverted_index FOLDER < commands\n";
    return 2;
  }
  auto opened = braid::DB::Open({}, argv[1]);
  Status status = opened.status();
  if (status.ok()) {
    Index index(opened->get());
    for (std::string line; status.ok() && std::getline(std::cin, line);) {
      if (!line.empty()) status = index.Run(line);
    }
  }
  if (status.ok()) status = (*opened)->Close();
  if (!status.ok()) std::cerr << "inverted_index: " << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}
