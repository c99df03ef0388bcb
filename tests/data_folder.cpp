// The one file that is compiled with a path of the source tree, so that the others compile alike everywhere and
// a compiler cache serves them to every checkout.
#include "tests/data_folder.h"

namespace shardlens {

std::string test_data_folder() {
  return SHARDLENS_TEST_DATA;
}

}  // namespace shardlens
