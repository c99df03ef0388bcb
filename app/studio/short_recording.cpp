// Trains, records and writes two notes.
#include "app/studio/short_recording.h"

#include <fmt/format.h>
#include <unistd.h>

#include "engine/runtime/recordings/recorder.h"
#include "engine/train/data/batch_source.h"
#include "engine/train/data/train_data.h"
#include "engine/train/trainer.h"
#include "ui/train_choices.h"

namespace shardlens {
namespace {

constexpr int64_t kSteps = 40;

void train(const std::string& path) {
  ui::TrainChoices choices;
  choices.steps = kSteps;
  TrainOptions options = ui::training_of(choices).models.front().options;
  const TrainData data = open_built_in_text(options.settings.model);
  Trainer trainer(options, make_batches(data.train, *data.tokenizer, options.settings, options.settings.seed),
                  nullptr);
  Recorder recorder(path, "train", trainer.plan(), trainer.executor().communicator(), {}, PictureOptions{});
  trainer.observe({recorder.pictures()});
  for (int64_t i = 0; i < kSteps; ++i) {
    const StepReport report = trainer.step();
    recorder.take(trainer.executor(), {{"step", static_cast<double>(report.step)},
                                       {"loss", report.loss},
                                       {"gradient_norm", report.gradient_norm},
                                       {"learning_rate", report.learning_rate},
                                       {"tokens_per_second", report.tokens_per_second}});
  }
  recorder.finish();
}

void write_notes(const std::string& path) {
  Recording recording(path);
  const Program& program = recording.header().program;
  Note note;
  for (const Step& step : program.steps) {
    if (!is_collective(step.op)) continue;
    note.step = step.id;
    break;
  }
  note.seconds = recording.pass_time(9).end_seconds();
  note.text = "The first place where the ranks meet: look at who waits.";
  recording.add_note(note);
  note = {};
  note.seconds = recording.pass_time(24).end_seconds();
  recording.add_note(note);
}

}  // namespace

std::string ShortRecording::path() {
  if (folder_.empty()) {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("shardlens-{}", getpid());
    std::filesystem::create_directories(folder_);
    const std::string file = (folder_ / "short training.shardlens").string();
    train(file);
    write_notes(file);
  }
  return (folder_ / "short training.shardlens").string();
}

ShortRecording::~ShortRecording() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace shardlens
