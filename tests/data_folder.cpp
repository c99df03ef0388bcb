// The only file that is compiled with a path of the source tree. All others compile to the same result
// everywhere, so a compiler cache can serve them to every checkout.
#include "tests/data_folder.h"

namespace shardlens {

std::string test_data_folder() {
  return SHARDLENS_TEST_DATA;
}

}  // namespace shardlens
