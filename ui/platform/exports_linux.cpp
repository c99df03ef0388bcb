#include "ui/platform/exports.h"

namespace shardlens {

const char* where_exports_go() {
  return "written to the folder where the studio was started";
}

const char* remedy_for_exports() {
  return "Exports go to the folder where the studio was started: start it in another folder.";
}

std::string where_checkpoints_go(const std::string& folder) {
  return folder;
}

}  // namespace shardlens
