// Which steps are fused, and that fusion changes no bit.
#include "engine/planner/fusion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/planner/memory_plan.h"
#include "engine/program/program_json.h"
#include "engine/runtime/gather.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace fusion_test {

using testing::run;
using testing::small_bert;
using testing::small_bert_layer;
using testing::small_layer;
using testing::small_model;

Settings with(Settings settings, Fusion fusion) {
  settings.fusion = fusion;
  return settings;
}

Settings for_gpus(Settings settings, DType dtype = DType::Bf16) {
  settings.backend = BackendChoice::Cuda;
  settings.dtype = dtype;
  return settings;
}

int count(const Program& program, Op op) {
  return static_cast<int>(std::count_if(program.steps.begin(), program.steps.end(),
                                        [op](const Step& step) { return step.op == op; }));
}

const Step& named(const Program& program, const std::string& name) {
  const auto step = std::find_if(program.steps.begin(), program.steps.end(),
                                 [&](const Step& one) { return one.name == name; });
  if (step == program.steps.end()) throw std::runtime_error("no step " + name);
  return *step;
}

TEST(Fusion, ALayersPassesBecomeOneWhereTheyFollowEachOther) {
  const Program plain = plan_program(small_layer(2)), fused = plan_program(with(small_layer(2), Fusion::On));
  EXPECT_EQ(plan_program(with(small_layer(2), Fusion::Off)).steps, plain.steps);
  // Forward: attention's bias and residual sum join ln_2; the last bias joins the last sum. Backward: both
  // norms' gradients take the sum they join, GeLU's takes the gradient of the bias before it.
  EXPECT_EQ(count(plain, Op::Add), 4);
  EXPECT_EQ(count(fused, Op::Add), 0);
  EXPECT_EQ(count(plain, Op::BiasAdd), 2);
  EXPECT_EQ(count(fused, Op::BiasAdd), 1);
  EXPECT_EQ(count(fused, Op::BiasGrad), count(plain, Op::BiasGrad) - 1);
  EXPECT_EQ(fused.steps.size(), plain.steps.size() - 6);
  EXPECT_EQ(named(fused, "ln2").inputs.size(), 5u);
  EXPECT_EQ(named(fused, "ln2").outputs.size(), 3u);
  EXPECT_EQ(named(fused, "ln1").inputs.size(), 3u);  // of the layer's input, which is no sum of this layer
  EXPECT_EQ(named(fused, "ln2").equation, "R = X + O + b; N = LayerNorm(R)");
  for (const Step& step : fused.steps) {
    if (step.op == Op::LayerNormGrad) {
      EXPECT_EQ(step.inputs.size(), 5u) << step.name;
    }
    if (step.op == Op::GeluGrad) {
      EXPECT_EQ(step.outputs.size(), 2u) << step.name;
    }
  }
}

// A matrix that every rank holds whole has its bias in the product.
TEST(Fusion, WithoutASumOverRanksTheResidualSumAloneJoinsTheNorm) {
  const Program fused = plan_program(with(small_layer(2, "replicated"), Fusion::On));
  EXPECT_EQ(named(fused, "ln2").inputs.size(), 4u);
  EXPECT_EQ(count(fused, Op::BiasAdd), 0);
  EXPECT_EQ(count(fused, Op::Add), 1);  // the layer's last
}

TEST(Fusion, IsForWholeModelsUnlessAskedFor) {
  EXPECT_EQ(plan_program(small_model(2)).steps, plan_program(with(small_model(2), Fusion::On)).steps);
  EXPECT_LT(plan_program(small_model(2)).steps.size(),
            plan_program(with(small_model(2), Fusion::Off)).steps.size());
}

// Every tensor is written before it is read, every id is its place, no tensor is left that nobody touches.
TEST(Fusion, LeavesAWholeProgram) {
  for (const char* split : {"megatron", "megatron-sp", "reversed", "row-row", "replicated"})
    for (const int tp : {1, 3})
      for (Settings settings :
           {small_model(tp, 1, split), small_bert(tp, 1, split), for_gpus(small_model(tp, 1, split))}) {
        settings.micro_batches = 2;
        settings.recompute = tp == 3 ? Recompute::Full : Recompute::None;
        const Program program = plan_program(settings);
        std::set<TensorId> touched, written;
        for (size_t i = 0; i < program.steps.size(); ++i) {
          const Step& step = program.steps[i];
          EXPECT_EQ(step.id, static_cast<StepId>(i));
          for (const TensorId id : step.inputs) {
            touched.insert(id);
            const bool made = program.tensor(id).kind == MemoryKind::Activation ||
                              program.tensor(id).kind == MemoryKind::ActivationGradient;
            if (made) {
              EXPECT_TRUE(written.count(id)) << step.name << " reads " << program.tensor(id).name;
            }
          }
          for (const TensorId id : step.outputs) {
            touched.insert(id);
            written.insert(id);
          }
          if (step.pair >= 0) {
            EXPECT_EQ(program.step(step.pair).conjugate, step.conjugate) << step.name;
          }
        }
        for (const Tensor& tensor : program.tensors)
          EXPECT_TRUE(touched.count(tensor.id) || tensor.kind == MemoryKind::Input) << tensor.name;
        EXPECT_EQ(program_from_json(nlohmann::json::parse(program_to_json(program).dump()), "test"), program);
      }
}

