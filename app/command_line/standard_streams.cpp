// Keeps the file numbers of closed standard streams.
#include "app/command_line/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace shardlens::cli {

void keep_standard_streams() {
  int file = 0;
  do file = open("/dev/null", O_RDONLY);  // the lowest number that is free; nothing can be written to it
  while (file >= 0 && file <= STDERR_FILENO);
  if (file > STDERR_FILENO) close(file);
}

}  // namespace shardlens::cli
