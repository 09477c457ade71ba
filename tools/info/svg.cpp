#include "info/svg.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace sgl::info {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        // XML has no form for control characters, and a name may hold bytes of any code.
        result +=
            static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
    }
  }
  return result;
}

}  // namespace

Svg::Svg(double width, double height) {
  out_ = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n",
      width, height);
}

void Svg::box(const Box& box, std::string_view fill, std::string_view tooltip) {
  fmt::format_to(
      std::back_inserter(out_),
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" fill=\"{}\" "
      "stroke=\"#5f6b76\" stroke-width=\"0.8\"><title>{}</title></rect>\n",
      box.x, box.y, box.width, box.height, fill, escaped(tooltip));
}

void Svg::line(Point from, Point to, std::string_view colour) {
  fmt::format_to(std::back_inserter(out_),
                 "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
                 "stroke-width=\"2\"/>\n",
                 from.x, from.y, to.x, to.y, colour);
}

void Svg::arc(Point from, Point to, double sag, std::string_view colour) {
  // A cubic curve reaches three quarters of the way to its control points.
  const double control = sag * 4 / 3;
  fmt::format_to(std::back_inserter(out_),
                 "<path d=\"M {0:.1f} {1:.1f} C {0:.1f} {2:.1f} {3:.1f} {4:.1f} {3:.1f} {5:.1f}\" "
                 "fill=\"none\" "
                 "stroke=\"{6}\" stroke-width=\"2\"/>\n",
                 from.x, from.y, from.y + control, to.x, to.y + control, to.y, colour);
}

void Svg::disc(Point centre, double radius, std::string_view fill, std::string_view tooltip) {
  fmt::format_to(std::back_inserter(out_),
                 "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" stroke=\"#333b44\">"
                 "<title>{}</title></circle>\n",
                 centre.x, centre.y, radius, fill, escaped(tooltip));
}

void Svg::centred_text(Point at, double size, std::string_view text, std::string_view colour) {
  fmt::format_to(std::back_inserter(out_),
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.0f}\" text-anchor=\"middle\" "
                 "fill=\"{}\">{}</text>\n",
                 at.x, at.y, size, colour, escaped(text));
}

void Svg::text(Point at, double size, std::string_view text, std::string_view colour) {
  fmt::format_to(std::back_inserter(out_),
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.0f}\" fill=\"{}\">{}</text>\n",
                 at.x, at.y, size, colour, escaped(text));
}

std::string Svg::finish() {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace sgl::info
