// A mistake on one replica alone is found, whatever it is in, and its place is named: replica, rank, tensor.
#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "engine/base/error.h"
#include "engine/program/fault.h"
#include "engine/program/program_json.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace replica_parity_test {

using testing::compare;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::small_model;

// Changes one element of what a rank of a replica shows, in a copy: nothing is computed from it.
class Disturbed : public StepObserver {
 public:
  Disturbed(std::shared_ptr<ParityCheck> check, TensorId tensor, int replica, int rank, int ranks)
      : check_(std::move(check)), tensor_(tensor), replica_(replica), rank_(rank), ranks_(ranks) {}
  bool wants(const Tensor& tensor) const override { return check_->wants(tensor); }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override {
    on_replica_tensor(0, rank, step, tensor, data);
  }
  void on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor,
                         const void* data) override {
    std::vector<std::byte> bytes(static_cast<size_t>(local_bytes(tensor, ranks_, rank)));
    std::memcpy(bytes.data(), data, bytes.size());
    if (tensor.id == tensor_ && replica == replica_ && rank == rank_) disturb(tensor, bytes);
    check_->on_replica_tensor(replica, rank, step, tensor, bytes.data());
  }

 private:
  static void disturb(const Tensor& tensor, std::vector<std::byte>& bytes) {
    std::byte* const last = bytes.data() + bytes.size() - element_bytes(tensor.dtype);
    if (tensor.dtype == DType::Int32) {
      const int32_t value = 7777;
      std::memcpy(last, &value, sizeof value);
    } else if (tensor.dtype == DType::Fp64) {
      const double value = 77.77;
      std::memcpy(last, &value, sizeof value);
    } else {
      const float value = 77.77f;
      std::memcpy(last, &value, sizeof value);
    }
  }

  std::shared_ptr<ParityCheck> check_;
  TensorId tensor_;
  int replica_, rank_, ranks_;
};

class OneReplica : public ::testing::TestWithParam<int> {};

// Every tensor that counts as compared is compared on every rank of every replica.
TEST_P(OneReplica, AWrongElementOfAnyTensorIsFound) {
  Settings settings = small_model(2, 2);
  settings.micro_batches = GetParam();
  settings.model.layers = 1;
  const auto serial = std::make_shared<SerialReference>();
  testing::run(make_plan(plan_serial(settings)), {serial});
  const std::shared_ptr<const Plan> plan = make_plan(plan_program(settings));
  const Program& program = plan->program;
  const std::vector<OnReplicas> replicas = on_replicas(program);
  const Outcome sound = compare(settings);
  Executor executor(plan);
  int found = 0;
  for (const Tensor& tensor : program.tensors) {
    if (!sound.parity[static_cast<size_t>(tensor.id)]) continue;
    const int rank = found % 2;  // each in turn
    if (local_bytes(tensor, 2, rank) == 0) continue;
    const auto check = std::make_shared<ParityCheck>(program, serial, false);
    executor.observe({std::make_shared<Disturbed>(check, tensor.id, 1, rank, 2)});
    executor.rewind();
    executor.start(executor.steps());
    executor.wait();
    const ParityTable table = check->results();
    const ParitySummary summary = summarise(program, table);
    ASSERT_FALSE(summary.agrees) << tensor.name;
    ASSERT_EQ(program.tensor(summary.first_broken).name, tensor.name);
    const TensorParity& parity = *table[static_cast<size_t>(tensor.id)];
    // A copy of a term beside the one that is added up differs only in its bits.
    const bool is_term = replicas[static_cast<size_t>(tensor.id)] == OnReplicas::Terms;
    const bool is_sum_of_ranks = tensor.layout.kind == LayoutKind::Partial;
    if (!is_term) {
      EXPECT_EQ(parity.replica, 1) << tensor.name;
      EXPECT_EQ(parity.rank, is_sum_of_ranks ? -1 : rank) << tensor.name;
    }
    ++found;
  }
  EXPECT_EQ(found, sound.summary.coverage.compared);
}

INSTANTIATE_TEST_SUITE_P(Parts, OneReplica, ::testing::Values(1, 2),
                         [](const auto& param) { return "M" + std::to_string(param.param); });

