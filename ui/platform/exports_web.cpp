#include "ui/platform/exports.h"

namespace shardlens {

const char* where_exports_go() {
  return "downloaded by the browser";
}

const char* remedy_for_exports() {
  return "A page can export its window as PNG (Ctrl+E); the program on a desktop can export all.";
}

std::string where_checkpoints_go(const std::string&) {
  return "a download when training pauses or ends";
}

}  // namespace shardlens
