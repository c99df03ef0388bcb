// Makes the short recording: trains a small model, records it and adds two notes.
#include "app/studio/short_recording.h"

#include <fmt/format.h>

#include "engine/runtime/recordings/recorder.h"
#include "engine/train/data/batch_source.h"
#include "engine/train/data/train_data.h"
#include "engine/train/trainer.h"
#include "ui/panels/train/train_choices.h"

namespace shardlens {
namespace {

constexpr int64_t kSteps = 40;
constexpr const char* kName = "short training.shardlens";

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
  note.text = "The first collective: see which rank waits.";
  recording.add_note(note);
  note = {};
  note.seconds = recording.pass_time(24).end_seconds();
  recording.add_note(note);
}

}  // namespace

std::string ShortRecording::path() {
  if (!folder_) {
    folder_.emplace(files_of_recording(kName));
    train(folder_->path_of(kName));
    write_notes(folder_->path_of(kName));
  }
  return folder_->path_of(kName);
}

}  // namespace shardlens
