// In node and in a page the streams are the C library's: its stdout cannot be replaced.
#include <unistd.h>

#include "app/command_line/standard_streams.h"

namespace shardlens::cli {

void prepare_standard_streams() {}

bool standard_output_failed() {
  return std::ferror(stdout) != 0;
}

bool is_terminal(FILE* stream) {
  return isatty(file_number(stream)) != 0;
}

int file_number(FILE* stream) {
  return stream == stderr ? STDERR_FILENO : STDOUT_FILENO;
}

}  // namespace shardlens::cli
