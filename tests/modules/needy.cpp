// A module that needs a library which is nowhere to be found.
#include "engine/config/module.h"

extern "C" {

int shardlens_test_gone();

const char* shardlens_module_version() {
  return shardlens_test_gone() == 0 ? "" : shardlens::kModuleVersion;
}
}
