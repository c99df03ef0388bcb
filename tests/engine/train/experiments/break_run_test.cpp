// Every fault, planted and trained for 50 steps next to the correct model: it is found, its first tensor is
// named correctly, and its effect on the loss is measured.
#include "engine/train/experiments/break_run.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "engine/base/error.h"
#include "engine/base/worker.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/program/shown_name.h"
#include "engine/train/experiments/break_session.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace break_run_test {

using testing::CountingBatches;
using ::testing::HasSubstr;
using testing::small_layer;
using testing::small_model;

constexpr int64_t kSteps = 50;

BreakReport run_broken(const Settings& settings, Fault fault, int64_t steps = kSteps) {
  BreakRequest request{settings, fault, steps};
  BreakRun run(request, std::make_shared<CountingBatches>(settings), "numbers that count upward");
  while (!run.done()) run.step();
  return run.report();
}

std::string first_tensor(const BreakReport& report, const BreakProbe& probe) {
  return probe.finds() ? report.plan->program.tensor(probe.first_error().tensor).name : "";
}

Settings breakable(Fault fault) {
  return break_settings(small_model(2), fault).value().settings;
}

struct Case {
  Fault fault;
  int64_t step;  // where it first shows
  const char* tensor;
  Check check;
};

class EveryFault : public ::testing::TestWithParam<Case> {};

