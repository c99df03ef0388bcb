// Plans each text's example, and computes the text's formula. figures_of_claims.cpp has those that texts
// state without a calculation.
#include "engine/cost/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/cost/figures_parts.h"
#include "engine/cost/memory_wall.h"
#include "engine/cost/price.h"
#include "engine/planner/planner.h"

namespace shardlens {

Settings chapters_exercise() {
  Settings settings;
  settings.model.title = "the chapter's layer";
  settings.model.hidden = 4096;
  settings.model.heads = 32;
  settings.model.ffn = 4 * 4096;
  settings.model.positions = 2048;
  settings.seq = 2048;
  settings.batch = 4;
  settings.tp = 8;
  settings.dtype = DType::Fp16;
  return settings;
}

void prove(std::vector<WorkedFigure>& figures, size_t first, const Settings& settings, ShownBy shown_by) {
  for (size_t i = first; i < figures.size(); ++i) {
    figures[i].settings = settings;
    figures[i].shown_by = shown_by;
  }
}

ForwardCount count_forward(const Settings& settings, const Hardware& hardware) {
  const Program program = plan_program(settings);
  const std::vector<StepCost> costs = price(program, hardware, 0);
  ForwardCount counted;
  for (const Step& step : program.steps) {
    const StepCost& cost = costs[static_cast<size_t>(step.id)];
    if (step.phase != Phase::Forward) continue;
    counted.flops += cost.flops;
    if (!is_collective(step.op)) continue;
    counted.all_reduce_bytes = cost.sent_bytes;
    counted.sent_bytes += cost.sent_bytes;
    counted.tp_seconds += cost.predicted_seconds;
  }
  return counted;
}

namespace {

void add_volumes(std::vector<WorkedFigure>& figures) {
  const size_t first = figures.size();
  const Settings s = chapters_exercise();
  const ForwardCount counted = count_forward(s, find_hardware("h100-80gb"));
  const double tensor_bytes = static_cast<double>(s.tokens() * s.model.hidden * 2);
  const double formula = 2 * tensor_bytes * (s.tp - 1) / s.tp;
  figures.push_back({"sent by each rank in one all-reduce of a layer", kChapter, "112 MB",
                     "2 · (T−1)/T · b·s·d · 2 bytes", formula, static_cast<double>(counted.all_reduce_bytes),
                     "bytes", ""});
  figures.push_back({"sent by each rank for a layer forward", kChapter, "224 MB", "two all-reduces",
                     2 * formula, static_cast<double>(counted.sent_bytes), "bytes", ""});
  prove(figures, first, s, ShownBy::Traffic);
}

void add_ratio(std::vector<WorkedFigure>& figures) {
  const size_t first = figures.size();
  Settings s = chapters_exercise();
  s.hardware = "h100-80gb";
  const Hardware& h100 = find_hardware("h100-80gb");
  const ForwardCount counted = count_forward(s, h100);
  const double b = static_cast<double>(s.batch), n = static_cast<double>(s.seq),
               d = static_cast<double>(s.model.hidden);
  const double peak = h100.flops(DType::Fp16);
  const double printed_bandwidth = 900e9, printed_bytes = 2.24e8;
  const double communication = printed_bytes / printed_bandwidth;
  const double written_flops = 4 * b * n * d * d + 2 * b * n * n * d;
  const double exact_flops = static_cast<double>(counted.flops);
  figures.push_back(
      {"FLOPs of a rank for a layer forward", kChapter, "(5.50e11 + 1.37e11) / 8",
       "(4·b·s·d² + 2·b·s²·d) / T", written_flops / s.tp, exact_flops, "FLOP",
       "a layer's four matrices hold 12·d² weights and each is 2 FLOPs per token, and attention makes "
       "two products: 24·b·s·d² + 4·b·s²·d"});
  figures.push_back(
      {"compute against communication, forward", kChapter, "0.17",
       "42.9 µs / 249 µs: half of the FLOPs in its formula, 43.4 µs at 989 TFLOP/s, against 2.24e8 bytes at "
       "900 GB/s",
       written_flops / 2 / s.tp / peak / communication, exact_flops / peak / communication, "ratio",
       "the exact count is 10.4 times the FLOPs behind that figure, so on these links the layer computes "
       "longer than it communicates"});
  figures.push_back(
      {"the same with one link direction and the ring's hops", kChapter, "0.17",
       "all FLOPs in its formula, at 989 TFLOP/s, against 2.24e8 bytes at 900 GB/s",
       written_flops / s.tp / peak / communication, exact_flops / peak / counted.tp_seconds, "ratio",
       "900 GB/s is NVLink's both directions together; a ring sends at 450 GB/s, and 2 · 14 hops cost their "
       "latency"});
  prove(figures, first, s, ShownBy::Traffic);
}

void add_norm_statistics(std::vector<WorkedFigure>& figures) {
  const size_t first = figures.size();
  Settings s = chapters_exercise();
  s.split.norm = NormCut::Parallel;
  s.split.name = "custom";
  const double tokens = static_cast<double>(s.tokens());
  const double statistics = 2 * 4 * tokens;  // a rank's sum and sum of squares, fp32
  const double fp32_tensor = 4 * tokens * static_cast<double>(s.model.hidden);
  figures.push_back({"statistics of a LayerNorm on cut activations", kChapter, "64 KB",
                     "8·b·s bytes: two fp32 numbers per token", statistics, statistics, "bytes", ""});
  figures.push_back(
      {"the activations' all-reduce it is compared with", kChapter, "128 MB", "8·b·s·d bytes",
       2 * fp32_tensor, fp32_tensor, "bytes",
       "128 MiB are 4·b·s·d: the tensor in fp32. The text's formula gives twice that, which each rank of a "
       "large ring sends; in fp16 at T = 8 each rank sends 112 MiB"});
  figures.push_back({"activations against statistics", kChapter, "2000 times", "128 MB / 64 KB",
                     fp32_tensor / statistics,
                     static_cast<double>(ring_sent_bytes(Collective::AllReduce,
                                                         static_cast<int64_t>(fp32_tensor) / 2, s.tp)) /
                         static_cast<double>(ring_sent_bytes(Collective::AllGather,
                                                             static_cast<int64_t>(statistics) * s.tp, s.tp)),
                     "ratio",
                     "activations travel in fp16, statistics in fp32; and the statistics of all ranks are "
                     "gathered, not added, because Σx²/d − μ² loses a small variance beside a large mean"});
  prove(figures, first, s, ShownBy::Traffic);
}

void add_memory(std::vector<WorkedFigure>& figures) {
  double bytes = 0;
  for (const WallPart& part : wall_parts()) bytes += part.bytes_per_parameter;
  figures.push_back({"kept for each parameter by mixed-precision Adam", kExplainer, "16 bytes",
                     "2 + 2 + 4 + 4 + 4: weight, gradient, master weight, two moments", 16, bytes, "bytes",
                     ""});
  figures.back().shown_by = ShownBy::MemoryWall;
  const size_t planned_here = figures.size();
  Settings settings;
  settings.block = Block::Model;
  settings.model = model_preset("gpt2-tiny");
  settings.dtype = DType::Fp16;
  settings.update = true;
  const Program program = plan_program(settings);
  int64_t planned = 0, parameters = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.storage != kNoTensor) continue;
    if (tensor.kind == MemoryKind::Weight) parameters += element_count(tensor.shape);
    if (tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::WeightGradient ||
        tensor.kind == MemoryKind::OptimizerState)
      planned += tensor.bytes();
  }
  figures.push_back({"the same as this engine plans it", kExplainer, "16 bytes", "as above", 16,
                     static_cast<double>(planned) / static_cast<double>(parameters), "bytes",
                     "gradients are summed and kept in fp32 here: 2 + 4 + 4 + 4 + 4"});
  prove(figures, planned_here, settings, ShownBy::Memory);
}

