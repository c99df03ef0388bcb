// What readers of lessons refer to and never call: runs. The fuzzer with sanitizers is linked without what
// runs, which would take long to compile a second time. lesson_readers.cpp leaves out what needs a run.
#include <stdexcept>

#include "engine/laboratory/laboratory.h"
#include "engine/lesson/evidence.h"
#include "engine/runtime/window_reader.h"
#include "engine/train/experiments/run_again.h"

namespace shardlens {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("the fuzzer runs nothing");
}

}  // namespace

const Result& Evidence::run() {
  refuse();
}
const SerialReference& Evidence::serial() {
  refuse();
}
const BreakReport& Evidence::broken(int64_t) {
  refuse();
}
const SampleTable& Evidence::samples() {
  refuse();
}
const std::vector<double>& Evidence::losses(int64_t) {
  refuse();
}
std::vector<double> Evidence::sound_losses(int64_t) {
  refuse();
}
std::vector<double> serial_values(const Program&, const SerialReference&, const TensorWindow&) {
  refuse();
}
std::shared_ptr<const Plan> plan_again(const Recording&, const std::string&) {
  return nullptr;  // a lesson's comparison: whether it can run here is no question of the file
}

namespace lab {

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = {{"LayerNorm", "", "", {}, {}, std::vector<Way>(2)}};
  return all;
}
Outcome run(const Experiment&, const Way&, int) {
  refuse();
}
std::string to_string(Verdict) {
  refuse();
}

}  // namespace lab
}  // namespace shardlens
