#include "engine/base/one_run.h"

#include "engine/base/worker.h"

namespace shardlens {
namespace {

const OneRun* running = nullptr;  // turns are all on one thread

}  // namespace

bool OneRun::may_begin() {
  if (!kWorkersTakeTurns || running == this) return true;
  if (running != nullptr) return false;
  running = this;
  return true;
}

void OneRun::end() {
  if (running == this) running = nullptr;
}

}  // namespace shardlens
