#include "ui/platform/exports.h"

namespace shardlens {

const char* where_exports_go() {
  return "downloaded by the browser";
}

const char* remedy_for_exports() {
  return "A page can export its window as PNG (Ctrl+E); the program on a desktop can export all.";
}

}  // namespace shardlens
