// Counts the instructions of the hot paths: each is run once to prepare what it keeps, and once more while
// callgrind counts. Unlike a time, a count is the same on every run, so a slower path is noticed whatever
// else the machine does. The kernels are compiled for x86-64-v3, which callgrind supports. Matrix products
// are oneDNN's and are not counted, except for those inside attention.
//
//   instruction_paths          every path, for run.sh, which reads the counts under the names given here
#include <valgrind/callgrind.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/local_kernels.h"
#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/cost/model_price.h"
#include "engine/cost/tournament.h"
#include "engine/device/device.h"
#include "engine/device/measure.h"
#include "engine/io/half.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr int64_t kRows = 128, kCols = 768, kCount = kRows * kCols;  // a few tokens of GPT-2
constexpr int64_t kVocab = 4096;
constexpr int64_t kHeads = 4, kHeadDim = 64, kSeq = 128;
constexpr Activation kTanh = Activation::GeluTanh;
constexpr double kEpsilon = 1e-5;

/// Numbers between -1 and 1 without a pattern, the same everywhere.
std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
  }
  return values;
}

std::vector<Bf16> halves(int64_t count) {
  std::vector<Bf16> values;
  for (const float value : numbers(count)) values.push_back(Bf16(value));
  return values;
}

/// What all paths compute on: enough for the largest, filled before each.
struct Buffers {
  std::vector<float> a = numbers(kRows * kVocab), b = numbers(kRows * kVocab), c = numbers(kRows * kVocab),
                     d = numbers(kRows * kVocab);
  std::vector<Bf16> half_a = halves(kCount), half_b = halves(kCount), half_c = halves(kCount);
  std::vector<float> row = numbers(kVocab), other_row = numbers(kVocab);
  std::vector<int32_t> ids = std::vector<int32_t>(kRows, 7);
  std::vector<float> workspace =
      std::vector<float>(static_cast<size_t>(attention_workspace_elements(DType::Bf16, kSeq, kHeadDim)));
  double total = 0;
};

struct Path {
  std::string name;
  std::function<void()> run;
};

class Paths {
 public:
  void add(const std::string& name, std::function<void()> run) { paths_.push_back({name, std::move(run)}); }
  void count() const {
    for (const Path& path : paths_) {
      path.run();
      CALLGRIND_ZERO_STATS;
      CALLGRIND_TOGGLE_COLLECT;
      path.run();
      CALLGRIND_TOGGLE_COLLECT;
      CALLGRIND_DUMP_STATS_AT(path.name.c_str());
    }
  }

 private:
  std::vector<Path> paths_;
};

void add_kernels(Paths& paths, Device& device, Buffers& x) {
  const DType fp32 = DType::Fp32, bf16 = DType::Bf16;
  float *const a = x.a.data(), *const b = x.b.data(), *const c = x.c.data(), *const d = x.d.data();
  float *const row = x.row.data(), *const other_row = x.other_row.data();
  paths.add("gelu fp32", [=, &device] { device.gelu(fp32, kTanh, kCount, a, c); });
  paths.add("gelu bf16", [&] { device.gelu(bf16, kTanh, kCount, x.half_a.data(), x.half_c.data()); });
  GeluGrad gelu_grad{.count = kCount, .x = a, .dy = b, .dx = c};
  paths.add("gelu-grad fp32", [=, &device] { device.gelu_grad(gelu_grad); });
  LayerNorm norm{.rows = kRows,
                 .cols = kCols,
                 .epsilon = kEpsilon,
                 .x = a,
                 .gamma = row,
                 .beta = row,
                 .y = c,
                 .stats = other_row};
  paths.add("layer-norm fp32", [=, &device] { device.layer_norm(norm); });
  LayerNormGrad norm_grad{.rows = kRows,
                          .cols = kCols,
                          .x = a,
                          .gamma = row,
                          .stats = other_row,
                          .dy = b,
                          .dx = c,
                          .dgamma = d,
                          .dbeta = d + kCols};
  paths.add("layer-norm-grad fp32", [=, &device] { device.layer_norm_grad(norm_grad); });
  // Fused, as whole models have them.
  gelu_grad.sums = {.cols = kCols, .db = d};
  paths.add("gelu-grad fp32, with the bias gradient", [=, &device] { device.gelu_grad(gelu_grad); });
  norm.a = b;
  norm.bias = row;
  norm.sum = d;
  paths.add("layer-norm fp32, of a sum with a bias", [=, &device] { device.layer_norm(norm); });
  norm_grad.addend = d + 2 * kCols;
  paths.add("layer-norm-grad fp32, and a sum", [=, &device] { device.layer_norm_grad(norm_grad); });
  const BiasAdd bias_add{.rows = kRows, .cols = kCols, .x = a, .bias = row, .y = c};
  paths.add("bias-add fp32", [=, &device] { device.bias_add(bias_add); });
  paths.add("bias-grad fp32", [=, &device] { device.bias_grad(fp32, kRows, kCols, a, c); });
  paths.add("add fp32", [=, &device] { device.add(fp32, kCount, a, b, c); });
  const auto dropout = [=, &device] {
    device.dropout(fp32, {.probability = 0.1, .seed = 1, .stream = 2},
                   {.first = 0, .rows = kRows, .run = kCols, .stride = kCols}, a, c);
  };
  paths.add("dropout fp32", dropout);
}

