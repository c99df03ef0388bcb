// A recording as Snapshots: what is shown, how it plays, and files that are not recordings.
#include "engine/runtime/recordings/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/io/sqlite.h"
#include "engine/planner/planner.h"
#include "engine/program/fault.h"
#include "engine/runtime/step_times.h"
#include "tests/engine/runtime/recordings/replay_fixture.h"

namespace shardlens {
namespace replay_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST_F(ReplayTest, NothingIsOpenAtFirst) {
  const Shown shown = replay_.wait_until_idle(kTimeoutSeconds);
  ASSERT_TRUE(shown);
  EXPECT_FALSE(shown->is_open());
  EXPECT_FALSE(after(replay_command::ShowPass{3})->is_open()) << "and there is nothing to walk through";
}

TEST_F(ReplayTest, APassIsShownAsARunIs) {
  const std::string file = record("run.shardlens");
  const Shown shown = opened(file);
  ASSERT_TRUE(shown->is_open()) << shown->message;
  const RecordingFacts& facts = *shown->recording;
  const Recording recording(file);
  EXPECT_EQ(facts.passes, 4);
  EXPECT_EQ(facts.machine, recording.header().machine);
  EXPECT_EQ(facts.verb, "train");
  EXPECT_TRUE(facts.finished);
  EXPECT_EQ(facts.plan->program, recording.header().program);
  EXPECT_EQ(facts.file_bytes, static_cast<int64_t>(fs::file_size(file)));

  const Snapshot& snapshot = *shown->shown;
  const size_t steps = facts.plan->program.steps.size();
  EXPECT_EQ(snapshot.state, RunState::Done);
  EXPECT_EQ(snapshot.position, steps) << "the first pass, all of it";
  EXPECT_EQ(snapshot.settings, facts.plan->program.settings);
  EXPECT_FALSE(snapshot.stale());
  const Result& result = *snapshot.result;
  EXPECT_TRUE(result.replayed);
  EXPECT_EQ(result.provenance, "replayed on " + facts.machine);
  EXPECT_STREQ(result.how(), "replayed");
  EXPECT_TRUE(result.timed);
  ASSERT_TRUE(result.times);
  EXPECT_EQ(result.times->measured_on, facts.machine);
  const RecordedPass pass = recording.pass(0);
  ASSERT_EQ(result.events.size(), 2u) << "of two replicas the first";
  for (size_t rank = 0; rank < 2; ++rank)
    for (size_t step = 0; step < steps; ++step)
      EXPECT_EQ(result.events[rank][step].end_seconds, pass.events[rank][step].end_seconds);
  EXPECT_EQ(result.high_water_bytes.size(), 2u);
  EXPECT_EQ(result.high_water_bytes[1], recording.high_water_bytes()[1]);
  EXPECT_GT(result.forward_seconds, 0);
}

// It ran to its end, though no event says so.
TEST_F(ReplayTest, APassThatWasNotTracedIsDoneAndSaysWhyItHasNoTimes) {
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2));
  Executor executor(plan);
  {
    Recorder recorder(path("untraced"), "train", *plan, executor.communicator());
    for (const bool traced : {true, false}) {
      executor.set_traced(traced);
      executor.next_pass();
      executor.start(executor.steps());
      executor.wait();
      recorder.take(executor, {}, {}, 0.25);
    }
    recorder.finish();
  }
  EXPECT_EQ(opened(path("untraced"))->shown->result->not_timed, "");
  const Shown second = after(replay_command::ShowPass{1});
  EXPECT_EQ(second->shown->state, RunState::Done);
  EXPECT_EQ(second->shown->position, executor.steps());
  EXPECT_FALSE(second->shown->result->timed);
  EXPECT_THAT(second->shown->result->not_timed, HasSubstr("were not timed"));
  EXPECT_NEAR(second->seconds, Recording(path("untraced")).pass_time(1).end_seconds(), 1e-6);
}

