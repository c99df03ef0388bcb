// Writes a handout as one page of the web. assets/handout holds its style and its script; without the script
// the page is a document with the answers at its end.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/config/assets.h"
#include "engine/io/base64.h"
#include "engine/io/json_text.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/written_answer.h"
#include "ui/figure/markup.h"
#include "ui/figure/svg_sheet.h"
#include "ui/handout/handout.h"

namespace shardlens {
std::span<const EmbeddedFile> embedded_handout();  // assets/handout; defined by the build
}

namespace shardlens::ui {
namespace {

std::string element(const char* name, const std::string& contents, const std::string& attributes = "") {
  return fmt::format("<{}{}{}>{}</{}>", name, attributes.empty() ? "" : " ", attributes, contents, name);
}

std::string attribute(const char* name, const std::string& value) {
  return fmt::format(" {}=\"{}\"", name, escaped(value));
}

/// The theme's tokens as variables of CSS.
std::string colours_of(ThemeName name) {
  const Theme& tokens = theme(name);
  std::string rules = ":root{";
  const auto add = [&](const char* variable, ImU32 colour) {
    rules += fmt::format("--{}:#{:02x}{:02x}{:02x};", variable, colour >> IM_COL32_R_SHIFT & 255,
                         colour >> IM_COL32_G_SHIFT & 255, colour >> IM_COL32_B_SHIFT & 255);
  };
  add("ground", name == ThemeName::Light ? tokens.panel : tokens.window);  // as of figures
  add("card", tokens.card);
  add("line", tokens.line);
  add("text", tokens.text);
  add("dim", tokens.dim);
  add("accent", tokens.forward);
  add("right", tokens.agreement);
  return rules + "}";
}

class Document {
 public:
  Document(const Handout& handout, const Fonts& fonts) : handout_(handout), fonts_(fonts), sheet_(fonts) {}

  std::string write() {
    std::string body = beginning();
    for (size_t i = 0; i < handout_.scenes.size(); ++i) body += scene(handout_.scenes[i], i);
    body += glossary() + answers();
    note_characters();
    return fmt::format(
        "<!DOCTYPE html>\n"
        "<html lang=\"en\">\n"
        "<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; font-src "
        "data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<title>{}</title>\n"
        "<style>\n"
        "{}\n"
        "@media screen and (prefers-color-scheme: dark){{{}}}\n"
        "{}{}</style>\n"
        "</head>\n"
        "<body>\n"
        "{}<main>\n"
        "{}</main>\n"
        "{}<script>\n"
        "{}{}</script>\n"
        "</body>\n"
        "</html>\n",
        escaped(handout_.title), colours_of(ThemeName::Light), colours_of(ThemeName::Dark), sheet_.styles(),
        find_embedded(embedded_handout(), "handout.css"), sheet_.pictures(), body,
        find_embedded(embedded_handout(), "controls.html"), find_embedded(embedded_handout(), "answers.js"),
        find_embedded(embedded_handout(), "handout.js"));
  }

 private:
  std::string text(const std::string& words) {
    shown_ += words;
    return escaped(words);
  }

  std::string beginning() {
    std::string facts = handout_.extent();
    if (handout_.seed) facts += fmt::format(" · seed {}", *handout_.seed);
    std::string out = element("h1", text(handout_.title)) + "\n" +
                      element("p", text(handout_.asks), "class=\"asks\"") + "\n" +
                      element("p", text(facts), "class=\"note\"") + "\n";
    if (!handout_.sources.empty())
      out += element("p", text(fmt::format("Sources: {}", fmt::join(handout_.sources, "; "))),
                     "class=\"note\"") +
             "\n";
    out += element("p", text("Every number and picture is from a plan or a run that was made for this page."),
                   "class=\"note\"");
    return element("header", out) + "\n";
  }