void add_attention(Paths& paths, Device& device, Buffers& x) {
  const Attention forward{.batch = 1,
                          .seq = kSeq,
                          .heads = kHeads,
                          .head_dim = kHeadDim,
                          .causal = true,
                          .qkv = x.a.data(),
                          .saved = x.b.data(),
                          .context = x.c.data(),
                          .workspace = x.workspace.data()};
  paths.add("attention fp32", [=, &device] { device.attention(forward); });
  const AttentionGrad gradient{.forward = forward, .dcontext = x.c.data(), .dqkv = x.d.data()};
  paths.add("attention-grad fp32", [=, &device] { device.attention_grad(gradient); });
}

void add_loss(Paths& paths, Device& device, Buffers& x) {
  static const VocabShard shard{.tokens = kRows, .columns = {0, kVocab}, .vocab = kVocab};
  float *const logits = x.a.data(), *const max = x.row.data(), *const sum = x.row.data() + kRows;
  paths.add("vocab-max fp32", [=, &device] { device.vocab_max(shard, logits, max); });
  const SumExp sum_exp{.shard = shard, .logits = logits, .max = max, .sum = sum};
  paths.add("sum-exp fp32", [=, &device] { device.sum_exp(sum_exp); });
  const CrossEntropyGrad grad{.shard = shard,
                              .logits = logits,
                              .labels = x.ids.data(),
                              .max = max,
                              .sum = sum,
                              .weights = x.other_row.data(),
                              .dlogits = x.b.data()};
  paths.add("cross-entropy-grad fp32", [=, &device] { device.cross_entropy_grad(grad); });
}

void add_optimizer(Paths& paths, Device& device, Buffers& x) {
  static const double factor = 0.5;
  const AdamWStep step{.count = kCount,
                       .parameter = x.a.data(),
                       .gradient = x.b.data(),
                       .first_moment = x.c.data(),
                       .second_moment = x.d.data(),
                       .factor = &factor,
                       .learning_rate = 1e-3,
                       .weight_decay = 0.01,
                       .beta1 = 0.9,
                       .beta2 = 0.95,
                       .epsilon = 1e-8};
  paths.add("square-sum fp32", [&] {
    const ListedTensor all{kCount, x.a.data()};
    device.square_sum(DType::Fp32, {&all, 1}, &x.total);
  });
  paths.add("adamw fp32", [&device, &x, step] {
    std::fill_n(x.d.begin(), kCount, 0.25f);  // a second moment is no negative number
    device.adamw({&step, 1});
  });
}

