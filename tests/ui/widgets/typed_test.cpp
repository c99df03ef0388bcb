// Numbers as people type them: the whole text is read, or it is refused.
#include "ui/widgets/typed.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardlens::ui {
namespace typed_test {

TEST(TypedNumber, IsReadAsPeopleWriteIt) {
  for (const char* text :
       {"1024", " 1024 ", "+1024", "1,024", "1 024", "1'024", "1_024", "1.024e3", "1024.0"})
    EXPECT_EQ(typed_number<int64_t>(text), 1024) << text;
  EXPECT_EQ(typed_number<int64_t>("8,388,608"), 8388608);
  EXPECT_EQ(typed_number<int64_t>("-7"), -7);
  EXPECT_EQ(typed_number<uint64_t>("18446744073709551615"), std::numeric_limits<uint64_t>::max());
}

TEST(TypedNumber, IsNeverHalfOfWhatWasTyped) {
  for (const char* text : {"", " ", "12 tokens", "1,5", "1,0245", ",100", "1.5", "0x10", "1e99", "nan", "--1",
                           "+-1", "9223372036854775808", "1e-3"})
    EXPECT_EQ(typed_number<int64_t>(text), std::nullopt) << text;
  EXPECT_EQ(typed_number<uint64_t>("-7"), std::nullopt);
  EXPECT_EQ(typed_number<uint64_t>("-1e3"), std::nullopt);
}

}  // namespace typed_test
}  // namespace shardlens::ui
