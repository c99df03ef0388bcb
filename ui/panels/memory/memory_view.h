// The state of the Memory tab.
#pragma once

#include <string>

#include "engine/config/settings.h"

namespace shardlens::ui {

struct MemoryView {
  bool this_layer = false;    ///< the second page: this layer as planned and measured, not the whole model
  bool this_machine = false;  ///< the third page: this machine's memory and GPUs
  double parameters = 8.3e9;  ///< of the model against the wall
  Model model = Settings().model;    ///< Setup's, when the wall was drawn last
  std::string hardware = Settings().hardware;  ///< likewise
  std::string device = "v100-32gb";  ///< hardware preset whose memory is the wall
  int tp = 0;                        ///< the column explained beside the wall; 0: the smallest T that fits
};

}  // namespace shardlens::ui
