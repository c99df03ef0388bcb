// Samples and parity in a recording: bit for bit what the run showed, except that a picture's cells are
// rounded to 16 bits. Dropped samples are counted, and the reader validates what the file holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/io/sqlite.h"
#include "engine/planner/planner.h"
#include "engine/record/recording.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/recordings/recorder.h"
#include "engine/runtime/sampler.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace recording_samples_test {

using ::testing::HasSubstr;

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Cells as they were, or as rounding leaves them.
void expect_same(const Picture& kept, const Picture& was, bool rounded) {
  EXPECT_EQ(kept.rows, was.rows);
  EXPECT_EQ(kept.cols, was.cols);
  ASSERT_EQ(kept.values.size(), was.values.size());
  float largest = 0;
  for (const float cell : was.values) largest = std::max(largest, std::abs(cell));
  for (size_t i = 0; i < was.values.size(); ++i) {
    if (!rounded)
      ASSERT_EQ(std::memcmp(&kept.values[i], &was.values[i], sizeof(float)), 0) << i;
    else
      ASSERT_NEAR(kept.values[i], was.values[i],
                  std::max(std::abs(was.values[i]) * 0x1p-11f, largest * 0x1p-39f))
          << i;
  }
}

void expect_same(const TensorSample& kept, const TensorSample& was, const std::string& name) {
  SCOPED_TRACE(name);
  EXPECT_EQ(kept.shape, was.shape);
  EXPECT_EQ(kept.dtype, was.dtype);
  EXPECT_TRUE(same_bits(kept.stats.min, was.stats.min));
  EXPECT_TRUE(same_bits(kept.stats.max, was.stats.max));
  EXPECT_TRUE(same_bits(kept.stats.mean, was.stats.mean));
  EXPECT_TRUE(same_bits(kept.stats.rms, was.stats.rms));
  EXPECT_EQ(kept.stats.count, was.stats.count);
  EXPECT_EQ(kept.stats.nan_count, was.stats.nan_count);
  EXPECT_EQ(kept.hash, was.hash);
  EXPECT_EQ(kept.exact, was.exact);
  expect_same(kept.picture, was.picture, kept.exact.empty());
}

// Whether two ranks hold the same numbers in the same shape.
bool same_sample(const TensorSample& a, const TensorSample& b) {
  return a.hash == b.hash && a.shape == b.shape;
}

class RecordingSamplesTest : public TestFolder {
 protected:
  // One pass of a whole model, looked at by a Sampler and a PictureTaker alike, and compared with one rank.
  void record(const std::string& file, const Settings& settings, const PictureOptions& pictures = {},
              RecordingLimits limits = {}) {
    const std::shared_ptr<const Plan> plan = make_plan(settings);
    program_ = plan->program;
    auto serial = std::make_shared<SerialReference>();
    Executor one(make_plan(plan_serial(settings)));
    one.observe({serial});
    one.start(one.steps());
    one.wait();
    Executor executor(plan);
    Recorder recorder(file, "step", *plan, executor.communicator(), limits, pictures);
    const SampleDetail detail{pictures.extent, pictures.extent * pictures.extent};
    SamplePlan alike;
    alike.details.assign(program_.tensors.size(), detail);
    auto sampler = std::make_shared<Sampler>(program_, alike, Sampler::NotFinite::StopsTheRun);
    auto check = std::make_shared<ParityCheck>(program_, serial, true);
    executor.observe({sampler, check, recorder.pictures()});
    executor.start(executor.steps());
    executor.wait();
    live_ = sampler->samples();
    parity_ = check->results();
    recorder.take(executor, {{"loss", 1}}, parity_);
    totals_ = recorder.finish();
  }

  std::string error_of(const std::string& file) {
    try {
      const Recording recording(file);
      recording.samples(0);
      recording.hashes(0);
      recording.parity(0);
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request) << error.what();
      return error.what();
    }
  }

  Program program_;
  SampleTable live_;
  ParityTable parity_;
  RecordingTotals totals_;
};