TEST_P(EveryFault, IsFoundWhereItBegins) {
  const auto [fault, step, tensor, check] = GetParam();
  const BreakReport report = run_broken(breakable(fault), fault);
  ASSERT_EQ(report.ended, "");
  ASSERT_EQ(report.steps.size(), static_cast<size_t>(kSteps));
  std::vector<int64_t> looked;
  for (const auto& probe : report.probes) looked.push_back(probe->step);
  EXPECT_EQ(looked, (std::vector<int64_t>{1, 2, 5, 10, 20, 50}));
  for (const auto& probe : report.probes) {
    EXPECT_EQ(probe->finds(), probe->step >= step) << "step " << probe->step;
    if (probe->step == step) {
      EXPECT_EQ(first_tensor(report, *probe), tensor);
    }
  }
  const auto first = first_finding(report);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->step, step);
  EXPECT_EQ(first->check, check);
  const Program& program = report.plan->program;
  const auto begins = std::find_if(program.tensors.begin(), program.tensors.end(),
                                   [&](const Tensor& one) { return one.name == tensor; });
  ASSERT_NE(begins, program.tensors.end());
  EXPECT_NE(how_to_see(report).find(shown_name(*begins)), std::string::npos) << how_to_see(report);
  const LossVerdict loss = loss_verdict(report);
  EXPECT_EQ(loss.steps, 10);
  EXPECT_EQ(loss.looks_healthy, loss.apart <= loss.ordinary);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, EveryFault,
    ::testing::Values(
        // Biases begin at 0: what counts T times is nothing until they have learned.
        Case{Fault::BiasBeforeReduction, 2, "h.0.attn.proj.out@partial", Check::Activations},
        Case{Fault::SkipF, 1, "grad.h.1.ln2.out", Check::Gradients},
        Case{Fault::SkipG, 1, "h.0.attn.proj.sum", Check::Activations},
        Case{Fault::GeluOnPartial, 1, "h.0.mlp.gelu@partial", Check::Activations},
        Case{Fault::QkvAcrossHeads, 1, "h.0.attn.qkv.out", Check::Activations},
        Case{Fault::ReduceCopy, 1, "embedding", Check::Activations},
        Case{Fault::LocalStatistics, 1, "h.0.ln1.out", Check::Activations},
        Case{Fault::OneDropoutStream, 1, "h.0.attn.context", Check::Activations},
        Case{Fault::OwnDropoutStreams, 1, "embedding.dropped", Check::Activations},
        Case{Fault::PaddedSoftmax, 1, "loss.sumexp@partial", Check::Activations},
        Case{Fault::TiedGradientLost, 1, "grad.transformer.wte.weight", Check::Gradients},
        Case{Fault::ClipInflated, 1, "squares.sharded@partial", Check::ClipNorm}),
    [](const auto& param) {
      std::string name = to_string(param.param.fault);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// Without the fault nothing differs by more than rounding, in any step: what is found is the fault.
TEST(BreakRun, TheTensorsBeforeTheFaultAreTheSameBits) {
  for (const Fault fault : {Fault::SkipG, Fault::LocalStatistics, Fault::BiasBeforeReduction}) {
    const BreakReport report = run_broken(breakable(fault), fault, 5);
    for (const auto& probe : report.probes) {
      const size_t end = probe->finds() ? static_cast<size_t>(probe->first) : probe->errors.size();
      for (size_t i = 0; i < end; ++i) {
        const Tensor& tensor = report.plan->program.tensor(probe->errors[i].tensor);
        if (tensor.layout.kind == LayoutKind::Partial) continue;  // its terms are added up in another order
        EXPECT_EQ(probe->errors[i].relative_error, 0) << tensor.name << " in step " << probe->step;
      }
    }
  }
}

// What earlier steps did to the weights is not taken for an error of this one.
TEST(BreakRun, ItStartsAtTheSamePlaceInEveryStep) {
  const std::pair<Fault, const char*> starts[] = {{Fault::QkvAcrossHeads, "h.0.attn.qkv.out"},
                                                  {Fault::PaddedSoftmax, "loss.sumexp@partial"},
                                                  {Fault::TiedGradientLost, "grad.transformer.wte.weight"},
                                                  {Fault::ClipInflated, "squares.sharded@partial"}};
  for (const auto& [fault, tensor] : starts) {
    const BreakReport report = run_broken(breakable(fault), fault, 10);
    for (const auto& probe : report.probes)
      EXPECT_EQ(first_tensor(report, *probe), tensor) << to_string(fault) << " in step " << probe->step;
  }
}

TEST(BreakRun, TheCurvesBeginTogetherAndThenDiffer) {
  const BreakReport report = run_broken(breakable(Fault::BiasBeforeReduction), Fault::BiasBeforeReduction);
  EXPECT_EQ(report.steps[0].sound_loss, report.steps[0].broken_loss) << "biases begin at 0";
  EXPECT_NE(report.steps.back().sound_loss, report.steps.back().broken_loss);
  EXPECT_LT(report.steps.back().sound_loss, report.steps.front().sound_loss);
}

TEST(BreakRun, ReplicasDivergeWhereNobodySumsTheGradient) {
  const BreakReport report = run_broken(breakable(Fault::SkipF), Fault::SkipF);
  const std::vector<Finding> all = findings(report);
  const Finding& replicas = all[static_cast<size_t>(Check::Replicas)];
  EXPECT_TRUE(replicas.sees);
  EXPECT_EQ(replicas.step, 1);
  const Spread forward = spread(report.plan->program, *report.probes[0], Phase::Forward);
  EXPECT_EQ(forward.broken, 0) << "the forward pass of the first step is right";
  EXPECT_GT(forward.compared, 20);
  EXPECT_GT(spread(report.plan->program, *report.probes[0], Phase::Backward).broken, 20);
}

// Each replica has its own right values, so that the wrong term of a sum over them is found too, and sums
// over some parts of the batch.
TEST(BreakRun, AFaultInOneReplicaAloneIsLocated) {
  for (const auto& [fault, tensor] :
       {std::pair{Fault::SkipG, "h.0.attn.proj.sum"},
        std::pair{Fault::TiedGradientLost, "grad.transformer.wte.weight.part2@replica"}}) {
    Settings settings = small_model(2, 2);
    settings.micro_batches = 2;
    BreakRequest request{settings, fault, 2};
    request.replica = 1;
    BreakRun run(request, std::make_shared<CountingBatches>(settings), "numbers that count upward");
    while (!run.done()) run.step();
    const BreakReport& report = run.report();
    ASSERT_EQ(report.ended, "");
    const BreakProbe& first = *report.probes.front();  // later, the weights are wrong on other replicas too
    ASSERT_TRUE(first.finds()) << to_string(fault);
    EXPECT_EQ(first_tensor(report, first), tensor);
    EXPECT_EQ(first.first_error().replica, 1);
    EXPECT_THAT(how_to_see(report), HasSubstr("replica 1"));
    for (const auto& probe : report.probes) {
      EXPECT_EQ(probe->coverage.compared, static_cast<int64_t>(probe->errors.size()));
      for (const LeftOutGroup& group : probe->coverage.left_out)
        EXPECT_TRUE(group.reason == LeftOut::Scratch || group.reason == LeftOut::Kept)
            << to_string(group.reason);
    }
  }
}

TEST(BreakRun, OneLayerIsRunOnceAndNotTrained) {
  BreakRun run({small_layer(4), Fault::SkipF, kSteps}, nullptr, "");
  while (!run.done()) run.step();
  const BreakReport& report = run.report();
  ASSERT_EQ(report.probes.size(), 1u);
  EXPECT_EQ(report.probes[0]->step, 0);
  EXPECT_EQ(first_tensor(report, *report.probes[0]), "grad.ln2.out");
  EXPECT_TRUE(report.steps.empty());
  EXPECT_EQ(loss_verdict(report).steps, 0);
}

const Tensor& named(const Program& program, const std::string& name) {
  return *std::find_if(program.tensors.begin(), program.tensors.end(),
                       [&](const Tensor& tensor) { return tensor.name == name; });
}

TEST(BreakRun, KeepsWhatEveryRankHeldInBothRunsAndTheDifference) {
  for (const auto& [fault, split] :
       {std::pair{Fault::SkipF, "megatron"}, std::pair{Fault::GeluOnPartial, "reversed"},
        std::pair{Fault::QkvAcrossHeads, "megatron"}}) {
    const Settings settings = break_settings(small_layer(4, split), fault)->settings;
    BreakRequest request{settings, fault, kSteps};
    request.keeps_passes = true;
    BreakRun run(request, nullptr, "");
    while (!run.done()) run.step();
    const BreakProbe& probe = *run.report().probes[0];
    const Result &sound = *probe.pass.sound, &broken = *probe.pass.broken;
    const Result& difference = *probe.pass.difference;
    const Program& program = broken.plan->program;
    EXPECT_EQ(difference.plan, broken.plan);
    int compared = 0;
    for (const Tensor& tensor : program.tensors) {
      const TensorId like = tensor_like(sound.plan->program, tensor);
      if (like == kNoTensor || sound.plan->program.tensor(like).layout != tensor.layout) continue;
      for (int rank = 0; rank < settings.tp; ++rank) {
        const auto r = static_cast<size_t>(rank), t = static_cast<size_t>(tensor.id);
        const auto& have = broken.samples[r][t];
        const auto& want = sound.samples[r][static_cast<size_t>(like)];
        const auto& apart = difference.samples[r][t];
        if (!have || !want || !apart) continue;
        ASSERT_EQ(have->matrix.rows, apart->matrix.rows) << tensor.name;
        for (int64_t row = 0; row < have->matrix.rows; ++row)
          for (int64_t col = 0; col < have->matrix.cols; ++col)
            ASSERT_FLOAT_EQ(static_cast<float>(apart->value(row, col)),
                            static_cast<float>(have->value(row, col) - want->value(row, col)))
                << tensor.name << " on rank " << rank;
        ++compared;
      }
    }
    EXPECT_GT(compared, 100) << to_string(fault);
    for (const Result* result : {&sound, &broken}) {
      ASSERT_EQ(result->events.size(), static_cast<size_t>(settings.tp));
      for (const auto& rank : result->events) ASSERT_EQ(rank.size(), result->plan->program.steps.size());
      EXPECT_GT(result->forward_seconds, 0);
      EXPECT_GT(result->backward_seconds, 0);
    }
  }
}

TEST(BreakRun, TheKeptHashesShowWhichCopiesDiffer) {
  BreakRequest request{small_layer(4), Fault::SkipF, kSteps};
  request.keeps_passes = true;
  BreakRun run(request, nullptr, "");
  while (!run.done()) run.step();
  const BreakProbe& probe = *run.report().probes[0];
  const Program& program = probe.pass.broken->plan->program;
  const TensorId wrong = named(program, "grad.ln2.out").id;
  const auto hashes = [&](const Result& result) {
    std::set<uint64_t> all;
    for (const auto& rank : result.samples) all.insert(rank[static_cast<size_t>(wrong)]->hash);
    return all.size();
  };
  EXPECT_EQ(hashes(*probe.pass.broken), 4u);
  EXPECT_EQ(hashes(*probe.pass.sound), 1u);
  const Step& step = program.step(producer_of(program, wrong));
  const Step* const missing = left_out_by(probe.pass.sound->plan->program, step);
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->op, Op::AllReduce);
  EXPECT_EQ(missing->conjugate, Conjugate::F);
  const auto at = static_cast<size_t>(step.id);
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(probe.pass.broken->events[rank][at].sent_bytes, 0);
    EXPECT_GT(probe.pass.sound->events[rank][at].sent_bytes, 0);
  }
  for (const Step& other : program.steps)
    EXPECT_EQ(left_out_by(probe.pass.sound->plan->program, other) != nullptr, other.id == step.id)
        << other.name;
}

