// The words of the settings are read back as the values that they were written from.
#include "engine/config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/suggest.h"

namespace shardlens {
namespace settings_test {

TEST(Settings, WordsRoundTrip) {
  for (const DType v : {DType::Fp32, DType::Fp64, DType::Fp16, DType::Bf16})
    EXPECT_EQ(parse_dtype(to_string(v)), v);
  for (const Cut v : {Cut::Column, Cut::Row, Cut::Replicated}) EXPECT_EQ(parse_cut(to_string(v)), v);
  for (const Block v : {Block::Layer, Block::Mlp, Block::Attention}) EXPECT_EQ(parse_block(to_string(v)), v);
  for (const Objective v : {Objective::NextToken, Objective::MaskedWords}) {
    EXPECT_EQ(parse_objective(to_string(v)), v);
  }
  for (const NormPlacement v : {NormPlacement::Pre, NormPlacement::Post}) {
    EXPECT_EQ(parse_norm_placement(to_string(v)), v);
  }
  for (const Activation v : {Activation::GeluTanh, Activation::GeluErf})
    EXPECT_EQ(parse_activation(to_string(v)), v);
  for (const Operands v : {Operands::Normal, Operands::Integer}) EXPECT_EQ(parse_operands(to_string(v)), v);
  for (const InputKind v : {InputKind::Normal, InputKind::Npy, InputKind::Text}) {
    EXPECT_EQ(parse_input_kind(to_string(v)), v);
  }
}

TEST(Settings, WrongWordNamesTheRemedy) {
  try {
    parse_dtype("fp31");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_STREQ(error.what(),
                 "unknown dtype \"fp31\"; did you mean \"fp32\"? Known: fp32, fp64, fp16, bf16.");
  }
  EXPECT_THROW(parse_cut(""), Error);
  EXPECT_THROW(parse_block(std::string(100'000, 'x')), Error);
}

TEST(Suggest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("row", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(near_name("MEGATRON", {"megatron", "reversed"}), "megatron");
  EXPECT_EQ(nearest_name("GPT2", {"bert-base", "gpt2"}), "gpt2");
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace settings_test
}  // namespace shardlens
