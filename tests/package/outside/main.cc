// Uses the whole public C++ surface once: outside <pool directory>.
#include <braid/db.h>
#include <braid/version.h>

#include <cstdio>
#include <string>

namespace {

struct CountUpdates : braid::WriteBatch::Handler {
  void Put(braid::Slice, braid::Slice) override { ++puts; }
  void Delete(braid::Slice) override { ++deletes; }
  void DeleteRange(std::optional<braid::Slice>, std::optional<braid::Slice>) override {}
  int puts = 0;
  int deletes = 0;
};

// Ends the program with the line that went wrong.
int Failed(int line, const braid::Status& status) {
  std::fprintf(stderr, "main.cc:%d: %s\n", line, status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: outside <pool directory>\n");
    return 2;
  }
  braid::Options options;
  if (auto status = options.Validate(); !status.ok()) return Failed(__LINE__, status);
  auto opened = braid::DB::Open(options, argv[1]);
  if (!opened.ok()) return Failed(__LINE__, opened.status());
  auto db = std::move(opened).value();

  braid::WriteBatch batch;
  batch.Put("one", "1");
  batch.Put("two", "2");
  batch.Delete("one");
  CountUpdates counted;
  batch.Iterate(&counted);
  if (counted.puts != 2 || counted.deletes != 1) return Failed(__LINE__, {});
  if (auto status = db->Write(batch); !status.ok()) return Failed(__LINE__, status);
  std::string value;
  if (auto status = db->Get("two", &value); !status.ok()) return Failed(__LINE__, status);
  if (value != "2" || !db->Get("one", &value).IsNotFound()) return Failed(__LINE__, {});

  auto snapshot = db->GetSnapshot();
  if (auto status = db->Put("three", "3"); !status.ok()) return Failed(__LINE__, status);
  braid::ReadOptions read;
  read.snapshot = snapshot.get();
  int seen = 0;
  auto cursor = db->NewIterator(read);
  for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) ++seen;
  if (seen != 1 || !cursor->status().ok()) return Failed(__LINE__, cursor->status());
  cursor.reset();
  snapshot.reset();

  const braid::Statistics statistics = db->GetStatistics();
  if (braid::ListFields(statistics).empty()) return Failed(__LINE__, {});
  if (auto status = db->Close(); !status.ok()) return Failed(__LINE__, status);
  auto facts = braid::DB::Inspect(argv[1]);
  if (!facts.ok()) return Failed(__LINE__, facts.status());
  if (auto status = braid::DB::Destroy(argv[1]); !status.ok()) return Failed(__LINE__, status);
  std::printf("braid %s on %s media\n", BRAID_VERSION_STRING,
              braid::MediaClassName(facts->media_class));
  return 0;
}