void add_shapes(std::vector<WorkedFigure>& figures) {
  const size_t first = figures.size();
  Settings settings;
  settings.model = model_preset("megatron-8.3b-24-heads");
  settings.tp = 8;
  settings.dtype = DType::Fp16;
  settings.seq = 1024;
  const Program program = plan_program(settings);
  for (const Tensor& tensor : program.tensors) {
    const Shape local = local_shape(tensor, settings.tp, 0);
    if (tensor.kind == MemoryKind::Weight && tensor.role == Role::MlpIn) {
      figures.push_back({"rows of fc's weight on one GPU, 8.3 B at T = 8", kExplainer, "3072 × 1536", "h",
                         3072, static_cast<double>(local[0]), "", ""});
      figures.push_back({"columns of fc's weight on one GPU, 8.3 B at T = 8", kExplainer, "3072 × 1536",
                         "4·h / T", 4.0 * 3072 / 8, static_cast<double>(local[1]), "", ""});
    }
    if (tensor.role == Role::Context && tensor.kind == MemoryKind::Activation)
      figures.push_back({"heads on one GPU, 24 heads at T = 8", kExplainer, "3", "24 / T", 24.0 / 8,
                         static_cast<double>(local[1]), "", ""});
  }
  figures.push_back({"GPT-2's vocabulary padded at T = 8", kPaper, "51,200",
                     "50,257 up to a multiple of 128 · T", 51200,
                     static_cast<double>(padded_vocab(settings.model, 8)), "", ""});
  prove(figures, first, settings, ShownBy::Program);
}

