// A function of the engine's CPU device that the local communicator calls. The simulated plug-in does not
// contain that device.
#include <thread>

#include "engine/device/device.h"

namespace shardlens {

int available_cores() {
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace shardlens
