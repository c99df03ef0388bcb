// The state of the Program tab: which steps it lists.
#pragma once

#include <string>

namespace shardlens::ui {

struct ProgramView {
  std::string filter;  ///< words that a listed step must contain
};

}  // namespace shardlens::ui
