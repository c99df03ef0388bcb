// Compares the CUDA kernels' formulas and index arithmetic for single elements with the CPU device, on the
// host. The kernels include the same headers.
#include "engine/device/cuda/formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "engine/device/cuda/places.h"
#include "engine/device/cuda/random.h"
#include "engine/device/philox.h"
#include "tests/engine/device/operands.h"

namespace shardlens::cuda {
namespace cuda_formulas_test {

TEST(CudaFormulas, DrawsAreThoseOfTheGenerator) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{0x123456789ABCDEF0}}) {
    const RandomStream stream(seed, "h.3.attn.probs");
    for (const int64_t first : {int64_t{0}, int64_t{1}, int64_t{4'000'000'001}, int64_t{17'179'869'183}}) {
      std::vector<uint32_t> words(300);
      fill_words(stream, first, 300, words.data());
      for (int64_t i = 0; i < 300; ++i) {
        const Words block =
            philox_block(stream.seed, stream.name_hash, static_cast<uint64_t>((first + i) / 4));
        ASSERT_EQ(block.at((first + i) % 4), words[static_cast<size_t>(i)]) << first << " + " << i;
      }
    }
  }
}

TEST(CudaFormulas, MasksAreTheCpuDevices) {
  const auto device = make_cpu_device(1);
  for (const double probability : {0.1, 0.5, 0.999999, 1e-12}) {
    const DropoutMask mask{probability, 11, 0xABCDEF0123456789};
    const Dropping dropping(mask);
    for (const int64_t first : {0, 3, 1021}) {
      const std::vector<double> x(1000, 3.0);
      std::vector<double> y(x.size());
      device->dropout(DType::Fp64, mask, {first, 1, 1000, 0}, x.data(), y.data());
      MaskReader reader(dropping);
      for (int64_t i = 0; i < 1000; ++i)
        ASSERT_EQ(reader.drops(first + i) ? 0.0 : 3.0 * dropping.scale, y[static_cast<size_t>(i)]) << i;
    }
  }
}

template <class T>
class CudaFormulasIn : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaFormulasIn, Types);

TYPED_TEST(CudaFormulasIn, GeluIsTheCpuDevices) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  std::vector<T> x = normal<T>(4000, 1, 0, 3);
  for (const double value : {0.0, -0.0, 1e-6, 50.0, -50.0, 1e6, -1e6}) x.push_back(static_cast<T>(value));
  const std::vector<T> dy(x.size(), T(1));
  std::vector<T> y(x.size()), dx(x.size());
  for (const Activation form : {Activation::GeluTanh, Activation::GeluErf}) {
    device->gelu(kDType<T>, form, static_cast<int64_t>(x.size()), x.data(), y.data());
    device->gelu_grad({.dtype = kDType<T>,
                       .form = form,
                       .count = static_cast<int64_t>(x.size()),
                       .x = x.data(),
                       .dy = dy.data(),
                       .dx = dx.data()});
    // Both sides' exp is good to two units in the last place; far out a value's tail is a small difference.
    const double bound = (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53) * 32;
    for (size_t i = 0; i < x.size(); ++i) {
      const Gate<T> gate = gelu_gate(form, x[i]);
      ASSERT_NEAR(x[i] * gate.value, y[i], bound * std::abs(static_cast<double>(x[i]))) << x[i];
      ASSERT_NEAR(gate.value + x[i] * gate.slope, dx[i], bound * (1 + std::abs(static_cast<double>(dx[i]))))
          << x[i];
    }
  }
  EXPECT_TRUE(std::isnan(gelu_gate(Activation::GeluTanh, T(NAN)).value));
  EXPECT_TRUE(std::isnan(gelu_gate(Activation::GeluErf, T(NAN)).value));
}

TYPED_TEST(CudaFormulasIn, RoundingIsTheCpuDevices) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  std::vector<T> x = normal<T>(500, 1, 0, 8), y(500);
  x[0] = T(0.5), x[1] = T(1.5), x[2] = T(-2.5), x[3] = T(1e30), x[4] = T(-1e30), x[5] = T(NAN);
  device->round(kDType<T>, 500, 7, x.data(), y.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const T ours = rounded(x[i], T(7));
    ASSERT_TRUE(ours == y[i] || (std::isnan(ours) && std::isnan(y[i]))) << x[i];
  }
}

// The same operations in the same order: the same bits, where the compiler contracts nothing.
TYPED_TEST(CudaFormulasIn, AdamWIsTheCpuDevices) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const int64_t count = 1000;
  const std::vector<T> gradient = normal<T>(count, 2);
  std::vector<T> p = normal<T>(count, 1), m(p.size()), v(p.size());
  std::vector<T> our_p = p, our_m = m, our_v = v;
  const double factor = 0.37;
  AdamWStep step{.dtype = kDType<T>, .count = count, .parameter = p.data(), .gradient = gradient.data()};
  step.first_moment = m.data();
  step.second_moment = v.data();
  step.factor = &factor;
  step.learning_rate = 1e-3;
  step.weight_decay = 0.01;
  step.beta1 = 0.9;
  step.beta2 = 0.95;
  step.epsilon = 1e-8;
  for (step.iteration = 1; step.iteration < 5; ++step.iteration) {
    device->adamw({&step, 1});
    const AdamWNumbers<T> numbers(step);
    for (size_t i = 0; i < p.size(); ++i)
      numbers.update(gradient[i] * static_cast<T>(factor), our_m[i], our_v[i], our_p[i]);
  }
  EXPECT_LT(relative_error(our_p, p), 4 * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53));
  EXPECT_LT(relative_error(our_m, m), 4 * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53));
  EXPECT_LT(relative_error(our_v, v), 4 * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53));
}

