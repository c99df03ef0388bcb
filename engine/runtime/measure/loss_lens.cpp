// Computes the figures of the two forms of the loss.
#include "engine/runtime/measure/loss_lens.h"

#include <algorithm>

#include "engine/config/presets.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

constexpr int64_t kPaperVocab = 51200;  // 50,257 padded for T = 8 (paper, section 5.1)
constexpr int64_t kPaperSequence = 1024;
constexpr int64_t kPaperBatch = 8;
constexpr int kPaperRanks = 8;

bool is_loss_step(const Step& step) {
  return step.part == Part::Loss;
}

// Counts the loss's forward pass only: its backward pass sends nothing, and the gradient of X that follows is
// the same in both forms.
int64_t loss_sent_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const Step& step : program.steps) {
    if (is_loss_step(step) && step.phase == Phase::Forward && is_collective(step.op))
      bytes += sent_bytes(program, step.id);
  }
  return bytes;
}

// The paper's largest GPT-2, but with fewer layers: the loss does not depend on them.
Settings paper_settings(const Settings& like) {
  Settings paper;
  paper.model = model_preset("megatron-8.3b");
  paper.model.layers = 1;
  paper.model.vocab = kPaperVocab;
  paper.dtype = like.dtype;
  paper.tp = kPaperRanks;
  paper.batch = kPaperBatch;
  paper.seq = kPaperSequence;
  paper.block = Block::Model;
  return paper;
}

}  // namespace

Settings with_loss(Settings settings, LossForm form) {
  settings.split.loss = form;
  return settings;
}

LossFigures planned_loss(const Plan& plan) {
  LossFigures figures;
  figures.sent_bytes = loss_sent_bytes(plan.program);
  for (const MemoryPlan& memory : plan.memory)
    figures.peak_bytes = std::max(figures.peak_bytes, total_bytes(memory.arena_bytes));
  return figures;
}

std::shared_ptr<const LossLens> plan_loss_lens(const Plan& plan) {
  const Settings& settings = plan.program.settings;
  const bool cut = settings.split.embedding == EmbeddingCut::Vocab && settings.tp > 1;
  if (settings.block != Block::Model || !cut) return nullptr;
  auto lens = std::make_shared<LossLens>();
  lens->settings = settings;
  const bool is_fused = settings.split.loss == LossForm::Fused;
  const LossForm other = is_fused ? LossForm::Gather : LossForm::Fused;
  const LossFigures here = planned_loss(plan);
  const LossFigures there = planned_loss(*make_plan(plan_program(with_loss(settings, other))));
  lens->fused = is_fused ? here : there;
  lens->gathered = is_fused ? there : here;
  lens->paper = paper_settings(settings);
  lens->paper_fused_bytes = loss_sent_bytes(plan_program(with_loss(lens->paper, LossForm::Fused)));
  lens->paper_gathered_bytes = loss_sent_bytes(plan_program(with_loss(lens->paper, LossForm::Gather)));
  return lens;
}

void LossReader::on_tensor(int rank, StepId, const Tensor& tensor, const void* data) {
  if (rank != 0 || !wants(tensor)) return;
  loss_ = tensor.dtype == DType::Fp64 ? *static_cast<const double*>(data)
                                      : static_cast<double>(*static_cast<const float*>(data));
}

void take_measured(LossFigures& figures, const Plan& plan, const Executor& executor) {
  const Program& program = plan.program;
  figures.measured = true;
  for (int rank = 0; rank < program.tp(); ++rank) {
    const RankTrace& trace = executor.trace(rank);
    double loss_seconds = 0;
    for (size_t s = 0; s < trace.finished(); ++s) {
      const StepEvent& event = trace.event(s);
      if (is_loss_step(program.steps[s])) loss_seconds += event.seconds();
      figures.step_seconds = std::max(figures.step_seconds, event.end_seconds);
    }
    figures.loss_seconds = std::max(figures.loss_seconds, loss_seconds);
    figures.high_water_bytes =
        std::max(figures.high_water_bytes, total_bytes(executor.high_water_bytes(rank)));
  }
}

}  // namespace shardlens
