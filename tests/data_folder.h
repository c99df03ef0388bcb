// The folder of the files that tests read: tests/data of the source tree.
#pragma once

#include <string>

namespace shardlens {

std::string test_data_folder();

}  // namespace shardlens