// A row times a matrix; as panels, whatever lies in them, or row-major.
void add_generation(Paths& paths, Device& device, Buffers& x) {
  Gemm fp32{.m = 1, .n = kCols, .k = kRows, .lda = kRows, .ldb = kCols, .ldc = kCols};
  Gemm bf16 = fp32;
  fp32.a = x.row.data();
  fp32.b = x.a.data();
  fp32.c = x.c.data();
  bf16.dtype = DType::Bf16;
  bf16.a = x.half_a.data();
  bf16.b = x.half_b.data();
  bf16.c = x.half_c.data();
  paths.add("a row times a matrix fp32", [&device, fp32] { device.gemm(fp32); });
  paths.add("a row times a matrix bf16", [&device, bf16] { device.gemm(bf16); });
  fp32.b_panel_cols = bf16.b_panel_cols = device.panel_cols();
  paths.add("a row times panels fp32", [&device, fp32] { device.gemm(fp32); });
  paths.add("a row times panels bf16", [&device, bf16] { device.gemm(bf16); });
}

// One new token against a cache that is nearly full.
void add_cached_attention(Paths& paths, Device& device, Buffers& x) {
  static const int32_t last = kSeq - 1;
  static const CacheShape shape{
      .batch = 1, .seq = 1, .room = kSeq, .heads = kHeads, .head_dim = kHeadDim, .positions = &last};
  paths.add("cached-attention fp32", [&device, &x] {
    device.cached_attention({.shape = shape,
                             .qkv = x.row.data(),
                             .keys = x.a.data(),
                             .values = x.b.data(),
                             .probs = x.c.data(),
                             .context = x.d.data()});
  });
  static CacheShape half = shape;
  half.dtype = DType::Bf16;
  paths.add("cached-attention bf16", [&device, &x] {
    device.cached_attention({.shape = half,
                             .qkv = x.half_a.data(),
                             .keys = x.half_b.data(),
                             .values = x.half_b.data() + kSeq * kHeads * kHeadDim,
                             .probs = x.half_c.data(),
                             .context = x.half_c.data() + kSeq * kHeads,
                             .workspace = x.workspace.data()});
  });
}

Settings whole(const std::string& model) {
  Settings settings;
  settings.model = model_preset(model);
  settings.block = Block::Model;
  return settings;
}

void add_around_the_device(Paths& paths, Buffers& x) {
  paths.add("all-reduce of 4, a rank's part", [&] {
    const void* const from[] = {x.a.data(), x.b.data(), x.c.data(), x.d.data()};
    void* const to[] = {x.a.data(), x.b.data(), x.c.data(), x.d.data()};
    sum_in_order(DType::Fp32, from, 0, to, 0, kCount);
  });
  paths.add("a picture fp32", [&] { measure(DType::Fp32, x.d.data(), kRows, kCols, 64, 64, x.row.data()); });
  paths.add("a plan of one GPT-2 layer at T = 4", [] {
    Settings settings;
    settings.model = model_preset("gpt2");
    settings.tp = 4;
    make_plan(settings);
  });
  paths.add("a plan of a whole GPT-2 at T = 4", [] {
    Settings settings = whole("gpt2");
    settings.update = true;
    settings.tp = 4;
    make_plan(settings);
  });
  paths.add("the price of 10^12 parameters", [] {
    Settings settings = whole("gpt-1t");
    settings.update = true;
    settings.tp = 8;
    settings.dp = 6;
    settings.micro_batches = 512;
    settings.batch = int64_t{6} * 512;
    settings.seq = 2048;
    settings.dtype = DType::Fp16;
    settings.recompute = Recompute::Full;
    price_model(settings, find_hardware("a100-80gb"));
  });
  paths.add("a tournament of 4 ranks",
            [] { hold_tournament(whole("gpt2"), 4, find_hardware("a100-80gb"), int64_t{80} << 30, 5); });
}

}  // namespace
}  // namespace shardlens

int main() {
  using namespace shardlens;
  const std::unique_ptr<Device> device = make_cpu_device(1);
  Buffers buffers;
  Paths paths;
  add_kernels(paths, *device, buffers);
  add_attention(paths, *device, buffers);
  add_loss(paths, *device, buffers);
  add_optimizer(paths, *device, buffers);
  add_generation(paths, *device, buffers);
  add_cached_attention(paths, *device, buffers);
  add_around_the_device(paths, buffers);
  paths.count();
  return 0;
}
