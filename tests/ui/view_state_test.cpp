// The view keeps one value of each type that a panel requests.
#include "ui/view_state.h"

#include <gtest/gtest.h>

#include <string>

namespace shardlens::ui {
namespace view_state_test {

struct Page {
  int number = 1;
};
struct Filter {
  std::string words;
};

TEST(ViewState, KeepsOneValueOfEachType) {
  ViewState view;
  Page& page = view.of<Page>();
  EXPECT_EQ(page.number, 1);
  page.number = 2;
  view.of<Filter>().words = "all-reduce";
  EXPECT_EQ(&view.of<Page>(), &page) << "a reference stays valid when others are added";
  EXPECT_EQ(view.of<Page>().number, 2);
}

TEST(ViewState, ACopyHasValuesOfItsOwn) {
  ViewState view;
  view.of<Page>().number = 2;
  ViewState copy = view;
  copy.of<Page>().number = 3;
  EXPECT_EQ(view.of<Page>().number, 2);
  EXPECT_EQ(copy.of<Page>().number, 3);
}

TEST(ViewState, InALowWindowALectureIsLessEnlarged) {
  EXPECT_FLOAT_EQ(lecture_scale_at(1920, 1080), kLectureScale);
  EXPECT_FLOAT_EQ(lecture_scale_at(1280, 720), 1.28f);
  EXPECT_FLOAT_EQ(lecture_scale_at(1280, 300), 1.28f) << "never smaller than at 720";
  EXPECT_FLOAT_EQ(lecture_scale_at(390, 844), 1) << "a phone's window";
}

TEST(ViewState, ReadsDefaultsWhereNothingWasKept) {
  const ViewState view;
  EXPECT_EQ(view.of<Page>().number, 1);
  EXPECT_TRUE(view.of<Filter>().words.empty());
}

}  // namespace view_state_test
}  // namespace shardlens::ui