  std::string span(const ShownSpan& one) {
    std::string words = text(one.text);
    if (one.code) words = element("code", words);
    if (one.emphasis) words = element("em", words);
    if (one.strong) words = element("strong", words);
    return words;
  }

  std::string paragraphs(const std::vector<ShownParagraph>& all) {
    using Kind = LessonParagraph::Kind;
    std::string out;
    for (size_t i = 0; i < all.size(); ++i) {
      const ShownParagraph& one = all[i];
      std::string words;
      for (const ShownSpan& part : one.spans) words += span(part);
      const bool begins = i == 0 || all[i - 1].kind != one.kind;
      const bool ends = i + 1 == all.size() || all[i + 1].kind != one.kind;
      switch (one.kind) {
        case Kind::Plain:
          out += element("p", words);
          break;
        case Kind::Quote:
          out += element("blockquote", element("p", words));
          break;
        case Kind::Code:
          out += element("pre", words);
          break;
        case Kind::Bullet:
          out += (begins ? "<ul>" : "") + element("li", words) + (ends ? "</ul>" : "");
          break;
        case Kind::Numbered:
          out += (begins ? fmt::format("<ol start=\"{}\">", one.number) : "") + element("li", words) +
                 (ends ? "</ol>" : "");
          break;
      }
      out += "\n";
    }
    return out;
  }

  std::string picture(const HandoutPicture& one, const char* theme, const std::string& says) {
    std::string drawn;
    if (const Figure* figure = std::get_if<Figure>(&one)) {
      drawn = sheet_.add(figure->tape, figure->page);
      for (const TapeMark& mark : figure->tape.marks())
        if (const auto* words = std::get_if<mark::Words>(&mark.what)) shown_ += words->text;
    } else {
      const Image& image = std::get<Image>(one);
      const std::vector<uint8_t> png = encode_png(image);
      drawn = fmt::format("<img width=\"{}\" height=\"{}\"{} src=\"data:image/png;base64,{}\">",
                          image.size.width, image.size.height, attribute("alt", says),
                          base64({reinterpret_cast<const char*>(png.data()), png.size()}));
    }
    return fmt::format("<div class=\"picture {}\">{}</div>\n", theme, drawn);
  }

  std::string figure(const HandoutScene& scene) {
    if (scene.light.empty()) return "";
    const std::string says = "What the studio shows in the scene: " + scene.title;
    std::string out;
    for (const HandoutPicture& one : scene.light)
      out += picture(one, scene.dark.empty() ? "" : "light", says);
    for (const HandoutPicture& one : scene.dark) out += picture(one, "dark", says);
    std::string caption;
    for (const ShownCallout& callout : scene.callouts)
      caption += element("p", element("code", text(callout.at)) + ": " + text(callout.text)) + "\n";
    caption += element("p", text(scene.numbers), "class=\"note\"");
    return element("figure", out + element("figcaption", caption)) + "\n";
  }

  std::string fields(const HandoutQuestion& question, const std::string& number) {
    const std::string name = "q" + number;
    const std::string how = text(question.how_to_answer());
    std::string out;
    switch (question.kind) {
      case QuestionKind::Choice:
        for (const std::string& choice : question.choices)
          out += fmt::format(
              "<label class=\"choice\"><input type=\"radio\" name=\"{}\"{}> <span>{}</span></label>\n", name,
              attribute("value", choice), text(choice));
        return out;
      case QuestionKind::Order:
        out = element("p", how, "class=\"note\"") + "\n<ol class=\"items\">\n";
        for (const std::string& item : question.choices)
          out += fmt::format(
              "<li><button type=\"button\" class=\"item\"{}><span "
              "class=\"place\"></span><code>{}</code></button></li>\n",
              attribute("data-item", item), text(item));
        return out + "</ol>\n";
      case QuestionKind::Number:
        return fmt::format(
            "<label class=\"typed\"><span class=\"note\">{}</span> <input type=\"text\" "
            "inputmode=\"decimal\" "
            "name=\"{}\" autocomplete=\"off\"></label>\n",
            how, name);
      case QuestionKind::Point:
      case QuestionKind::Cut:
        return fmt::format(
            "<label class=\"typed\"><span class=\"note\">{}</span> <input type=\"text\" name=\"{}\" "
            "autocomplete=\"off\" autocapitalize=\"off\" spellcheck=\"false\"></label>\n",
            how, name);
    }
    return out;
  }