TEST(OneReplicaAlone, APlantedFaultIsFoundAndLocated) {
  const std::set<Fault> alone = {Fault::SkipF,
                                 Fault::SkipG,
                                 Fault::OneDropoutStream,
                                 Fault::PaddedSoftmax,
                                 Fault::OwnDropoutStreams,
                                 Fault::TiedGradientLost,
                                 Fault::ClipInflated};
  for (const Fault fault : alone) {
    Settings settings = small_model(3, 2);
    settings.dropout = fault == Fault::OneDropoutStream || fault == Fault::OwnDropoutStreams ? 0.3 : 0.0;
    const Outcome everywhere = compare(settings, plant(plan_program(settings), fault));
    for (const int replica : {0, 1}) {
      const Outcome outcome = compare(settings, plant_in_replica(plan_program(settings), fault, replica));
      ASSERT_FALSE(outcome.summary.agrees) << to_string(fault) << " in " << replica;
      EXPECT_EQ(outcome.first_broken(), everywhere.first_broken()) << to_string(fault);
      const TensorParity& parity = *outcome.parity[static_cast<size_t>(outcome.summary.first_broken)];
      // Of a sum over the replicas nobody knows which term is wrong.
      EXPECT_EQ(parity.replica, fault == Fault::TiedGradientLost ? -1 : replica) << to_string(fault);
    }
  }
}

TEST(OneReplicaAlone, AFaultThatChangesTensorsIsRefused) {
  const auto refusal = [](const Settings& settings, Fault fault, int replica) -> std::string {
    try {
      plant_in_replica(plan_program(settings), fault, replica);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      return error.what();
    }
  };
  EXPECT_THAT(refusal(small_model(2, 2), Fault::ReduceCopy, 1), HasSubstr("changes tensors"));
  EXPECT_THAT(refusal(small_model(2, 2), Fault::SkipG, 2), HasSubstr("numbers 0 to 1"));
  EXPECT_THAT(refusal(small_model(2, 1), Fault::SkipG, 0), HasSubstr("--dp 2"));
  EXPECT_EQ(refusal(small_model(2, 2), Fault::SkipG, 1), "");
}

TEST(OneReplicaAlone, APlantedProgramReadsBack) {
  const Program program = plant_in_replica(plan_program(small_model(2, 2)), Fault::SkipG, 1);
  const nlohmann::json json = nlohmann::json::parse(program_to_json(program).dump());
  EXPECT_EQ(program_from_json(json, "it"), program);
  EXPECT_EQ(program_from_json(nlohmann::json::parse(program_text(program)), "it"), program);
  EXPECT_FALSE(program_to_json(plan_program(small_model(2, 2))).contains("odd"));
  nlohmann::json other = json;
  other["odd"]["replica"] = 2;
  EXPECT_THROW(program_from_json(other, "it"), Error);
  other = json;
  other["odd"]["steps"].erase(0);
  EXPECT_THROW(program_from_json(other, "it"), Error);
}

// The replicas do not have to be alike by chance: each has its own rows, also where the batch is run in
// parts.
TEST(OneReplicaAlone, EveryNumberOfReplicasAgrees) {
  for (const int dp : {2, 3, 4, 6}) {
    for (const int parts : {1, 2}) {
      Settings settings = small_model(2, dp);
      settings.batch = 24;
      settings.micro_batches = parts;
      settings.dtype = DType::Fp64;
      settings.dropout = 0.2;
      const Outcome outcome = compare(settings);
      EXPECT_TRUE(outcome.summary.agrees) << dp << " × " << parts << ": " << outcome.first_broken() << " "
                                          << outcome.summary.worst_relative_error;
      ASSERT_NE(outcome.of("logits"), nullptr);
      ASSERT_NE(outcome.of("grad.logits"), nullptr);
      ASSERT_NE(outcome.of("tokens"), nullptr);
    }
  }
}

// A prompt: the rows of the last tokens are counted from a replica's first row.
TEST(OneReplicaAlone, AGenerationAgreesOnEveryReplica) {
  for (const int dp : {1, 2, 4}) {
    Settings settings = small_model(2, dp);
    settings.update = false;
    settings.cache_tokens = 16;
    const Outcome outcome = compare(settings);
    EXPECT_TRUE(outcome.summary.agrees) << dp << ": " << outcome.first_broken();
    for (const LeftOutGroup& group : outcome.summary.coverage.left_out)
      EXPECT_TRUE(group.reason == LeftOut::Scratch || group.reason == LeftOut::Kept)
          << to_string(group.reason);
  }
}

}  // namespace replica_parity_test
}  // namespace shardlens
