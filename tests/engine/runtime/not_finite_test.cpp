// A model whose weights are sound and whose numbers overflow in fp16: every result that would be computed
// from them is refused, by the name of the tensor and the step in which it began.
#include "engine/runtime/not_finite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/io/safetensors.h"
#include "engine/runtime/plan.h"
#include "engine/train/evaluation.h"
#include "engine/train/generate/generator.h"
#include "engine/train/model_step.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace not_finite_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::small_model;
using testing::small_trainer;
using testing::small_training;

class NotFinite : public TestFolder {
 protected:
  // The second layer's MLP goes to 10⁸ and back: fp16 ends at 65504.
  void SetUp() override {
    TestFolder::SetUp();
    Settings fresh = small_model(1);
    fresh.model.vocab = 257;
    TrainOptions options = small_training(fresh, 1);
    options.checkpoint = path("fresh");
    small_trainer(options).save();
    const SafetensorsFile file(path("fresh/model.safetensors"));
    std::vector<std::vector<float>> values;
    std::vector<TensorToStore> scaled;
    for (const StoredTensor& tensor : file.tensors()) {
      values.emplace_back(static_cast<size_t>(element_count(tensor.shape)));
      file.read(tensor, DType::Fp32, values.back().data());
      if (tensor.name.find("h.1.mlp") != std::string::npos && tensor.name.ends_with("weight"))
        for (float& value : values.back()) value *= 1e5f;
      scaled.push_back({tensor.name, DType::Fp32, tensor.shape, values.back().data()});
    }
    write_safetensors(path("large.safetensors"), scaled);
  }
  Settings large(DType dtype, int tp = 2, int dp = 1) const {
    Settings settings = small_model(tp, dp);
    settings.model.vocab = 257;
    settings.dtype = dtype;
    settings.weights_path = path("large.safetensors");
    settings.update = false;
    return settings;
  }
  // Asks for a result in fp16, which must name its cause, and in fp32, which has no reason to.
  void expect_refused(const std::string& what, const std::function<void(DType)>& action) const {
    std::string message;
    try {
      action(DType::Fp16);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Run) << what;
      message = error.what();
    }
    EXPECT_THAT(message, AllOf(HasSubstr("step "), HasSubstr("tensor h.1.mlp."), HasSubstr("NaN or infinite"),
                               HasSubstr("fp16 ends at 65504")))
        << what;
    EXPECT_EQ(error_of([&] { action(DType::Fp32); }), "no error") << what;
  }
};

TEST_F(NotFinite, NoResultIsMadeOfIt) {
  const BytesTokenizer bytes;
  const std::string text = "In the beginning God created the heaven and the earth.";
  for (const auto& [tp, dp] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    const auto settings = [&, tp = tp, dp = dp](DType dtype) { return large(dtype, tp, dp); };
    expect_refused("perplexity",
                   [&](DType dtype) { evaluate_perplexity(settings(dtype), bytes, text, 5, 0); });
    expect_refused("cloze", [&](DType dtype) { evaluate_cloze(settings(dtype), bytes, {{text, "1"}}); });
    expect_refused("step", [&](DType dtype) { run_model_step(make_plan(settings(dtype)), {}); });
    expect_refused("updates", [&](DType dtype) {
      Settings updated = settings(dtype);
      updated.update = true;
      ModelStepRequest request;
      request.updates = 2;
      request.learning_rate = 1e-9;
      run_model_step(make_plan(updated), request);
    });
    expect_refused("validation", [&](DType dtype) {
      const ValidationReport report = small_trainer(small_training(settings(dtype), 1)).validate();
      EXPECT_TRUE(std::isfinite(report.loss));
    });
    expect_refused("training", [&](DType dtype) {
      TrainOptions options = small_training(settings(dtype), 1);
      options.schedule = {1e-9, 1e-9, 0, 1, Decay::Constant};
      EXPECT_FALSE(small_trainer(options).step().skipped);
    });
  }
  for (const int tp : {1, 2})
    expect_refused("generation", [&](DType dtype) {
      Generator generator(large(dtype, tp));
      generator.feed(bytes.encode("In th"));
    });
}

// The prompt's numbers are finite; those of the token that is written overflow.
TEST_F(NotFinite, ATokenThatIsWrittenIsLookedAtToo) {
  const SafetensorsFile file(path("fresh/model.safetensors"));
  std::vector<std::vector<float>> values;
  std::vector<TensorToStore> odd;
  for (const StoredTensor& tensor : file.tensors()) {
    values.emplace_back(static_cast<size_t>(element_count(tensor.shape)));
    file.read(tensor, DType::Fp32, values.back().data());
    const auto alternate = [&](size_t first, size_t end, float value) {
      for (size_t i = first; i < end; ++i) values.back()[i] = i % 2 == 0 ? value : -value;
    };
    // Of position 5 and of every token: together they pass fp16's largest number.
    if (tensor.name.ends_with("wpe.weight")) alternate(5 * 40, 6 * 40, 65472);
    if (tensor.name.ends_with("wte.weight")) alternate(0, values.back().size(), 64);
    odd.push_back({tensor.name, DType::Fp32, tensor.shape, values.back().data()});
  }
  write_safetensors(path("odd.safetensors"), odd);
  int written = 0;
  const auto write_on = [&](DType dtype) {
    Settings settings = large(dtype);
    settings.weights_path = path("odd.safetensors");
    Generator generator(settings);
    generator.feed(BytesTokenizer().encode("abcd"));
    written = 0;
    generator.write([&](const std::vector<double>& logits) -> std::optional<int32_t> {
      EXPECT_TRUE(std::isfinite(logits[0]));
      return ++written > 4 ? std::nullopt : std::optional<int32_t>('e');
    });
  };
  write_on(DType::Fp32);
  EXPECT_EQ(written, 5);
  EXPECT_THAT(error_of([&] { write_on(DType::Fp16); }),
              AllOf(HasSubstr("a logit of the next token is NaN"), HasSubstr("step "), HasSubstr("tensor ")));
  EXPECT_EQ(written, 2) << "after the prompt, and after position 4";
}

}  // namespace not_finite_test
}  // namespace shardlens
