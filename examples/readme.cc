#include <braid/db.h>

#include <iostream>

int main() {
  auto db = braid::DB::Open({}, "cities.pool");
  braid::WriteBatch batch;
  batch.Put("Oslo", "Norway");
  batch.Put("Paris", "France");
  if (!db.ok() || !(*db)->Write(batch).ok()) return 1;  // both are stored, or neither
  auto city = (*db)->NewIterator({});
  for (city->SeekToFirst(); city->Valid(); city->Next()) {
    std::cout << city->key() << " is in " << city->value() << "\n";
  }
  return city->status().ok() ? 0 : 1;
}
