#include "app/cli/gzip.h"
#include "engine/base/error.h"

namespace shardlens::cli {

std::string gzip(const std::string&) {
  throw request_error("the program for node cannot pack files: make pages with the program on a desktop");
}

}  // namespace shardlens::cli
