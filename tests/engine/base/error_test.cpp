// Errors carry their message and the kind that decides the exit code.
#include "engine/base/error.h"

#include <gtest/gtest.h>

namespace shardlens {
namespace error_test {

TEST(Error, ARequestKeepsItsMessage) {
  const Error error = request_error("tp 6 does not divide 32 heads; try 4 or 8");
  EXPECT_EQ(error.kind(), ErrorKind::Request);
  EXPECT_STREQ(error.what(), "tp 6 does not divide 32 heads; try 4 or 8");
}

TEST(Error, ARunErrorIsNotTheRequestsFault) {
  EXPECT_EQ(run_error("rank 1, step 4: NaN in x").kind(), ErrorKind::Run);
}

}  // namespace error_test
}  // namespace shardlens
