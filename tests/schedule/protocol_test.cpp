// The protocols are safe, and protocols with one micro-step missing or moved are not.
#include "schedule/protocol.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

using enum MicroStep;
using Steps = std::vector<MicroStep>;

std::string fault(Shape shape, const Steps& sender, const Steps& receiver) {
  return check_protocol({shape, "broken", sender, receiver}).text();
}

TEST(Protocol, AllAreSafe) {
  for (int i = 0; i < kShapeCount; ++i) {
    const Protocol& protocol = protocol_of(static_cast<Shape>(i));
    EXPECT_EQ(static_cast<int>(protocol.shape), i);
    EXPECT_EQ(check_protocol(protocol).text(), "");
  }
}

// Each of these overwrites or reads memory too early, or hangs.
TEST(Protocol, NoMicroStepCanBeLeftOut) {
  for (int i = 0; i < kShapeCount; ++i) {
    const Protocol& protocol = protocol_of(static_cast<Shape>(i));
    for (size_t gone = 0; gone < protocol.sender.size() + protocol.receiver.size(); ++gone) {
      Steps sender(protocol.sender.begin(), protocol.sender.end());
      Steps receiver(protocol.receiver.begin(), protocol.receiver.end());
      Steps& steps = gone < sender.size() ? sender : receiver;
      const size_t at = gone < sender.size() ? gone : gone - sender.size();
      const MicroStep step = steps[at];
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(at));
      // Waits that a later wait of the same end includes.
      const bool implied = (step == await_expose && protocol.shape != Shape::get) ||
                           (step == await_grant && protocol.shape == Shape::fragments);
      EXPECT_EQ(fault(protocol.shape, sender, receiver).empty(), implied)
          << protocol.name << " without " << micro_step_name(step);
    }
  }
}

TEST(Protocol, SaysWhatIsWrong) {
  auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(fault(Shape::get, {expose}, {await_expose, read, notify}),
         "the sender may end before read");
  expect(fault(Shape::get, {expose, await_notify}, {read, await_expose, notify}),
         "nothing makes the peer allow read");
  expect(fault(Shape::put, {await_grant, write, notify}, {grant}),
         "the receiver may end before write");
  expect(fault(Shape::send_receive, {await_grant, post_send, await_completion},
               {grant, post_receive, await_completion}),
         "nothing makes the peer allow post_send");
  expect(fault(Shape::put, {await_grant, write, notify}, {await_notify, grant}), "deadlock");
  expect(fault(Shape::get, {expose, await_notify}, {await_expose, notify}),
         "the payload does not move exactly once");
  expect(fault(Shape::eager, {push}, {}), "no micro-steps");
  expect(fault(Shape::eager, {push}, {await_grant}), "the peer lacks");
}

}  // namespace
}  // namespace sgl::test
