#include <braid/db.h>

#include <iostream>

int main() {
  auto db = braid::DB::Open({}, "cities.pool");
  if (!db.ok()) {
    std::cerr << db.status().ToString() << "\n";
    return 1;
  }
  braid::WriteBatch batch;
  batch.Put("Lisbon", "Portugal");
  batch.Put("Oslo", "Norway");
  batch.Put("Paris", "France");
  if (!(*db)->Write(batch).ok()) return 1;  // all three are durable now, or none

  auto city = (*db)->NewIterator({});
  for (city->Seek("O"); city->Valid(); city->Next()) {
    std::cout << city->key() << " is in " << city->value() << "\n";
  }
  return city->status().ok() ? 0 : 1;
}
