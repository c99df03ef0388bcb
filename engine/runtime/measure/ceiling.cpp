// Collects the matrix products of a Program and measures them.
#include "engine/runtime/measure/ceiling.h"

#include <algorithm>
#include <utility>

#include "engine/device/gpu_plugin.h"
#include "engine/runtime/choose.h"

namespace shardlens {

std::vector<GemmShape> gemm_shapes(const Program& program, int rank) {
  std::vector<GemmShape> shapes;
  for (const Step& step : program.steps) {
    if (operation(step.op).kind != OpKind::Product) continue;
    const bool grad_input = step.op == Op::LinearGradInput;
    const bool grad_weight = step.op == Op::LinearGradWeight;
    const Tensor& weight = program.tensor(grad_weight ? output_of(program, step, Operand::WeightGrad)
                                                      : input_of(program, step, Operand::Weight));
    MatrixShape w = local_matrix_shape(weight, program.tp(), rank);
    const bool turned = step.attributes.transposed;  // W is stored [out, in]
    if (turned && !grad_weight) std::swap(w.rows, w.cols);
    const int64_t tokens = program.tensor(step.inputs[0]).shape[0];
    GemmShape shape{false, turned, tokens, w.cols, w.rows};
    if (grad_input) shape = {false, !turned, tokens, w.rows, w.cols};
    if (grad_weight) shape = {true, false, w.rows, w.cols, tokens};
    shape.wide_result = program.tensor(step.outputs[0]).dtype != program.tensor(step.inputs[0]).dtype;
    const bool empty = shape.m == 0 || shape.n == 0 || shape.k == 0;
    if (!empty && std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

std::vector<int> gpus_of(const Settings& settings, const GpuFacts& facts) {
  if (settings.backend == BackendChoice::Cpu) return {};
  Settings here = settings;
  if (here.communicator == CommunicatorChoice::Mpi) {  // only this process's rank
    here.communicator = CommunicatorChoice::Auto;
    here.tp = here.dp = 1;
  }
  std::vector<int> gpus = choose(here, facts).gpu_of_rank;
  std::sort(gpus.begin(), gpus.end());
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  return gpus;
}

std::vector<int> gpus_of(const Settings& settings) {
  // The plug-in is opened only if GPUs were asked for.
  if (settings.backend == BackendChoice::Cpu) return {};
  return gpus_of(settings, gpu_facts());
}

GemmCeiling measure_ceiling(const Settings& settings, const std::vector<GemmShape>& shapes, int repetitions) {
  const std::vector<int> gpus = gpus_of(settings);
  if (gpus.empty()) return measure_gemm_ceiling(settings.dtype, shapes, available_cores(), 1, repetitions);
  const MakeDevice on_gpus = [&](int rank) {
    return gpu_plugin().make_device(gpus[static_cast<size_t>(rank)], settings.tf32);
  };
  return measure_gemm_ceiling(settings.dtype, shapes, static_cast<int>(gpus.size()), 1, repetitions, on_gpus);
}

Job<double> measured_ceiling_flops(Settings settings, std::vector<GemmShape> shapes) {
  constexpr int kRepetitions = 4;
  // Each shape runs once, to find the fastest; the largest may take seconds.
  GemmCeiling all;
  for (const GemmShape& shape : shapes) {
    all.rates.push_back(measure_ceiling(settings, {shape}, 1).best());
    co_await GiveWay();
  }
  const GemmRate& once = all.best();
  double highest_flops = once.highest_flops;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const GemmRate again = measure_ceiling(settings, {once.shape}, 1).best();
    highest_flops = std::max(highest_flops, again.highest_flops);
    co_await GiveWay();
  }
  co_return highest_flops;
}

}  // namespace shardlens
