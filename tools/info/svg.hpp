// A small writer of SVG: shapes in order, lengths in pixels.
#pragma once

#include <string>
#include <string_view>

namespace sgl::info {

struct Point {
  double x, y;
};

struct Box {
  double x, y, width, height;
};

class Svg {
 public:
  Svg(double width, double height);

  void box(const Box& box, std::string_view fill, std::string_view tooltip);
  void line(Point from, Point to, std::string_view colour);
  // An arc that hangs below both ends by `sag`.
  void arc(Point from, Point to, double sag, std::string_view colour);
  void disc(Point centre, double radius, std::string_view fill, std::string_view tooltip);
  // Centred on, or starting at, the point; `y` is the base line.
  void centred_text(Point at, double size, std::string_view text, std::string_view colour);
  void text(Point at, double size, std::string_view text, std::string_view colour);

  // The document; call once, last.
  std::string finish();

 private:
  std::string out_;
};

}  // namespace sgl::info
