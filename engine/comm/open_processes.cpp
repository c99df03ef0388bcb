// Opens the plug-in that carries messages between processes by MPI.
#include <fmt/format.h>
#include <sys/resource.h>

#include <stdexcept>

#include "engine/base/error.h"
#include "engine/base/plugin.h"
#include "engine/comm/processes.h"

namespace shardlens {
namespace {

// Open MPI ends the process where it may not open files for its own parts; one process opens about thirty.
void require_files() {
  constexpr rlim_t kFewest = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kFewest) return;
  throw request_error(fmt::format(
      "--comm mpi needs {} open files, but a program may have {} here: raise the limit (ulimit -n)", kFewest,
      limit.rlim_cur));
}

}  // namespace

std::unique_ptr<Processes> open_mpi_processes(double timeout_seconds) {
  require_files();
  const auto open = reinterpret_cast<OpenMpiProcesses>(plugin_symbol(
      "libshardlens_mpi.so", "shardlens_mpi_processes",
      "it is built only if Open MPI is found (Debian: install libopenmpi-dev openmpi-bin, then build again); "
      "without it, leave out --comm mpi, and the ranks are threads of one process"));
  try {
    return std::unique_ptr<Processes>(open(timeout_seconds));
  } catch (const std::runtime_error& error) {
    throw request_error(error.what());
  }
}

}  // namespace shardlens
