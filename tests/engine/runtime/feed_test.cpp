// The initial values of tensors: the same bits whichever rank fills them, and a 16-bit weight next to its
// fp32 copy.
#include "engine/runtime/feed.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "engine/io/atomic_file.h"
#include "engine/io/half.h"
#include "engine/io/temporary_folder.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/world.h"
#include "tests/engine/distant_device.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace feed_test {

// A matrix of more elements than one thread takes at a time, and slices that begin anywhere.
Settings wide_model(DType dtype) {
  Settings settings = testing::small_model(2);
  settings.dtype = dtype;
  settings.model.vocab = 9001;
  return settings;
}

bool lasts(const Tensor& tensor) {
  return tensor.storage == kNoTensor &&
         (tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::OptimizerState);
}

size_t bytes_of(const Program& program, const Tensor& tensor, int rank) {
  return static_cast<size_t>(local_bytes(tensor, program.tp(), rank));
}

TEST(Feed, TheNumberOfThreadsChangesNoBit) {
  Settings integers = testing::small_layer(2);
  integers.operands = Operands::Integer;
  integers.model.ffn = 4000;
  for (const Settings& settings :
       {wide_model(DType::Fp32), wide_model(DType::Fp64), wide_model(DType::Bf16), integers}) {
    const auto plan = make_plan(settings);
    const Program& program = plan->program;
    const Feed feed(program);
    for (const Tensor& tensor : program.tensors) {
      if (!lasts(tensor)) continue;
      for (int rank = 0; rank < program.tp(); ++rank) {
        const size_t bytes = bytes_of(program, tensor, rank);
        std::vector<std::byte> one(bytes, std::byte{1}), many(bytes, std::byte{2});
        feed.fill(tensor, rank, 1, one.data());
        feed.fill(tensor, rank, 5, many.data());
        ASSERT_EQ(one, many) << tensor.name << ", rank " << rank << ", " << to_string(settings.dtype);
      }
    }
  }
}

// What a team of ranks holds before the first step, in memory that the host may touch and in memory it may
// not: after a pass that moved all of it, since new memory may hold zeros by itself.
TEST(Feed, ATeamHoldsWeightsThatAreTheirMastersRoundedAndMomentsOfZeros) {
  for (const bool distant : {false, true}) {
    const auto plan = make_plan(wide_model(DType::Fp16));
    const Program& program = plan->program;
    const auto executor = distant
                              ? std::make_unique<Executor>(
                                    plan, take_local_seats(plan, testing::make_distant_backend()), nullptr)
                              : std::make_unique<Executor>(plan);
    executor->start(executor->steps());
    executor->wait();
    executor->rewind();
    executor->start(1);
    executor->wait();
    const Feed feed(program);
    int weights = 0, moments = 0;
    for (const Tensor& tensor : program.tensors) {
      if (!lasts(tensor)) continue;
      for (int rank = 0; rank < program.tp(); ++rank) {
        const size_t bytes = bytes_of(program, tensor, rank);
        std::vector<std::byte> held(bytes, std::byte{1}), wanted(bytes);
        executor->read_tensor(rank, tensor.id, held.data());
        if (feed.is_zero(tensor))
          ++moments;
        else
          feed.fill(tensor, rank, 1, wanted.data());
        ASSERT_EQ(held, wanted) << tensor.name << ", rank " << rank;
        const Tensor* const master = feed.master_of(tensor);
        if (master == nullptr) continue;
        ++weights;
        EXPECT_EQ(feed.weight_of(*master), &tensor);
        std::vector<float> wide(bytes / 2);
        executor->read_tensor(rank, master->id, wide.data());
        std::vector<uint16_t> rounded(wide.size());
        narrow(tensor.dtype, wide.data(), static_cast<int64_t>(wide.size()), rounded.data());
        EXPECT_EQ(std::memcmp(rounded.data(), held.data(), bytes), 0) << tensor.name << ", rank " << rank;
      }
    }
    EXPECT_GT(weights, 20);
    EXPECT_EQ(moments, 2 * weights);
  }
}

// A text of which each rank takes its own tokens, or its own columns of all.
TEST(Feed, AFileIsCutLikeAnyTensor) {
  const TemporaryFolder folder;
  const std::string path = folder.path_of("input.txt");
  write_file_atomically(path, kOwnFile, std::string(20, 'a') + std::string(28, 'b'));
  for (const NormCut norm : {NormCut::Replicated, NormCut::Sequence, NormCut::Parallel}) {
    Settings settings = testing::small_layer(2);
    settings.split.norm = norm;
    settings.input = {InputKind::Text, path};
    const testing::Outcome outcome = testing::compare(settings);
    EXPECT_EQ(outcome.of("X")->relative_error, 0) << to_string(norm);
    EXPECT_TRUE(outcome.summary.agrees) << to_string(norm) << ": " << outcome.first_broken();
  }
}

}  // namespace feed_test
}  // namespace shardlens