TEST(BreakRun, KeepsNoPassUnlessAsked) {
  BreakRun run({small_layer(2), Fault::SkipG, kSteps}, nullptr, "");
  while (!run.done()) run.step();
  EXPECT_EQ(run.report().probes[0]->pass.broken, nullptr);
}

// The pass that is looked into begins with each rank's own weights, also where the fault has made copies
// differ.
TEST(BreakRun, CopiesThatHaveDivergedAreSeenInTheNextStep) {
  const BreakReport report = run_broken(breakable(Fault::SkipF), Fault::SkipF, 2);
  const auto differs = [](const TensorError& error) { return error.step < 0 && !error.ranks_identical; };
  const std::vector<TensorError>&first = report.probes[0]->errors, &second = report.probes[1]->errors;
  EXPECT_TRUE(std::none_of(first.begin(), first.end(), differs));
  EXPECT_TRUE(std::any_of(second.begin(), second.end(), differs));
}

TEST(BreakRun, WhatHasNoOpportunityIsRefusedWithTheRemedy) {
  try {
    BreakRun run({small_model(2), Fault::GeluOnPartial, kSteps},
                 std::make_shared<CountingBatches>(small_model(2)), "");
    FAIL() << "planted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--split reversed"));
  }
}

// A loss that is one number apart from a curve that moves more than that says nothing.
TEST(BreakReport, TheLossLooksHealthyWithinItsOwnUnrest) {
  BreakReport report;
  for (int i = 0; i < 20; ++i) {
    const double sound = 2 + 0.1 * (i % 2);
    report.steps.push_back({sound, sound + 0.05, 1, 1});
  }
  EXPECT_TRUE(loss_verdict(report).looks_healthy);
  EXPECT_NEAR(loss_verdict(report).apart, 0.05, 1e-12);
  EXPECT_NEAR(loss_verdict(report).ordinary, 0.1, 1e-12);
  for (BreakStep& step : report.steps) step.broken_loss += 0.1;
  EXPECT_FALSE(loss_verdict(report).looks_healthy);
  report.steps.back().broken_loss = std::nan("");
  EXPECT_FALSE(loss_verdict(report).looks_healthy);
}

