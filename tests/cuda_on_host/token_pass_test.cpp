// Passes of one token by a rank team on simulated GPUs: how many kernels they launch, that a pass that is
// watched, whose steps run one by one, leaves the same bits as one that nobody watches, and that the host
// waits once for a token and its logits.
#include <gtest/gtest.h>

#include "engine/planner/planner.h"
#include "engine/record/sample.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/world.h"
#include "engine/train/model_state.h"
#include "tests/cuda_on_host/played_ranks.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/agreement.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace {

constexpr double kPatienceSeconds = 300;

/// Products of two and three slices, and a text of two pieces of keys.
Settings writer(int tp, int64_t key_heads) {
  Settings settings = testing::small_model(tp);
  settings.model.hidden = 208;
  settings.model.heads = 4;
  settings.model.kv_heads = key_heads;
  settings.model.ffn = 400;
  settings.model.positions = 80;
  settings.dtype = DType::Bf16;
  settings.backend = BackendChoice::Cuda;
  settings.batch = settings.seq = 1;
  settings.cache_tokens = 80;
  settings.update = false;
  return settings;
}

enum class Watch { None, Trace, Observer };

struct Written {
  std::vector<std::vector<std::byte>> logits, caches;
  int launches = 0, early_launches = 0;  ///< of the last pass

  bool operator==(const Written& other) const { return logits == other.logits && caches == other.caches; }
};

/// Tokens on both sides of a piece's end. What was before them is zero.
Written write(const Settings& settings, Watch watch) {
  const auto plan = make_plan(plan_generation(settings));
  const Program& program = plan->program;
  Executor executor(plan, take_local_seats(plan, std::make_shared<PlayedRanks>(true, kPatienceSeconds)),
                    nullptr);
  executor.set_traced(watch == Watch::Trace);
  if (watch == Watch::Observer)
    executor.observe({std::make_shared<Gather>(
        settings.tp, [](const Tensor& tensor) { return tensor.kind == MemoryKind::Activation; })});
  Written written;
  for (int32_t position = 61; position < 67; ++position) {
    Batch batch;
    batch.tokens = {(7 * position + 3) % 50};
    batch.positions = {position};
    PassInputs inputs;
    inputs.batch = std::make_shared<const Batch>(std::move(batch));
    executor.next_pass(std::move(inputs));
    const int before = on_host::launches, early_before = on_host::early_launches;
    executor.start(executor.steps());
    executor.wait();
    written.launches = on_host::launches - before;
    written.early_launches = on_host::early_launches - early_before;
    for (const Tensor& tensor : program.tensors)
      if (tensor.name == "logits") written.logits.push_back(read_whole(executor, program, tensor.id));
  }
  for (const Tensor& tensor : program.tensors)
    if (tensor.kind == MemoryKind::KeyValueCache && tensor.storage == kNoTensor)
      written.caches.push_back(read_whole(executor, program, tensor.id));
  return written;
}

TEST(TokenPass, HasTheSameBitsWhetherItIsWatchedOrNot) {
  struct Case {
    int tp;
    int64_t key_heads;
  };
  for (const auto& [tp, key_heads] : {Case{1, 0}, Case{2, 2}, Case{4, 0}}) {
    const Settings settings = writer(tp, key_heads);
    const Written alone = write(settings, Watch::None);
    EXPECT_EQ(alone.logits.size(), 6u);
    EXPECT_FALSE(alone.caches.empty());
    for (const Watch watch : {Watch::Trace, Watch::Observer}) {
      const Written watched = write(settings, watch);
      EXPECT_EQ(watched, alone) << "T = " << tp << (watch == Watch::Trace ? ", traced" : ", observed");
      EXPECT_GT(watched.launches, alone.launches);
    }
  }
}

// A layer: LayerNorm and QKV, append and attention, a product, LayerNorm of a sum and a product with GeLU, a
// product and a sum. Beside the layers: two lookups, their sum, the last LayerNorm, the logits.
TEST(TokenPass, LaunchesFiveKernelsALayerAndFiveMore) {
  on_host::captures = false;
  const Settings settings = writer(1, 0);
  const Written written = write(settings, Watch::None);
  const int of_layers = 5 * static_cast<int>(settings.model.layers);
  EXPECT_EQ(written.launches, of_layers + 5);
  EXPECT_EQ(written.early_launches, of_layers - 1);  // all but the first, which the lookups' sum is before
  on_host::captures = true;
}

/// A rank that has written some tokens, and the logits of the last one.
struct Writer {
  Writer()
      : executor(plan, take_local_seats(plan, std::make_shared<PlayedRanks>(true, kPatienceSeconds)),
                 nullptr) {
    for (const Tensor& tensor : plan->program.tensors)
      if (tensor.name == "logits") logits = tensor.id;
    executor.set_traced(false);
    for (int32_t position = 0; position < 8; ++position) pass(position);  // the last ones are graphs
  }
  void pass(int32_t position) {
    Batch batch;
    batch.tokens = {(7 * position + 3) % 50};
    batch.positions = {position};
    PassInputs inputs;
    inputs.batch = std::make_shared<const Batch>(std::move(batch));
    executor.next_pass(std::move(inputs));
    executor.start(executor.steps());
    executor.wait();
  }
  std::vector<std::byte> read() const { return read_whole(executor, plan->program, logits); }

  const std::shared_ptr<const Plan> plan = make_plan(plan_generation(writer(1, 0)));
  Executor executor;
  TensorId logits = kNoTensor;
};

TEST(TokenHost, WaitsOnceForATokenAndItsLogits) {
  Writer writer;
  const int copies = on_host::copies, streams = on_host::stream_synchronizes,
            events = on_host::event_synchronizes, records = on_host::event_records,
            graphs = on_host::graph_launches, launches = on_host::launches;
  writer.pass(8);
  const std::vector<std::byte> first = writer.read();
  EXPECT_EQ(on_host::copies - copies, 2) << "token and position; logits";
  EXPECT_EQ(on_host::stream_synchronizes - streams, 0);
  EXPECT_EQ(on_host::event_synchronizes - events, 2) << "for the last copy's pinned memory; for the pass";
  EXPECT_EQ(on_host::event_records - records, 4)
      << "of the pinned memory, of the mark, and two where the steps wait for collectives";
  EXPECT_EQ(on_host::graph_launches - graphs, 1);
  EXPECT_EQ(on_host::launches - launches, 0);
  EXPECT_EQ(writer.read(), first);
  EXPECT_EQ(on_host::copies - copies, 2) << "they are there";
}

TEST(TokenHost, ReadsWhatWasWrittenOverTheLogits) {
  Writer writer;
  std::vector<std::byte> others = writer.read();
  for (std::byte& byte : others) byte ^= std::byte{1};
  write_whole(writer.executor, writer.plan->program, writer.logits, others);
  EXPECT_EQ(writer.read(), others);
  writer.pass(8);
  EXPECT_NE(writer.read(), others);
}

}  // namespace
}  // namespace shardlens