// What was measured is held against what was planned then, not against what would be planned now.
TEST_F(ReplayTest, ShowsTheMemoryThatWasPlannedThen) {
  const Plan plan = *make_plan(testing::small_model(2));
  RecordingHeader header{"step", "a far machine", "local", "threads", plan.program, plan.memory, {}};
  header.memory[1].arena_bytes[static_cast<size_t>(MemoryKind::Activation)] += 640;
  RecordingWriter(path("old"), header).finish();
  const Shown shown = opened(path("old"));
  ASSERT_TRUE(shown->is_open()) << shown->message;
  const std::vector<MemoryPlan>& memory = shown->recording->plan->memory;
  EXPECT_EQ(memory[0].arena_bytes, plan.memory[0].arena_bytes);
  EXPECT_EQ(memory[0].borrowed_bytes, plan.memory[0].borrowed_bytes);
  EXPECT_EQ(memory[1].arena_bytes, header.memory[1].arena_bytes);
  EXPECT_EQ(explain_borrowing(memory[1]), "");
}

TEST_F(ReplayTest, WalksThroughPassesMomentsAndSteps) {
  const Shown first = opened(recorded_by_hand("run", 5, 1e-3));
  ASSERT_TRUE(first->is_open()) << first->message;
  const auto steps = static_cast<double>(first->recording->plan->program.steps.size());
  EXPECT_NEAR(first->recording->seconds, 4 + steps * 1e-3, 1e-6);

  const Shown third = after(replay_command::ShowPass{2});
  EXPECT_EQ(third->pass, 2);
  EXPECT_EQ(third->shown->position, static_cast<size_t>(steps));
  EXPECT_NEAR(third->seconds, 2 + steps * 1e-3, 1e-6);
  EXPECT_EQ(third->shown->plan, first->shown->plan) << "the plan is not made again";
  EXPECT_EQ(after(replay_command::ShowPass{99})->pass, 4);
  EXPECT_EQ(after(replay_command::ShowPass{-7})->pass, 0);

  const Shown moment = after(replay_command::Seek{3.0105});
  EXPECT_EQ(moment->pass, 3);
  EXPECT_EQ(moment->shown->position, 10u) << "the slowest rank has done ten steps";
  EXPECT_EQ(moment->shown->state, RunState::Paused);
  EXPECT_EQ(after(replay_command::Seek{3.9})->shown->position, static_cast<size_t>(steps))
      << "between two passes the one before is over";
  EXPECT_EQ(after(replay_command::Seek{1e9})->pass, 4);
  EXPECT_EQ(after(replay_command::Seek{std::nan("")})->pass, 0);

  after(replay_command::ShowPass{1});
  const Shown step = after(replay_command::ShowStep{7});
  EXPECT_EQ(step->shown->position, 7u);
  EXPECT_NEAR(step->seconds, 1.007, 1e-6);
  EXPECT_EQ(after(replay_command::ShowStep{1u << 30})->shown->position, static_cast<size_t>(steps));
}

