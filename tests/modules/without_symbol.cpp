// A module of this build that has nothing but its version.
#include "engine/config/module.h"

extern "C" const char* shardlens_module_version() {
  return shardlens::kModuleVersion;
}

extern "C" int shardlens_test_number() {
  return 42;
}
