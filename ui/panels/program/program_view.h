// The state of the Program tab: its page, and which steps the first one lists.
#pragma once

#include <string>

namespace shardlens::ui {

enum class ProgramPage {
  Steps,    ///< the Program as text
  Algebra,  ///< the laboratory "What a sum allows"
  ByHand,   ///< the example of 4 × 4 that a person types
  Figures,  ///< the texts' figures beside the exact ones
};

struct ProgramView {
  ProgramPage page = ProgramPage::Steps;
  std::string filter;  ///< words that a listed step must contain
};

}  // namespace shardlens::ui