void add_loss(std::vector<WorkedFigure>& figures) {
  Settings settings;
  settings.block = Block::Model;
  settings.model = model_preset("megatron-8.3b");
  settings.model.layers = 1;
  settings.tp = 8;
  settings.dtype = DType::Fp16;
  settings.batch = 1;
  settings.seq = 1024;
  const auto sent_by_loss = [&](LossForm form) {
    settings.split.loss = form;
    const Program program = plan_program(settings);
    int64_t bytes = 0;
    for (const Step& step : program.steps) {
      const bool of_loss = step.phase == Phase::Forward && step.part == Part::Loss && is_collective(step.op);
      if (of_loss) bytes += sent_bytes(program, step.id);
    }
    return static_cast<double>(bytes);
  };
  const double gathered = sent_by_loss(LossForm::Gather), fused = sent_by_loss(LossForm::Fused);
  const auto vocab = static_cast<double>(padded_vocab(settings.model, 8));
  figures.push_back(
      {"bytes sent: gathered logits against the fused loss", std::string(kPaper) + ", section 3",
       "b·s·v against b·s: a factor of v", "v = 51,200", vocab, gathered / fused, "ratio",
       "three numbers per token are reduced and not one (the maximum, the label's logit, the sum of "
       "exponentials), in fp32 while logits are fp16, and an all-reduce sends twice what a gather "
       "does: v · 2 / (3 · 4 · 2)"});
  settings.split.loss = LossForm::Fused;
  prove(figures, figures.size() - 1, settings, ShownBy::Traffic);
}

void add_throughput(std::vector<WorkedFigure>& figures) {
  figures.push_back({"15.1 PFLOP/s on 512 GPUs against 39 TFLOP/s on one", kPaper, "76 %",
                     "15.1e15 / (512 · 39e12)", 0.76, 15.1e15 / (512 * 39e12), "ratio", "rounded: 75.6 %"});
  figures.push_back({"39 TFLOP/s of a V100's peak", kPaper, "30 %", "39 / peak", 0.30,
                     39e12 / find_hardware("v100-32gb").flops(DType::Fp16), "ratio", ""});
  for (size_t i = figures.size() - 2; i < figures.size(); ++i) figures[i].shown_by = ShownBy::WeakScaling;
}

}  // namespace

std::vector<WorkedFigure> worked_figures() {
  std::vector<WorkedFigure> figures;
  add_volumes(figures);
  add_ratio(figures);
  add_norm_statistics(figures);
  add_memory(figures);
  add_shapes(figures);
  add_loss(figures);
  add_throughput(figures);
  add_claims(figures);
  return figures;
}

std::string figure_text(double value, const std::string& unit) {
  if (unit == "bytes") {
    return value < 1024
               ? fmt::format("{:g} bytes", value)
               : fmt::format("{} bytes = {}", grouped_text(static_cast<int64_t>(value)), bytes_text(value));
  }
  if (unit == "FLOP") return fmt::format("{:.4g} FLOP", value);
  if (unit == "days") return fmt::format("{:.2f} days", value);
  if (unit == "loss") return fmt::format("a loss of {:.3f}", value);
  if (unit == "parameters") return fmt::format("{:.1f} billion parameters", value / 1e9);
  return fmt::format("{:.5g}", value);
}

}  // namespace shardlens