TEST_F(RecordingSamplesTest, AreBitForBitWhatTheRunShowed) {
  for (const DType dtype : {DType::Fp32, DType::Fp64, DType::Bf16}) {
    Settings settings = testing::small_model(3);
    settings.dtype = dtype;
    const std::string file = path("run-" + to_string(dtype));
    record(file, settings, {.extent = 16});  // some tensors are larger than 256 elements, some are not
    const Recording recording(file);
    const SampleTable kept = recording.samples(0);
    const HashTable hashes = recording.hashes(0);
    ASSERT_EQ(kept.size(), live_.size());
    int64_t samples = 0;
    for (size_t rank = 0; rank < live_.size(); ++rank)
      for (const Tensor& tensor : program_.tensors) {
        const auto id = static_cast<size_t>(tensor.id);
        ASSERT_EQ(kept[rank][id] == nullptr, live_[rank][id] == nullptr) << tensor.name;
        ASSERT_EQ(hashes[rank][id].has_value(), live_[rank][id] != nullptr) << tensor.name;
        if (!live_[rank][id]) continue;
        ++samples;
        EXPECT_EQ(*hashes[rank][id], live_[rank][id]->hash);
        expect_same(*kept[rank][id], *live_[rank][id], tensor.name);
        // What ranks hold alike is one sample. In the run only where they hold it by layout: those whose
        // shards happen to be alike look at them at the same time, and do not wait for each other.
        EXPECT_EQ(kept[rank][id] == kept[0][id], same_sample(*live_[rank][id], *live_[0][id])) << tensor.name;
        if (tensor.layout.kind == LayoutKind::Replicated) {
          EXPECT_EQ(live_[rank][id], live_[0][id]) << tensor.name;
        }
      }
    EXPECT_EQ(recording.totals().samples, samples);
    EXPECT_LT(recording.totals().pictures, samples);  // equal ones are stored once
    const ParityTable parity = recording.parity(0);
    ASSERT_EQ(parity.size(), parity_.size());
    for (size_t id = 0; id < parity_.size(); ++id) {
      ASSERT_EQ(parity[id] == nullptr, parity_[id] == nullptr);
      if (!parity[id]) continue;
      EXPECT_TRUE(same_bits(parity[id]->relative_error, parity_[id]->relative_error));
      EXPECT_TRUE(same_bits(parity[id]->max_abs_error, parity_[id]->max_abs_error));
      EXPECT_TRUE(same_bits(parity[id]->bound, parity_[id]->bound));
      EXPECT_EQ(parity[id]->ranks_identical, parity_[id]->ranks_identical);
      EXPECT_EQ(parity[id]->relative_to_terms, parity_[id]->relative_to_terms);
      EXPECT_EQ(parity[id]->replica, parity_[id]->replica);
      EXPECT_EQ(parity[id]->rank, parity_[id]->rank);
      expect_same(parity[id]->difference, parity_[id]->difference, true);
    }
    EXPECT_EQ(summarise(program_, parity).worst_relative_error,
              summarise(program_, parity_).worst_relative_error);
  }
}

TEST_F(RecordingSamplesTest, NumbersWithoutAValueComeBackAsTheyWere) {
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(1));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TensorSample odd;
  odd.stats = {-0.0, 5e-324, -0.0, std::numeric_limits<double>::infinity(), 0, 3};
  {
    RecordingWriter writer(path("run"), {"step", "", "", "", plan->program, plan->memory, {}});
    RecordedPass pass;
    pass.samples.assign(1, std::vector<std::shared_ptr<const TensorSample>>(plan->program.tensors.size()));
    pass.samples[0][0] = std::make_shared<TensorSample>(odd);
    pass.metrics = {{"gradient_norm", nan}};
    writer.offer(pass);
  }
  const Recording recording(path("run"));
  const auto kept = recording.samples(0)[0][0];
  EXPECT_TRUE(same_bits(kept->stats.min, -0.0));
  EXPECT_TRUE(same_bits(kept->stats.max, 5e-324));
  EXPECT_TRUE(same_bits(kept->stats.rms, odd.stats.rms));
  EXPECT_TRUE(std::isnan(recording.pass(0).metrics[0].second));
}

TEST_F(RecordingSamplesTest, PicturesTakeHalfOfTheLimitAndTheRestIsCounted) {
  RecordingLimits limits;
  limits.file_bytes = 16 << 10;
  record(path("run"), testing::small_model(2), {.extent = 32}, limits);
  const RecordingTotals totals = Recording(path("run")).totals();
  EXPECT_GT(totals.dropped_pictures, 0);
  EXPECT_GT(totals.pictures, 0);
  EXPECT_EQ(totals.dropped_pictures, totals_.dropped_pictures);
  EXPECT_LE(Database(path("run"), Database::Access::Read).integer("SELECT sum(length(data)) FROM pictures"),
            limits.file_bytes / 2);
  // Statistics and hash are there all the same.
  int64_t without = 0;
  for (const auto& rank : Recording(path("run")).samples(0))
    for (const auto& sample : rank)
      if (sample && sample->stats.count > 0 && sample->picture.values.empty()) ++without;
  for (const auto& parity : Recording(path("run")).parity(0))
    if (parity && parity->difference.values.empty()) ++without;
  EXPECT_EQ(without, totals.dropped_pictures);
}

TEST_F(RecordingSamplesTest, WhereTheDiskIsBehindPicturesGoBeforeTimes) {
  RecordingLimits limits;
  limits.waiting_bytes = 200 << 10;
  record(path("run"), testing::small_model(2), {.extent = 64}, limits);
  const Recording recording(path("run"));
  EXPECT_EQ(recording.totals().passes, 1);
  EXPECT_EQ(recording.totals().dropped_passes, 0);
  EXPECT_GT(recording.totals().dropped_pictures, 0);
  EXPECT_TRUE(recording.samples(0).empty());
}

