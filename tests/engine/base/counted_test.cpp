// The wording of counts: the singular for one, the plural for none or several.
#include "engine/base/counted.h"

#include <gtest/gtest.h>

namespace shardlens {
namespace counted_test {

TEST(Counted, OneIsCalledOtherwise) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(2, "rank"), "2 ranks");
  EXPECT_EQ(counted(1, "pass", "passes"), "1 pass");
  EXPECT_EQ(counted(1518, "pass", "passes"), "1,518 passes");
}

}  // namespace counted_test
}  // namespace shardlens