TEST(CudaFormulas, ClippingIsTheCpuDevices) {
  const auto device = make_cpu_device(1);
  for (const double squares :
       {0.0, 1e-20, 4.0, 1e300, static_cast<double>(INFINITY), static_cast<double>(NAN)})
    for (const double clip : {0.0, 1.0, 1e9})
      for (const double scale : {1.0, 1024.0}) {
        const double* sums[] = {&squares};
        double expected[2], ours[2];
        device->clip_factor(
            {.sums = sums, .clip = clip, .scale_dtype = DType::Fp64, .scale = &scale, .factor = expected});
        clip_numbers(squares, scale, clip, ours);
        EXPECT_EQ(ours[0], expected[0]) << squares << " " << clip;
        EXPECT_TRUE(ours[1] == expected[1] || (std::isnan(ours[1]) && std::isnan(expected[1])));
      }
}

TEST(CudaPlaces, ChunksOfRowsCoverEveryElementOnce) {
  for (const int64_t rows : {0, 1, 3})
    for (const int64_t length : {0, 1, 7, 8, 9, 100}) {
      const RowChunks chunks{rows, length, 8};
      std::vector<int> seen(static_cast<size_t>(rows * length));
      for (int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
        ASSERT_LT(chunks.begin(chunk), chunks.end(chunk));
        for (int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i)
          ++seen[static_cast<size_t>(chunks.row(chunk) * length + i)];
      }
      for (const int count : seen) EXPECT_EQ(count, 1) << rows << " rows of " << length;
    }
}

TEST(CudaPlaces, BlocksOfAListAreTheirTensors) {
  const std::vector<int64_t> asked{1, 3, 1, 1, 40'000'000'000, 2, 7};
  ListedBlocks<7> list;
  for (const int64_t blocks : asked) {
    EXPECT_FALSE(list.is_full());
    list.add(blocks);
  }
  EXPECT_TRUE(list.is_full());
  EXPECT_EQ(list.blocks(), 40'000'000'015);
  for (int tensor = 0; tensor < 7; ++tensor) {
    const int64_t first = list.first[tensor], blocks = asked[static_cast<size_t>(tensor)];
    EXPECT_EQ(list.tensor_of(first), tensor);
    EXPECT_EQ(list.tensor_of(first + blocks - 1), tensor);
  }
  list = {};
  EXPECT_EQ(list.blocks(), 0);
  list.add(5);
  EXPECT_EQ(list.tensor_of(4), 0);
}

TEST(CudaPlaces, ChunksOfASumCoverEveryRowAndAreFew) {
  for (const int64_t rows : {0, 1, 63, 64, 65, 4096, 4097, 1'000'000}) {
    const RowSums cut{rows};
    EXPECT_GE(cut.chunks() * cut.per_chunk(), rows);
    EXPECT_LE(cut.chunks(), RowSums::kMostChunks);
    EXPECT_GE(cut.chunks(), 1) << "a block has to write the sum over no rows";
    EXPECT_LT((cut.chunks() - 1) * cut.per_chunk(), std::max<int64_t>(rows, 1)) << "no chunk is empty";
  }
}

TEST(CudaPlaces, EveryQueryHeadReadsOneKeyHeadAndIsAmongItsReaders) {
  for (const int64_t group : {1, 2, 3})
    for (const int64_t first : {0, 1, 2})
      for (const int64_t heads : {0, 1, 4, 7}) {
        if (first >= group && first > 0) continue;
        const KeyHeads keys{pieces(first + heads, group), group, first};
        std::vector<int64_t> reads(static_cast<size_t>(heads), -1);
        for (int64_t key = 0; key < keys.heads; ++key) {
          const Readers readers = readers_of(keys, heads, key);
          for (int64_t head = readers.begin; head < readers.end; ++head) {
            EXPECT_EQ(reads[static_cast<size_t>(head)], -1);
            reads[static_cast<size_t>(head)] = key;
          }
        }
        for (int64_t head = 0; head < heads; ++head)
          EXPECT_EQ(reads[static_cast<size_t>(head)], key_head_of(keys, head)) << group << first << heads;
      }
}

TEST(CudaPlaces, EveryTileHasOneBlockAndTheLongestComeFirst) {
  for (const int64_t batch : {1, 3, 50})
    for (const int64_t heads : {1, 5, 64})
      for (const int64_t tiles : {1, 2, 17})
        for (const bool last_is_longest : {false, true}) {
          const auto blocks = static_cast<uint32_t>(batch * heads * tiles);
          std::vector<int> taken(blocks);
          int64_t before = -1;
          for (uint32_t block = 0; block < blocks; ++block) {
            const TilePlace at(block, batch, heads, tiles, last_is_longest);
            ASSERT_TRUE(at.sequence >= 0 && at.sequence < batch && at.head >= 0 && at.head < heads &&
                        at.tile >= 0 && at.tile < tiles);
            ++taken[static_cast<size_t>((at.sequence * heads + at.head) * tiles + at.tile)];
            const int64_t order = last_is_longest ? tiles - 1 - at.tile : at.tile;
            if (block % (TilePlace::kTogether * tiles) != 0) {
              EXPECT_GE(order, before) << block;
            }
            before = order;
          }
          for (const int count : taken) EXPECT_EQ(count, 1) << batch << " " << heads << " " << tiles;
        }
}

TEST(CudaPlaces, PaddingIsWhatLiesPastTheVocabulary) {
  EXPECT_EQ(present_columns(53, 0, 16), 16);
  EXPECT_EQ(present_columns(53, 48, 16), 5);
  EXPECT_EQ(present_columns(53, 53, 11), 0);
  EXPECT_EQ(present_columns(53, 64, 16), 0);
}

}  // namespace cuda_formulas_test
}  // namespace shardlens::cuda