TEST_F(RecordingSamplesTest, WithoutRoomWhatRanksShareIsCoarseOnAllOfThem) {
  record(path("run"), testing::small_model(3));
  const Recording recording(path("run"));
  const std::vector<bool> wanted(program_.tensors.size(), true);
  const LatestSamples full = recording.latest_samples(0, wanted, {}, int64_t{1} << 30);
  const LatestSamples small = recording.latest_samples(0, wanted, {}, 0);
  int shared = 0;
  for (size_t rank = 0; rank < full.samples.size(); ++rank)
    for (size_t tensor = 0; tensor < full.samples[rank].size(); ++tensor) {
      if (!full.samples[rank][tensor]) continue;
      EXPECT_TRUE(small.samples[rank][tensor]->exact.empty()) << program_.tensors[tensor].name << rank;
      if (rank == 0 || full.samples[rank][tensor] != full.samples[0][tensor]) continue;
      EXPECT_EQ(small.samples[rank][tensor], small.samples[0][tensor]) << program_.tensors[tensor].name;
      shared += !full.samples[rank][tensor]->exact.empty();
    }
  EXPECT_GT(shared, 10);
}

TEST_F(RecordingSamplesTest, PicturesOfTheVersionBeforeAreRead) {
  record(path("run"), testing::small_model(2), {.extent = 16});
  const SampleTable now = Recording(path("run")).samples(0);
  {
    Database database(path("run"), Database::Access::ReadWrite);
    database.run("PRAGMA user_version = 2; UPDATE pictures SET exact = 0 WHERE exact = 2");
    Statement old = database.prepare("UPDATE pictures SET data = ? WHERE picture = ?");
    for (const auto& rank : now)
      for (size_t tensor = 0; tensor < rank.size(); ++tensor) {
        if (!rank[tensor] || !rank[tensor]->exact.empty() || rank[tensor]->picture.values.empty()) continue;
        const std::vector<float>& cells = rank[tensor]->picture.values;
        const auto number = [&](const char* column) {
          return database.integer(
              std::string("SELECT ") + column + " FROM samples WHERE pass = 0 AND rank = " +
              std::to_string(&rank - now.data()) + " AND tensor = " + std::to_string(tensor));
        };
        old.bind_blob(1, cells.data(), cells.size() * sizeof(float)).bind(2, number("picture")).run();
      }
  }
  const SampleTable then = Recording(path("run")).samples(0);
  int64_t compared = 0;
  for (size_t rank = 0; rank < now.size(); ++rank)
    for (size_t tensor = 0; tensor < now[rank].size(); ++tensor) {
      if (!now[rank][tensor]) continue;
      const Picture& picture = now[rank][tensor]->picture;
      EXPECT_EQ(then[rank][tensor]->picture.values, picture.values);
      const int64_t finite = std::count_if(picture.values.begin(), picture.values.end(),
                                           [](float cell) { return std::isfinite(cell); });
      EXPECT_EQ(picture.extent.finite, finite);
      EXPECT_EQ(then[rank][tensor]->picture.extent.finite, finite);
      compared += now[rank][tensor]->exact.empty();
    }
  EXPECT_GT(compared, 10);
}

TEST_F(RecordingSamplesTest, AHostileContentIsFound) {
  record(path("sound"), testing::small_model(2), {.extent = 16});
  const std::vector<std::pair<const char*, const char*>> harms{
      {"UPDATE samples SET rank = 7 WHERE rank = 1 AND tensor = 3", "rank 7"},
      {"UPDATE samples SET tensor = -4 WHERE rank = 1 AND tensor = 3", "tensor -4"},
      {"UPDATE samples SET picture = 999999 WHERE rank = 1 AND picture IS NOT NULL",
       "picture 999999 is missing"},
      {"UPDATE pictures SET rows = 70000 WHERE exact = 2", "70000"},
      {"UPDATE pictures SET cols = -1", "-1"},
      {"UPDATE pictures SET data = x'00' WHERE exact = 2", "has 1 bytes"},
      {"UPDATE pictures SET exact = 0", "bytes"},
      {"UPDATE pictures SET exact = 3", "bytes"},
      {"UPDATE pictures SET data = CAST(x'0070' || substr(data, 3) AS BLOB) WHERE exact = 2", "2^28672"},
      {"UPDATE pictures SET data = x'00' WHERE exact = 1", "its values take"},
      {"UPDATE pictures SET data = zeroblob(1000000) WHERE exact = 1", "its values take"},
      {"UPDATE parity SET tensor = 100000 WHERE tensor = (SELECT max(tensor) FROM parity)", "tensor 100000"},
      {"UPDATE parity SET picture = 999999", "of an error is not valid"},
      {"DROP TABLE pictures", "no such table"}};
  for (const auto& [harm, word] : harms) {
    std::filesystem::copy_file(path("sound"), path("harmed"),
                               std::filesystem::copy_options::overwrite_existing);
    Database(path("harmed"), Database::Access::ReadWrite).run(harm);
    EXPECT_THAT(error_of(path("harmed")), HasSubstr(word)) << harm;
  }
}

}  // namespace recording_samples_test
}  // namespace shardlens
