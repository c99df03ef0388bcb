// What the played plug-in needs of the engine's CPU device, which it does not have: the local communicator
// asks.
#include <thread>

#include "engine/device/device.h"

namespace shardlens {

int available_cores() {
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace shardlens