// Everything was pictured in the first pass, and one tensor again in the third.
TEST_F(ReplayTest, ThePicturesOfWhatIsLookedAtAreTheNewestThereAre) {
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2));
  const Program& program = plan->program;
  const auto sampled = [&](TensorId id, int rank, float value) {
    const Tensor& tensor = program.tensor(id);
    const auto count = static_cast<size_t>(element_count(local_shape(tensor, 2, rank)));
    std::vector<double> values(count, value);
    for (size_t i = 0; i < count / 2; ++i) values[i] = -value;
    Tensor wide = tensor;
    wide.dtype = DType::Fp64;
    return std::make_shared<const TensorSample>(make_sample(wide, 2, rank, values.data(), {256, 0}));
  };
  TensorId again = 0;  // one whose picture is large
  for (const Tensor& tensor : program.tensors) {
    const MatrixShape shape = local_matrix_shape(tensor, 2, 0);
    if (shape.rows > 32 && shape.cols > 32) again = tensor.id;
  }
  const TensorId once = again > 0 ? 0 : 1;
  {
    RecordingHeader header{"train", "a machine", "local", "", program, plan->memory, {}};
    RecordingWriter writer(path("run"), header);
    for (int pass = 0; pass < 4; ++pass) {
      RecordedPass made;
      made.begin_seconds = pass;
      if (pass == 0 || pass == 2) {
        made.samples.assign(2, std::vector<std::shared_ptr<const TensorSample>>(program.tensors.size()));
        for (int rank = 0; rank < 2; ++rank)
          for (const Tensor& tensor : program.tensors)
            if (pass == 0 || tensor.id == again)
              made.samples[static_cast<size_t>(rank)][static_cast<size_t>(tensor.id)] =
                  sampled(tensor.id, rank, static_cast<float>(pass + 1));
      }
      writer.offer(std::move(made));
    }
    writer.finish();
  }
  EXPECT_FALSE(opened(path("run"))->has_read(again)) << "nobody has looked";
  after(replay_command::Look{{again, once, -3, 1'000'000}});
  const Shown shown = after(replay_command::ShowPass{3});
  const Result& result = *shown->shown->result;
  const auto at = [&](TensorId id) { return static_cast<size_t>(id); };
  EXPECT_TRUE(shown->has_read(again) && shown->has_read(once));
  ASSERT_TRUE(result.samples[0][at(again)]);
  EXPECT_EQ(result.samples[1][at(again)]->stats.max, 3);
  EXPECT_EQ(result.sampled_in[at(again)], 2);
  ASSERT_TRUE(result.samples[0][at(once)]);
  EXPECT_EQ(result.samples[0][at(once)]->stats.max, 1);
  EXPECT_EQ(result.sampled_in[at(once)], 0);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.id == again || tensor.id == once) continue;
    EXPECT_FALSE(result.samples[0][at(tensor.id)]) << tensor.name << " is not looked at";
    EXPECT_FALSE(shown->has_read(tensor.id));
  }
  const Shown second = after(replay_command::ShowPass{1});
  EXPECT_EQ(second->shown->result->sampled_in[at(again)], 0) << "what came later is not known yet";

  // With little room a picture is coarse, and its values are as large as before.
  const Recording recording(path("run"));
  std::vector<bool> wanted(program.tensors.size(), false);
  wanted[at(again)] = true;
  const LatestSamples coarse = recording.latest_samples(3, wanted, {}, 1000);
  const TensorSample& small = *coarse.samples[0][at(again)];
  const Picture& full = result.samples[0][at(again)]->picture;
  EXPECT_LE(small.picture.rows, 32);
  EXPECT_LT(small.picture.values.size(), full.values.size());
  EXPECT_EQ(small.picture.values.front(), full.values.front());
  EXPECT_EQ(small.picture.extent.finite, static_cast<int64_t>(small.picture.values.size()));
  EXPECT_EQ(small.stats.max, 3);
}

TEST_F(ReplayTest, PlaysAsFastAsItIsTold) {
  const Shown first = opened(recorded_by_hand("run", 2, 1e-3));
  after(replay_command::Seek{0.9});  // 0.1 s, and what the second pass takes
  const double left = first->recording->seconds - 0.9;
  const auto begin = std::chrono::steady_clock::now();
  replay_.send(replay_command::Play{0.5});
  double last = 0;
  std::vector<int64_t> passes;
  for (;;) {
    const Shown now = replay_.snapshot();
    EXPECT_GE(now->seconds, last) << "time goes forward";
    last = now->seconds;
    if (passes.empty() || passes.back() != now->pass) passes.push_back(now->pass);
    if (last >= first->recording->seconds) break;
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60)) break;
    usleep(2000);
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(took, left / 0.5 - 0.02) << "half as fast as it was";
  EXPECT_EQ(passes, (std::vector<int64_t>{0, 1}));
  const Shown end = replay_.wait_until_idle(kTimeoutSeconds);
  EXPECT_FALSE(end->playing);
  EXPECT_EQ(end->shown->state, RunState::Done);

  replay_.send(replay_command::Play{1e-6});  // from the beginning again, and it never gets anywhere
  replay_.send(replay_command::Pause{});
  const Shown again = replay_.wait_until_idle(kTimeoutSeconds);
  EXPECT_LT(again->seconds, 0.1);
  EXPECT_FALSE(again->playing);
}

