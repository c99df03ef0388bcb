// Names and rows of a replica's tensors in the run on one rank.
#include "engine/runtime/serial_place.h"

#include <gtest/gtest.h>

namespace shardlens {
namespace serial_place_test {

Program program_of(int dp, int parts) {
  Program program;
  program.settings.dp = dp;
  program.settings.micro_batches = parts;
  program.settings.batch = 12;
  return program;
}

Tensor tensor_of(const std::string& value, int64_t rows) {
  Tensor tensor;
  tensor.id = 0;
  tensor.name = tensor.value = value;
  tensor.shape = {rows, 8};
  return tensor;
}

std::string place_of(const Program& program, const std::string& value, int64_t rows, OnReplicas of,
                     int replica) {
  const SerialPlace place = serial_place(program, tensor_of(value, rows), of, replica);
  return place.value + " " + std::to_string(place.first_row);
}

TEST(SerialPlace, OneReplicaHasEveryRow) {
  for (const char* value : {"h.0.mlp.fc.out", "mb2.h.0.mlp.fc.out", "grad.mb1.logits"})
    EXPECT_EQ(place_of(program_of(1, 3), value, 4, OnReplicas::Same, 0), std::string(value) + " 0");
}

TEST(SerialPlace, AReplicasRowsFollowThoseOfTheReplicaBefore) {
  const Program program = program_of(3, 1);
  for (int replica = 0; replica < 3; ++replica)
    EXPECT_EQ(place_of(program, "grad.h.1.Y", 4, OnReplicas::Rows, replica),
              "grad.h.1.Y " + std::to_string(4 * replica));
}

// Twelve rows: a replica of three has two parts of two rows, one rank has two parts of six rows.
TEST(SerialPlace, APartOfAReplicaLiesInAPartOfTheWhole) {
  const Program program = program_of(3, 2);
  const auto place = [&](const char* value, int replica) {
    return place_of(program, value, 2, OnReplicas::Rows, replica);
  };
  EXPECT_EQ(place("grad.logits", 0), "grad.logits 0");
  EXPECT_EQ(place("grad.mb1.logits", 0), "grad.logits 2");
  EXPECT_EQ(place("grad.logits", 1), "grad.logits 4");
  EXPECT_EQ(place("grad.mb1.logits", 1), "grad.mb1.logits 0");
  EXPECT_EQ(place("grad.logits", 2), "grad.mb1.logits 2");
  EXPECT_EQ(place("grad.mb1.logits", 2), "grad.mb1.logits 4");
}

TEST(SerialPlace, TermsHaveTheNameOfTheirSum) {
  const Program program = program_of(2, 1);
  for (const char* value : {"grad.wte@replica", "grad.wte@partial@replica"})
    EXPECT_EQ(place_of(program, value, 4, OnReplicas::Terms, 1), "grad.wte 0");
}

TEST(SerialPlace, SomeRowsOfATensorBeginWhereTheyBeginThere) {
  Program program = program_of(2, 1);
  program.tensors = {tensor_of("mlp.proj.sum", 6), tensor_of("mlp.proj.sum.rows1", 2),
                     tensor_of("mlp.proj.sum.rows1", 2)};
  for (size_t i = 0; i < 3; ++i) program.tensors[i].id = static_cast<TensorId>(i);
  program.tensors[1].storage = 0;
  program.tensors[1].first_row = 2;
  program.tensors[2].storage = 1;  // the sum of the rows, in their bytes
  for (const TensorId id : {1, 2}) {
    const SerialPlace place = serial_place(program, program.tensor(id), OnReplicas::Rows, 1);
    EXPECT_EQ(place.value, "mlp.proj.sum");
    EXPECT_EQ(place.first_row, 6 + 2);
  }
}

TEST(SerialPlace, SumsOverSomePartsOfAReplicaHaveNone) {
  const auto is_part = [](int parts, const char* value) {
    return is_part_of_a_sum(program_of(2, parts), tensor_of(value, 4));
  };
  for (const char* part : {"grad.wte.part1@replica", "loss.part@replica", "mb1.loss.sum@replica"})
    EXPECT_TRUE(is_part(3, part)) << part;
  for (const char* whole : {"grad.wte@replica", "grad.ln@partial@replica", "loss@replica", "mb1.logits"})
    EXPECT_FALSE(is_part(3, whole)) << whole;
  EXPECT_FALSE(is_part(1, "grad.wte.part1@replica")) << "of the two uses of a tied matrix, on all rows";
}

}  // namespace serial_place_test
}  // namespace shardlens