TEST(Fusion, ForGpusGeluIsOneStepWithItsProduct) {
  for (const char* split : {"megatron", "megatron-sp", "replicated"})
    for (const int tp : {1, 2})
      for (const int dp : {1, 2}) {
        Settings settings = for_gpus(small_model(tp, dp, split));
        settings.micro_batches = 2;
        const Program program = plan_program(settings);
        EXPECT_EQ(count(program, Op::Gelu) + count(program, Op::GeluGrad), 0) << split << tp << dp;
        int forward = 0, backward = 0, added = 0;
        for (const Step& step : program.steps) {
          const auto symbol = [&](TensorId id) { return program.tensor(id).symbol; };
          if (step.op == Op::Linear && step.outputs.size() == 2) {
            ++forward;
            EXPECT_TRUE(step.name.find("mlp.fc") != std::string::npos) << step.name;
            EXPECT_EQ(step.equation, "H = N · Wfc + b; G = GeLU(H)");
            EXPECT_EQ(symbol(step.outputs[0]), "G");
            EXPECT_EQ(symbol(step.outputs[1]), "H");
          }
          if (step.op == Op::LinearGradInput && step.inputs.size() > 2) {
            ++backward;
            added += step.attributes.accumulate;
            EXPECT_TRUE(step.name.find("mlp.proj dX") != std::string::npos) << step.name;
            EXPECT_EQ(symbol(step.inputs[2]), "H");
            EXPECT_EQ(step.inputs.size(), step.attributes.accumulate ? 4u : 3u);
            EXPECT_EQ(symbol(step.outputs[0]), "dH");
            EXPECT_EQ(step.outputs.size(), step.attributes.accumulate ? 2u : 1u)
                << "the first part's bias gradient is in its product";
          }
        }
        const int layers = static_cast<int>(settings.model.layers);
        EXPECT_EQ(forward, 2 * layers);
        EXPECT_EQ(backward, 2 * layers);
        EXPECT_EQ(added, layers) << "the second part's sums, to the first's";
      }
}

// Each from the dY that both read. The second part's are added to the first's, which products cannot do.
TEST(Fusion, ForGpusABiasGradientIsOneStepWithItsWeights) {
  const auto is_bias_gradient = [](const Step& step) {
    return step.op == Op::BiasGrad && !step.attributes.accumulate;
  };
  for (const int tp : {1, 2}) {
    Settings settings = for_gpus(small_model(tp, 2, "megatron"));
    settings.micro_batches = 2;
    const Program program = plan_program(settings);
    EXPECT_EQ(std::ranges::count_if(program.steps, is_bias_gradient), 0) << tp;
    int joined = 0;
    for (const Step& step : program.steps) {
      if (step.op != Op::LinearGradWeight || step.outputs.size() == 1) continue;
      ++joined;
      EXPECT_FALSE(step.attributes.accumulate);
      const TensorId db = output_of(program, step, Operand::BiasGrad);
      ASSERT_NE(db, kNoTensor);
      EXPECT_EQ(program.tensor(db).shape.back(), program.tensor(step.inputs[1]).shape.back()) << step.name;
      if (step.name.find("mlp.fc") != std::string::npos) {
        EXPECT_EQ(step.equation, "dWfc = Nᵀ · dH; db = Σ tokens dH");
      }
    }
    EXPECT_EQ(joined, 4 * settings.model.layers) << tp;
  }
  Settings rounded = for_gpus(small_model(2), DType::Fp32), wherever = for_gpus(small_model(2));
  rounded.tf32 = true;
  wherever.backend = BackendChoice::Auto;
  for (const Settings& settings : {rounded, wherever, with(for_gpus(small_model(2)), Fusion::Off)})
    EXPECT_GT(std::ranges::count_if(plan_program(settings).steps, is_bias_gradient), 0);
}

// The sum over the tokens of a rank's rows is not that of all rows, which the weight's gradient needs.
TEST(Fusion, ABiasGradientOfOtherRowsStaysAStep) {
  const Program program = plan_program(for_gpus(small_model(2, 1, "megatron-sp")));
  EXPECT_GT(count(program, Op::BiasGrad), 0);
  for (const Step& step : program.steps) {
    if (step.op != Op::BiasGrad) continue;
    for (const Step& other : program.steps)
      EXPECT_FALSE(other.op == Op::LinearGradWeight && !other.attributes.transposed &&
                   other.inputs[1] == step.inputs[0])
          << step.name;
  }
}

