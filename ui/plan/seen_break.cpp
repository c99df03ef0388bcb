// Finds the shown pass among those of the planted mistake, and indexes what is wrong in it.
#include "ui/plan/seen_break.h"

#include <algorithm>

#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "ui/plan/cache.h"

namespace shardlens::ui {

struct SeenBreak::Index {
  std::vector<const TensorError*> errors;                  ///< per tensor of the broken Program
  std::vector<TensorId> sound_of_broken, broken_of_sound;  ///< corresponding tensors
  std::vector<const Step*> left_out;                       ///< per step of the broken Program
};

const char* side_word(BreakSide side) {
  switch (side) {
    case BreakSide::Sound:
      return "sound";
    case BreakSide::Broken:
      return "broken";
    case BreakSide::Difference:
      return "difference";
  }
  return "";
}

const std::shared_ptr<const Result>& result_of(const BreakPass& pass, BreakSide side) {
  return side == BreakSide::Sound ? pass.sound : side == BreakSide::Broken ? pass.broken : pass.difference;
}

std::shared_ptr<const BreakProbe> chosen_probe(const BreakReport& report, int64_t step) {
  const auto& probes = report.probes;
  if (probes.empty()) return nullptr;
  const auto chosen =
      std::find_if(probes.begin(), probes.end(), [&](const auto& probe) { return probe->step == step; });
  if (chosen != probes.end()) return *chosen;
  const auto finds =
      std::find_if(probes.begin(), probes.end(), [](const auto& probe) { return probe->finds(); });
  return finds != probes.end() ? *finds : probes.back();
}

const SeenBreak::Index& SeenBreak::index_of(const std::shared_ptr<const BreakProbe>& probe) {
  static Cache<std::shared_ptr<const BreakProbe>, Index, 2> known;
  return known.of(probe, [&] {
    const Program& sound = probe->pass.sound->plan->program;
    const Program& broken = probe->pass.broken->plan->program;
    Index index;
    index.errors.resize(broken.tensors.size());
    for (const TensorError& error : probe->errors) {
      const TensorError*& known_error = index.errors[static_cast<size_t>(error.tensor)];
      // A tensor that several steps write, such as an updated weight: the first wrong one is its error.
      if (known_error == nullptr || (!known_error->broken && error.broken)) known_error = &error;
    }
    for (const Tensor& tensor : broken.tensors) index.sound_of_broken.push_back(tensor_like(sound, tensor));
    for (const Tensor& tensor : sound.tensors) index.broken_of_sound.push_back(tensor_like(broken, tensor));
    for (const Step& step : broken.steps) index.left_out.push_back(left_out_by(sound, step));
    return index;
  });
}

SeenBreak::SeenBreak(std::shared_ptr<const BreakReport> report, std::shared_ptr<const BreakProbe> probe,
                     BreakSide side)
    : report_(std::move(report)), probe_(std::move(probe)), index_(&index_of(probe_)), side_(side) {}

TensorId SeenBreak::tensor_of(BreakSide side, TensorId shown) const {
  if (shown == kNoTensor || (side == BreakSide::Sound) == (side_ == BreakSide::Sound)) return shown;
  const std::vector<TensorId>& other =
      side == BreakSide::Sound ? index_->sound_of_broken : index_->broken_of_sound;
  const auto at = static_cast<size_t>(shown);
  return at < other.size() ? other[at] : kNoTensor;
}

std::shared_ptr<const TensorSample> SeenBreak::sample(BreakSide side, TensorId shown, int rank) const {
  const TensorId tensor = tensor_of(side, shown);
  const SampleTable& samples = result_of(probe_->pass, side)->samples;
  const auto r = static_cast<size_t>(rank), t = static_cast<size_t>(tensor);
  if (tensor == kNoTensor || r >= samples.size() || t >= samples[r].size()) return nullptr;
  return samples[r][t];
}

const TensorError* SeenBreak::error(TensorId shown) const {
  const TensorId tensor = tensor_of(BreakSide::Broken, shown);
  return tensor == kNoTensor ? nullptr : index_->errors[static_cast<size_t>(tensor)];
}

bool SeenBreak::is_wrong(TensorId shown) const {
  if (side_ == BreakSide::Sound || shown == kNoTensor) return false;
  const TensorError* const found = error(shown);
  return found != nullptr && found->broken;
}

bool SeenBreak::differ(TensorId shown, int a, int b) const {
  if (!is_wrong(shown) || this->shown().tensor(shown).layout.kind != LayoutKind::Replicated) return false;
  const auto first = sample(BreakSide::Broken, shown, a), second = sample(BreakSide::Broken, shown, b);
  return first && second && first->hash != second->hash;
}

const Step* SeenBreak::left_out(StepId shown) const {
  if (side_ == BreakSide::Sound || shown < 0) return nullptr;
  return index_->left_out[static_cast<size_t>(shown)];
}

std::optional<SeenBreak> seen_break(const Context& context) {
  const std::shared_ptr<const BreakReport>& report = context.breaks.report;
  const std::shared_ptr<const Result>& result = context.snapshot.result;
  if (!report || !result) return std::nullopt;
  for (const auto& probe : report->probes) {
    for (const BreakSide side : kBreakSides) {
      if (result_of(probe->pass, side) == result) return SeenBreak(report, probe, side);
    }
  }
  return std::nullopt;
}

}  // namespace shardlens::ui
