// Derives the results of the checks from what was measured.
#include "engine/train/experiments/break_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/program/shown_name.h"

namespace shardlens {
namespace {

constexpr size_t kLossSteps = 10;  // averaged at the end of the curves

Phase phase_of(const Program& program, const TensorError& error) {
  return error.step < 0 ? Phase::Forward : program.step(error.step).phase;
}

// The check that shows a tensor. A weight that is wrong before the pass belongs to the activations.
Check check_of(const Program& program, const TensorError& error) {
  switch (phase_of(program, error)) {
    case Phase::Backward:
      return Check::Gradients;
    case Phase::Update:
      return Check::ClipNorm;
    case Phase::Forward:
      break;
  }
  return Check::Activations;
}

bool is_seen_by(const Program& program, const TensorError& error, Check check) {
  if (check == Check::Replicas) return !error.ranks_identical;
  return error.broken && check_of(program, error) == check;
}

Finding look(const BreakReport& report, Check check) {
  Finding finding{check};
  for (const auto& probe : report.probes) {
    for (const TensorError& error : probe->errors) {
      if (!is_seen_by(report.plan->program, error, check)) continue;
      return {check, true, probe->step, error.tensor, error.relative_error, error.replica, error.rank};
    }
  }
  return finding;
}

Finding look_at_loss(const BreakReport& report) {
  const LossVerdict verdict = loss_verdict(report);
  const bool sees = verdict.steps > 0 && !verdict.looks_healthy;
  return {Check::Loss, sees, static_cast<int64_t>(report.steps.size()), kNoTensor, verdict.apart};
}

std::string where(const BreakReport& report, const Finding& finding) {
  const Program& program = report.plan->program;
  const std::string tensor = shown_name(program.tensor(finding.tensor));
  const std::string at = program.dp() > 1 && finding.replica >= 0
                             ? fmt::format(" on {}", place_words(finding.replica, finding.rank))
                             : "";
  return finding.step == 0 ? tensor + at : fmt::format("{} in step {}{}", tensor, finding.step, at);
}

// How many tensors are wrong in the pass in which the fault is first seen.
std::string spread_sentence(const BreakReport& report) {
  const auto found = std::find_if(report.probes.begin(), report.probes.end(),
                                  [](const auto& probe) { return probe->finds(); });
  if (found == report.probes.end()) return {};
  const Spread forward = spread(report.plan->program, **found, Phase::Forward);
  const Spread backward = spread(report.plan->program, **found, Phase::Backward);
  if (forward.broken + backward.broken == 0) {
    const Spread update = spread(report.plan->program, **found, Phase::Update);
    return fmt::format(" It reaches no activation and no gradient, but {} of {} tensors of the update.",
                       update.broken, update.compared);
  }
  return fmt::format(" It reaches {} of {} tensors forward and {} of {} backward.", forward.broken,
                     forward.compared, backward.broken, backward.compared);
}

std::string loss_sentence(const BreakReport& report) {
  if (!report.ended.empty())
    return fmt::format(" The broken run ended after {} steps: {}", report.steps.size(), report.ended);
  const LossVerdict verdict = loss_verdict(report);
  if (verdict.steps == 0) return {};
  return fmt::format(
      " Over the last {} of {} steps the broken loss is {:.3f} on average, the sound one {:.3f}. In a step "
      "the two are {:.2g} apart on average, and from one step to the next the sound one moves {:.2g}: the "
      "curve alone {}.",
      verdict.steps, report.steps.size(), verdict.broken, verdict.sound, verdict.apart, verdict.ordinary,
      verdict.looks_healthy ? "looks healthy" : "shows it");
}

}  // namespace

const Step* left_out_by(const Program& sound, const Step& step) {
  if (step.op != Op::Identity) return nullptr;
  const auto found = std::find_if(sound.steps.begin(), sound.steps.end(), [&](const Step& one) {
    return one.name == step.name && one.phase == step.phase && one.layer == step.layer;
  });
  return found != sound.steps.end() && is_collective(found->op) ? &*found : nullptr;
}

TensorId tensor_like(const Program& program, const Tensor& other) {
  TensorId like = kNoTensor;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.name == other.name) return tensor.id;
    if (tensor.value == other.value) like = tensor.id;
  }
  return like;
}