  std::string question(const HandoutQuestion& one, const std::string& number) {
    const std::string ask =
        element("p", element("span", number, "class=\"number\"") + " " + text(one.ask), "class=\"ask\"");
    return fmt::format(
        "<form class=\"question\" id=\"q{}\" data-kind=\"{}\"{}>\n{}\n{}"
        "<p class=\"buttons\"><button type=\"submit\" class=\"check\">{}</button> "
        "<button type=\"button\" class=\"reveal\">Show the answer</button></p>\n"
        "<div class=\"verdict\" aria-live=\"polite\"></div>\n</form>\n",
        number, to_string(one.kind), attribute("data-id", one.id), ask, fields(one, number),
        one.kind == QuestionKind::Cut ? "Compare" : "Check");
  }

  std::string scene(const HandoutScene& one, size_t place) {
    std::string out =
        fmt::format("<h2><span class=\"number\">{}</span> {}</h2>\n", place + 1, text(one.title));
    out += paragraphs(one.text) + figure(one);
    for (size_t i = 0; i < one.questions.size(); ++i)
      out += question(one.questions[i], Handout::number_of(place, i));
    return fmt::format("<section class=\"scene\" id=\"scene-{}\">\n{}</section>\n", place + 1, out);
  }

  std::string glossary() {
    std::string out;
    for (const std::string_view one : handout_.words()) {
      const size_t end = one.find(':');  // "Rank: One of the T workers …"
      out += element("dt", text(std::string(one.substr(0, end)))) +
             element("dd", text(std::string(one.substr(end + 2)))) + "\n";
    }
    if (out.empty()) return "";
    return element("section", "<h2>Words</h2>\n" + element("dl", out), "class=\"scene\" id=\"words\"") + "\n";
  }

  std::string answers() {
    if (handout_.question_count() == 0) return "";
    std::string out = "<h2>Answers</h2>\n";
    for (size_t place = 0; place < handout_.scenes.size(); ++place)
      for (size_t i = 0; i < handout_.scenes[place].questions.size(); ++i) {
        const HandoutQuestion& asked = handout_.scenes[place].questions[i];
        std::string data;
        if (asked.right.key) {
          const nlohmann::ordered_json key = key_as_json(*asked.right.key);
          data = attribute("data-key", json_text(key));
          shown_ += key.dump();  // a verdict may show any of it
        }
        out += fmt::format(
            "<div class=\"answer\" id=\"a{0}\"{1}>\n<p class=\"right\"><span class=\"number\">{0}</span> "
            "{2}</p>\n"
            "<p class=\"because\">{3}</p>\n</div>\n",
            Handout::number_of(place, i), data, text(asked.right_text()), text(asked.right.because));
      }
    return element(
               "section", out,
               "class=\"scene\" id=\"answers\"" + attribute("data-rules", json_text(rules_of_writing()))) +
           "\n";
  }

  /// Tells which characters the embedded fonts need: those of the page, and what a reader may type.
  void note_characters() {
    for (char c = ' '; c <= '~'; ++c) shown_ += c;
    for (ImFont* const font : {fonts_.body, fonts_.bold, fonts_.italic, fonts_.mono})
      sheet_.will_show(font, shown_);
  }

  const Handout& handout_;
  const Fonts& fonts_;
  SvgSheet sheet_;
  std::string shown_;  ///< all text of the page
};

}  // namespace

std::string to_html(const Handout& handout, const Fonts& fonts) {
  return Document(handout, fonts).write();
}

}  // namespace shardlens::ui
