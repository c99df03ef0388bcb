// Embedded files are found by name, and a wrong name says which names there are.
#include "engine/config/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/config/error.h"

namespace shardlens {
namespace {

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
    EXPECT_THAT(error.what(), testing::HasSubstr("a.txt, b/c.txt"));
  }
}

TEST(Assets, NamesComeSortedAndCarryThePrefix) {
  const auto names = asset_names("");
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names.size(), embedded_assets().size());
  for (const std::string_view name : names) EXPECT_EQ(asset(name).data()[asset(name).size()], '\0') << name;
}

}  // namespace
}  // namespace shardlens