Spread spread(const Program& program, const BreakProbe& probe, Phase phase) {
  Spread result;
  for (const TensorError& error : probe.errors) {
    if (phase_of(program, error) != phase || error.step < 0) continue;
    ++result.compared;
    if (error.broken) ++result.broken;
    result.worst = std::max(result.worst, error.relative_error);
  }
  return result;
}

bool BreakReport::done() const {
  if (!ended.empty()) return true;
  return wanted_steps == 0 ? !probes.empty() : static_cast<int64_t>(steps.size()) >= wanted_steps;
}

std::string to_string(Check check) {
  switch (check) {
    case Check::Activations:
      return "weights and activations against a right run";
    case Check::Gradients:
      return "gradients against a right run";
    case Check::Replicas:
      return "the ranks' copies against each other";
    case Check::ClipNorm:
      return "the gradients' norm against a right run";
    case Check::Loss:
      return "the loss curve alone";
  }
  return {};
}

std::vector<Finding> findings(const BreakReport& report) {
  std::vector<Finding> list;
  for (const Check check : {Check::Activations, Check::Gradients, Check::Replicas, Check::ClipNorm})
    list.push_back(look(report, check));
  list.push_back(look_at_loss(report));
  return list;
}

std::optional<Finding> first_finding(const BreakReport& report) {
  for (const auto& probe : report.probes) {
    if (!probe->finds()) continue;
    const TensorError& error = probe->first_error();
    return Finding{check_of(report.plan->program, error),
                   true,
                   probe->step,
                   error.tensor,
                   error.relative_error,
                   error.replica,
                   error.rank};
  }
  const Finding loss = look_at_loss(report);
  if (loss.sees) return loss;
  return std::nullopt;
}

LossVerdict loss_verdict(const BreakReport& report) {
  const std::vector<BreakStep>& steps = report.steps;
  LossVerdict verdict;
  const size_t count = std::min(kLossSteps, steps.size() / 2);
  if (count < 2) return verdict;
  verdict.steps = static_cast<int64_t>(count);
  const auto share = static_cast<double>(count);
  for (size_t i = steps.size() - count; i < steps.size(); ++i) {
    verdict.sound += steps[i].sound_loss / share;
    verdict.broken += steps[i].broken_loss / share;
    verdict.apart += std::abs(steps[i].broken_loss - steps[i].sound_loss) / share;
    verdict.ordinary += std::abs(steps[i].sound_loss - steps[i - 1].sound_loss) / share;
  }
  verdict.looks_healthy = verdict.apart <= verdict.ordinary;  // false when it is not a number
  return verdict;
}

std::string how_to_see(const BreakReport& report) {
  const std::optional<Finding> first = first_finding(report);
  if (!first)
    return "No check finds it here: every compared tensor is within its bound." + loss_sentence(report);
  if (first->check == Check::Loss) return "Only the loss curve shows it." + loss_sentence(report);
  std::string text;
  const int64_t earlier = report.probes.front()->step;
  if (first->step > earlier) text = fmt::format("In step {} every tensor is right. ", earlier);
  text += fmt::format("Comparing {} finds it first: {}", to_string(first->check), where(report, *first));
  text += std::isfinite(first->error) ? fmt::format(", relative error {:.2g}.", first->error)
                                      : ", which should be zero.";
  text += spread_sentence(report);
  const Finding replicas = look(report, Check::Replicas);
  text += replicas.sees ? fmt::format(" Comparing {} needs no right run, and shows {}.",
                                      to_string(Check::Replicas), where(report, replicas))
                        : " All copies stay equal on all ranks, so comparing them shows nothing.";
  return text + loss_sentence(report);
}

}  // namespace shardlens