TEST_F(ReplayTest, MetricsComeInColumns) {
  const Shown shown = opened(record("run"));
  ASSERT_TRUE(shown->metrics->complete);
  const std::vector<double>* loss = shown->metrics->column("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(*loss, (std::vector<double>{5, 4, 3, 2}));
  EXPECT_TRUE(std::isinf((*shown->metrics->column("gradient_norm"))[1]));
  EXPECT_EQ(shown->metrics->column("nothing"), nullptr);
}

TEST_F(ReplayTest, ADeepModelsGradientsPushNoOtherMetricOut) {
  const std::string file = recorded_by_hand("run", 1, 1e-3);
  Database(file, Database::Access::ReadWrite)
      .run(
          "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 47)"
          " INSERT INTO metrics SELECT 0, 'gradient_norm layer ' || i, i FROM n;"
          "INSERT INTO metrics VALUES(0, 'step', 101);");
  const Shown shown = opened(file);
  ASSERT_NE(shown->metrics->column("gradient_norm layer 47"), nullptr);
  ASSERT_NE(shown->metrics->column("step"), nullptr);
  EXPECT_EQ(shown->metrics->column("step")->front(), 101);
}

TEST_F(ReplayTest, OfVeryManyPassesSomeMetricsAreRead) {
  const std::string file = recorded_by_hand("run", 1, 1e-3);
  Database(file, Database::Access::ReadWrite)
      .run(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)"
          " INSERT INTO passes SELECT i, i * 1000, 10 FROM n;"
          "INSERT INTO metrics SELECT pass, 'loss', pass FROM passes;");
  const Shown shown = opened(file);
  EXPECT_EQ(shown->recording->passes, 200'000);
  EXPECT_EQ(shown->metrics->stride, 4);
  ASSERT_TRUE(shown->metrics->complete);
  const std::vector<double>& loss = *shown->metrics->column("loss");
  ASSERT_EQ(loss.size(), 50'000u);
  EXPECT_EQ(loss[12'345], 4 * 12'345);
  EXPECT_EQ(after(replay_command::ShowPass{150'000})->pass, 150'000);
  EXPECT_FALSE(replay_.snapshot()->shown->result->timed) << "such a pass has no events";
}

TEST_F(ReplayTest, WhatIsRefusedLeavesWhatIsOpen) {
  const std::string file = record("run.shardlens");
  opened(file);
  const Shown before = after(replay_command::ShowPass{2});
  write("text", std::string(5000, 'x'));
  Database(path("other"), Database::Access::Create).run("CREATE TABLE t(x)");
  fs::copy_file(file, path("newer"));
  Database(path("newer"), Database::Access::ReadWrite)
      .run("PRAGMA user_version = " + std::to_string(kRecordingVersion + 1));
  fs::copy_file(file, path("cut"));
  fs::resize_file(path("cut"), fs::file_size(file) / 3);
  fs::copy_file(file, path("gaps"));
  Database(path("gaps"), Database::Access::ReadWrite).run("DELETE FROM passes WHERE pass = 1");
  uint64_t messages = before->messages;
  for (const auto& [name, word] : {std::pair{"text", "not an SQLite database"},
                                   {"other", "no Shardlens recording"},
                                   {"newer", "Use a newer one"},
                                   {"cut", "cut"},
                                   {"gaps", "numbered 0 to 3"},
                                   {"nothing", "no such file"}}) {
    const Shown shown = opened(path(name));
    EXPECT_THAT(shown->message, HasSubstr(word)) << name;
    EXPECT_EQ(shown->messages, ++messages) << name;
    EXPECT_EQ(shown->recording, before->recording) << name;
    EXPECT_EQ(shown->pass, 2) << name;
  }
  EXPECT_FALSE(after(replay_command::Close{})->is_open());
  EXPECT_FALSE(opened(path("text"))->is_open());
}

// Who waits for what was asked for sees that it will not come.
TEST_F(ReplayTest, APassThatCannotBeReadIsCountedAsAFailure) {
  const std::string file = record("run");
  Database(file, Database::Access::ReadWrite).run("UPDATE passes SET begin_ns = 'soon' WHERE pass = 2");
  EXPECT_EQ(opened(file)->failures, 0u);
  const Shown shown = after(replay_command::ShowPass{2});
  EXPECT_TRUE(shown->is_open()) << "the other passes can be seen";
  EXPECT_EQ(shown->failures, 1u);
  EXPECT_THAT(shown->message, HasSubstr("begin_ns"));
  EXPECT_EQ(after(replay_command::ShowPass{3})->pass, 3);
  EXPECT_EQ(opened(path("nowhere"))->failures, 2u) << "and so is a file that is refused";
}

TEST_F(ReplayTest, MetricsThatCannotBeReadAreComplete) {
  const std::string file = record("run");
  Database(file, Database::Access::ReadWrite).run("UPDATE metrics SET value = 'much' WHERE pass = 2");
  const Shown shown = opened(file);
  ASSERT_TRUE(shown->is_open());
  EXPECT_TRUE(shown->metrics->complete) << "nobody waits for more";
  EXPECT_EQ(shown->failures, 1u);
}

TEST_F(ReplayTest, AHostileProgramIsRefused) {
  const std::string file = record("run");
  const std::vector<std::function<void(nlohmann::ordered_json&)>> harms{
      [](auto& program) { program["settings"]["batch"] = 0; },
      [](auto& program) {
        for (auto& step : program["steps"])
          if (step["op"] == "linear") step["inputs"] = nlohmann::ordered_json::array();
      },
      [](auto& program) {
        for (auto& step : program["steps"])
          if (step["op"] == "identity") step["inputs"] = step["outputs"];
      },
      [](auto& program) {
        for (auto& tensor : program["tensors"]) tensor["shape"][0] = int64_t{1} << 62;
      }};
  for (size_t i = 0; i < harms.size(); ++i) {
    const std::string harmed = path("harmed" + std::to_string(i));
    fs::copy_file(file, harmed);
    Database database(harmed, Database::Access::ReadWrite);
    Statement read = database.prepare("SELECT value FROM meta WHERE key = 'program'");
    ASSERT_TRUE(read.step());
    auto program = nlohmann::ordered_json::parse(read.text(0));
    read.reset();
    const auto before = program;
    harms[i](program);
    ASSERT_NE(program, before) << i;
    const std::string text = program.dump();
    database.prepare("UPDATE meta SET value = ? WHERE key = 'program'").bind(1, std::string_view(text)).run();
    const Shown shown = opened(harmed);
    EXPECT_FALSE(shown->is_open()) << i;
    EXPECT_NE(shown->message, "") << i;
  }
}

TEST_F(ReplayTest, AProgramThatSettingsDoNotMakeIsShownAsRecorded) {
  const Program wrong = plant(plan_program(testing::small_model(2)), Fault::SkipG);
  const Plan plan = *make_plan(wrong);
  RecordingHeader header{"verify", "a machine", "local", "", wrong, plan.memory, {}};
  RecordingWriter(path("run"), header).finish();
  const Shown shown = opened(path("run"));
  ASSERT_TRUE(shown->is_open()) << shown->message;
  EXPECT_EQ(shown->recording->plan->program, wrong);
  EXPECT_EQ(shown->recording->passes, 0);
  EXPECT_EQ(shown->shown->result, nullptr) << "and it holds no pass";
  EXPECT_EQ(after(replay_command::ShowPass{1})->shown->result, nullptr);
}

TEST_F(ReplayTest, FoldersAreListed) {
  record("a.shardlens");
  write("b.txt", "no recording");
  fs::create_directory(path("inside"));
  const Shown shown = after(replay_command::List{path("")});
  ASSERT_EQ(shown->list->entries.size(), 2u);
  EXPECT_EQ(shown->list->entries[0].name, "a.shardlens");
  EXPECT_GT(shown->list->entries[0].bytes, 0);
  EXPECT_TRUE(shown->list->entries[1].is_folder);
  EXPECT_NE(after(replay_command::List{path("nowhere")})->list->problem, "");
  EXPECT_EQ(opened(path("inside"))->list->folder, fs::canonical(path("inside")).string())
      << "a folder is listed";
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// A million events and half a gibibyte: what is not shown is not read. Whoever read the file, or its events,
// would need at least as much memory as they take.
TEST_F(ReplayTest, MemoryDoesNotGrowWithTheFile) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is not the replay's";
#endif
  const std::string file = recorded_by_hand("run", 1, 1e-4);
  {
    Database database(file, Database::Access::ReadWrite);
    database.run("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF");
    const int64_t events = database.integer("SELECT count(*) FROM events WHERE pass = 0");
    const int64_t passes = 1'000'000 / events + 1;
    database.run(
        "CREATE TABLE load(x BLOB);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(passes - 1) +
        ") INSERT INTO passes SELECT i, i * 1000000000, 100000000 FROM n;"
        "INSERT INTO events SELECT passes.pass, rank, step, e.begin_ns, end_ns, arrival_ns, met_ns, "
        "sent_bytes "
        "FROM passes, events e WHERE passes.pass > 0 AND e.pass = 0;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 64)"
        " INSERT INTO load SELECT randomblob(8388608) FROM n;");
  }
  ASSERT_GT(fs::file_size(file), uintmax_t{500} << 20);
  const int64_t before = resident_bytes();
  const Shown first = opened(file);
  ASSERT_TRUE(first->is_open()) << first->message;
  for (int64_t i = 0; i < 60; ++i)
    ASSERT_TRUE(after(replay_command::ShowPass{i * first->recording->passes / 60})->shown->result->timed);
  EXPECT_LT(resident_bytes() - before, int64_t{64} << 20);
}

}  // namespace replay_test
}  // namespace shardlens
