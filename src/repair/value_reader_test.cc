// Values of a damaged pool: which are intact.
#include "repair/value_reader.h"

#include <gtest/gtest.h>

#include "support/pool_of_bytes.h"

namespace braid::repair {
namespace {

using format::EntryHeader;
using format::ExtentRef;
using test::PoolOfBytes;

class ValueReaderTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kEntries = PoolOfBytes::kFirstChunk * PoolOfBytes::kChunkBytes;
  static constexpr uint64_t kExtent = kEntries + PoolOfBytes::kChunkBytes;

  /// An extent's bytes; its header is not needed.
  ExtentRef Extent(uint64_t offset, const std::string& value) {
    std::memcpy(bytes_.As<char>(offset + sizeof(format::ExtentHeader)), value.data(), value.size());
    return {offset, value.size(), base::Hash64(value)};
  }
  uint64_t Put(std::string_view value, uint8_t flags = 0) {
    const uint64_t offset = next_;
    bytes_.SetEntry(offset, "key", value, 1, 1, flags);
    next_ += bytes_.As<EntryHeader>(offset)->size();
    return offset;
  }
  uint64_t PutExtent(const ExtentRef& ref) {
    return Put({reinterpret_cast<const char*>(&ref), sizeof ref}, format::kValueInExtent);
  }
  void Open() {
    pool_ = bytes_.Open();
    values_ = std::make_unique<ValueReader>(pool_->image());
  }
  bool IsIntact(uint64_t entry, bool live = true) {
    return values_->IsIntact(*pool_->EntryAt(entry), live);
  }
  std::string_view ValueOf(uint64_t entry) { return values_->ValueOf(*pool_->EntryAt(entry)); }

  PoolOfBytes bytes_;
  uint64_t next_ = kEntries;
  std::unique_ptr<DamagedPool> pool_;
  std::unique_ptr<ValueReader> values_;
};

TEST_F(ValueReaderTest, AValueInItsEntryIsIntactUntilOneBitIsNot) {
  const uint64_t sound = Put("value");
  const uint64_t damaged = Put("value");
  const_cast<char*>(bytes_.As<EntryHeader>(damaged)->value().data())[4] ^= 1;
  Open();
  EXPECT_TRUE(IsIntact(sound));
  EXPECT_EQ(ValueOf(sound), "value");
  EXPECT_FALSE(IsIntact(damaged));
  EXPECT_FALSE(IsIntact(damaged, false));
}

TEST_F(ValueReaderTest, AnExtentIsVouchedForByTheHashInItsEntry) {
  const ExtentRef extent = Extent(kExtent, std::string(1000, 'x'));
  const uint64_t sound = PutExtent(extent);
  ExtentRef other = extent;
  other.check ^= 1;
  const uint64_t damaged = PutExtent(other);
  Open();
  EXPECT_TRUE(IsIntact(sound));
  EXPECT_TRUE(IsIntact(sound));  // once more, without reading it
  EXPECT_EQ(ValueOf(sound), std::string(1000, 'x'));
  EXPECT_FALSE(IsIntact(damaged));
  EXPECT_TRUE(IsIntact(damaged, false)) << "an obsolete entry's extent is another's by now";
}

TEST_F(ValueReaderTest, NoTwoIntactExtentsShareAByte) {
  const uint64_t first = PutExtent(Extent(kExtent, std::string(1000, 'x')));
  // Of the same bytes, and right for what it names.
  const uint64_t part = PutExtent({kExtent + 8, 900, base::Hash64(std::string(900, 'x'))});
  const uint64_t behind = PutExtent(Extent(kExtent + 1000, "next"));
  Open();
  EXPECT_TRUE(IsIntact(first));
  EXPECT_FALSE(IsIntact(part));
  EXPECT_TRUE(IsIntact(behind));
}

TEST_F(ValueReaderTest, AReferenceThatLeadsOutIsNotFollowed) {
  const uint64_t end = PoolOfBytes::kChunks * PoolOfBytes::kChunkBytes;
  const uint64_t outside = PutExtent({end, 0, base::Hash64("")});
  const uint64_t across = PutExtent({end - 1000, 2000, 7});
  const uint64_t wrapped = PutExtent({~uint64_t{0} - 32, 8, 7});
  const uint64_t huge = PutExtent({kExtent, ~uint64_t{0} - kExtent, 7});
  const uint64_t no_reference = Put("short", format::kValueInExtent);
  Open();
  for (const uint64_t entry : {outside, across, wrapped, huge, no_reference}) {
    EXPECT_FALSE(IsIntact(entry)) << (entry - kEntries);
  }
  EXPECT_EQ(ValueReader::ExtentOf(*pool_->EntryAt(no_reference)), std::nullopt);
}

TEST_F(ValueReaderTest, AReferenceIsAsGoodAsTheEntryThatItLeadsTo) {
  const uint64_t holder = Put("the value");
  const format::EntryRef ref{holder};
  const format::EntryRef nowhere{holder + 8};
  const auto put = [&](const format::EntryRef& to) {
    return Put({reinterpret_cast<const char*>(&to), sizeof to}, format::kValueElsewhere);
  };
  const uint64_t node = put(ref);
  const uint64_t lost = put(nowhere);
  const uint64_t second = put({node});  // to one that refers itself
  Open();
  EXPECT_TRUE(IsIntact(node));
  EXPECT_EQ(values_->ValueOf(*pool_->EntryAt(node)), "the value");
  EXPECT_FALSE(IsIntact(lost));
  EXPECT_FALSE(IsIntact(second));
  EXPECT_TRUE(IsIntact(lost, false)) << "of an obsolete one the place may be another's";
}

}  // namespace
}  // namespace braid::repair
