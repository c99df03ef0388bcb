// Embedded files are found by name, and the error for a wrong name lists the names that exist.
#include "engine/config/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/base/error.h"

namespace shardlens {
namespace assets_test {

constexpr std::array<EmbeddedFile, 2> files{{{"a.txt", "alpha"}, {"b/c.txt", "beta"}}};

TEST(Assets, FindsAFileByItsPath) {
  EXPECT_EQ(find_embedded(files, "b/c.txt"), "beta");
}

TEST(Assets, AWrongNameListsTheRightOnes) {
  try {
    find_embedded(files, "c.txt");
    FAIL() << "found a file that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a.txt, b/c.txt"));
  }
}

TEST(Assets, AZeroByteFollowsEveryFile) {
  EXPECT_FALSE(embedded_assets().empty());
  for (const EmbeddedFile& file : embedded_assets())
    EXPECT_EQ(file.contents.data()[file.contents.size()], '\0') << file.name;
}

}  // namespace assets_test
}  // namespace shardlens