TEST(Fusion, GeluStaysAStepWhereItsLastBitsCount) {
  const auto passes = [](const Settings& settings) { return count(plan_program(settings), Op::GeluGrad); };
  const Settings model = small_model(2);
  Settings rounded = for_gpus(model, DType::Fp32), wherever = for_gpus(model);
  rounded.tf32 = true;
  wherever.backend = BackendChoice::Auto;
  EXPECT_EQ(passes(for_gpus(model)), 0);
  EXPECT_EQ(passes(for_gpus(model, DType::Fp16)), 0);
  EXPECT_EQ(passes(rounded), 0);
  for (const Settings& settings : {for_gpus(model, DType::Fp32), for_gpus(model, DType::Fp64),
                                   for_gpus(small_bert(2)), wherever, with(for_gpus(model), Fusion::Off)})
    EXPECT_GT(passes(settings), 0) << to_string(settings.dtype) << " " << settings.model.name;
}

// A Program with the room that the CPU's operations need, and one step where there is one on GPUs.
Program fused_as_for_gpus(Settings settings) {
  Program program = plan_program(with(settings, Fusion::Off));
  program.settings = with(for_gpus(settings, settings.dtype), Fusion::On);
  program = fused(std::move(program));
  program.settings.backend = BackendChoice::Cpu;
  return program;
}

// What the program computes that stays, of all ranks, by name.
std::map<std::string, GatheredTensor> results(Program program) {
  const Settings settings = program.settings;
  const std::shared_ptr<const Plan> plan = make_plan(std::move(program));
  const auto gathered = std::make_shared<Gather>(settings.tp, [](const Tensor& tensor) {
    return tensor.layout.kind != LayoutKind::Partial &&
           (tensor.keep || tensor.kind == MemoryKind::WeightGradient || tensor.name.starts_with("param."));
  });
  run(plan, {gathered});
  return gathered->tensors();
}

std::string first_difference(const Settings& settings, Program program) {
  const auto fused = results(std::move(program)), plain = results(plan_program(with(settings, Fusion::Off)));
  if (fused.size() < 4 || fused.size() != plain.size())
    return fmt::format("{} and {} tensors", fused.size(), plain.size());
  for (const auto& [name, tensor] : plain)
    if (fused.at(name).bytes != tensor.bytes) return name;
  return "";
}
std::string first_difference(const Settings& settings) {
  return first_difference(settings, plan_program(with(settings, Fusion::On)));
}

TEST(Fusion, ChangesNoBitOfALayer) {
  for (const auto& layer : {small_layer, small_bert_layer})
    for (const char* split : {"megatron", "megatron-sp", "row-row"})
      for (const DType dtype : {DType::Fp32, DType::Fp64})
        for (const int tp : {1, 3}) {
          Settings settings = layer(tp, split);
          settings.dtype = dtype;
          EXPECT_EQ(first_difference(settings), "") << split << " T " << tp << " " << to_string(dtype);
        }
}

// In every dtype, accumulated over parts, with one thread a rank (which makes some sums in another pass than
// several do) and three.
TEST(Fusion, ChangesNoBitOfAModel) {
  for (const auto& model : {small_model, small_bert})
    for (const DType dtype : {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16})
      for (const int threads : {1, 3})
        for (const int tp : {1, 2}) {
          Settings settings = model(tp, 1, "megatron");
          settings.dtype = dtype;
          settings.threads_per_rank = threads;
          settings.micro_batches = tp;
          settings.dropout = tp == 1 ? 0.1 : 0;
          settings.recompute = threads == 3 ? Recompute::Full : Recompute::None;
          EXPECT_EQ(first_difference(settings), "") << settings.model.name << " T " << tp << " "
                                                    << to_string(dtype) << ", " << threads << " threads";
        }
}

// A device without such products makes them in two passes.
TEST(Fusion, OfProductsAndGeluChangesNoBitOnTheCpu) {
  for (const DType dtype : {DType::Bf16, DType::Fp16})
    for (const int tp : {1, 2})
      for (const Recompute recompute : {Recompute::None, Recompute::Full}) {
        Settings settings = small_model(tp, tp, "megatron");
        settings.dtype = dtype;
        settings.micro_batches = 3 - tp;
        settings.recompute = recompute;
        const Program program = fused_as_for_gpus(settings);
        EXPECT_EQ(count(program, Op::GeluGrad), 0);
        EXPECT_EQ(first_difference(settings, program), "") << "T " << tp << " " << to_string(dtype);
      }
}

// A column's sum is made in the same order by one thread and by several.
TEST(Fusion, ThreadsChangeNoBit) {
  Settings settings = small_model(2);
  const auto one = results(plan_program(settings));
  settings.threads_per_rank = 3;
  const auto three = results(plan_program(settings));
  ASSERT_EQ(one.size(), three.size());
  for (const auto& [name, tensor] : one) EXPECT_EQ(three.at(name).bytes, tensor.bytes) << name;
}

}  // namespace fusion_test
}  // namespace shardlens