Settings tiny_on_bytes() {
  Settings settings = small_model(2);
  settings.model.vocab = 257;
  settings.model.positions = 64;
  settings.seq = 16;
  return settings;
}

TEST(BreakSession, LooksRunsAndForgets) {
  BreakSession session;
  session.send(break_command::Look{tiny_on_bytes()});
  auto snapshot = session.wait_until_idle(60);
  ASSERT_EQ(snapshot->choices.size(), all_faults().size());
  EXPECT_EQ(snapshot->looked_at, tiny_on_bytes());
  for (const BreakChoice& choice : snapshot->choices)
    EXPECT_TRUE(choice.possible || choice.remedy) << to_string(choice.fault);
  session.send(break_command::Start{tiny_on_bytes(), Fault::SkipG, 6});
  snapshot = session.wait_until_idle(60);
  ASSERT_EQ(snapshot->state, BreakState::Done) << snapshot->message;
  EXPECT_EQ(snapshot->report->steps.size(), 6u);
  EXPECT_EQ(snapshot->planted, Fault::SkipG);
  session.send(break_command::Clear{});
  snapshot = session.wait_until_idle(60);
  EXPECT_FALSE(snapshot->planted);
  EXPECT_FALSE(snapshot->report);
}

TEST(BreakSession, StopsAtOnceAndAnotherFaultTakesItsPlace) {
  BreakSession session;
  session.send(break_command::Start{tiny_on_bytes(), Fault::SkipG, 100000});
  for (int i = 0; i < 5000 && (!session.snapshot()->report || session.snapshot()->report->steps.empty()); ++i)
    let_workers_go_on(0.002);
  session.send(break_command::Start{tiny_on_bytes(), Fault::SkipF, 100000});
  for (int i = 0; i < 5000 && (session.snapshot()->planted != Fault::SkipF || !session.snapshot()->report ||
                               session.snapshot()->report->steps.empty());
       ++i)
    let_workers_go_on(0.002);
  session.send(break_command::Stop{});
  const auto snapshot = session.wait_until_idle(60);
  EXPECT_EQ(snapshot->state, BreakState::Stopped) << snapshot->message;
  ASSERT_TRUE(snapshot->report);
  EXPECT_EQ(snapshot->report->fault, Fault::SkipF);
  EXPECT_FALSE(snapshot->report->steps.empty());
}

TEST(BreakSession, WhatCannotBePlantedIsRefused) {
  BreakSession session;
  session.send(break_command::Start{tiny_on_bytes(), Fault::GeluOnPartial, 5});
  const auto snapshot = session.wait_until_idle(60);
  EXPECT_EQ(snapshot->state, BreakState::Refused);
  EXPECT_THAT(snapshot->message, HasSubstr("--split reversed"));
}

}  // namespace break_run_test
}  // namespace shardlens
