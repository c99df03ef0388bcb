// Opens the plug-in that carries messages between processes by MPI.
#include <stdexcept>

#include "engine/comm/processes.h"
#include "engine/config/error.h"
#include "engine/config/module.h"

namespace shardlens {

std::unique_ptr<Processes> open_mpi_processes(double timeout_seconds) {
  const auto open = reinterpret_cast<OpenMpiProcesses>(module_symbol(
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
