#include "transport/rc/device.hpp"

namespace sgl {

const char* outcome_text(DeviceOutcome outcome) {
  switch (outcome) {
    case DeviceOutcome::success:
      return "success";
    case DeviceOutcome::local_protection:
      return "local protection error";
    case DeviceOutcome::local_length:
      return "local length error";
    case DeviceOutcome::remote_access:
      return "remote access error";
    case DeviceOutcome::remote_operation:
      return "remote operation error";
    case DeviceOutcome::receiver_not_ready:
      return "receiver not ready";
    case DeviceOutcome::retry_exceeded:
      return "retries exceeded";
    case DeviceOutcome::flushed:
      return "flushed";
  }
  return "unknown outcome";
}

const char* outcome_remedy(DeviceOutcome outcome) {
  switch (outcome) {
    case DeviceOutcome::success:
      return "nothing is wrong";
    case DeviceOutcome::local_protection:
      return "memory of an operation must stay mapped until the operation is complete";
    case DeviceOutcome::local_length:
    case DeviceOutcome::remote_operation:
    case DeviceOutcome::receiver_not_ready:
      return "this should not happen: please report it";
    case DeviceOutcome::remote_access:
      return "that rank must keep its memory mapped, and registered, until the operation is "
             "complete";
    case DeviceOutcome::retry_exceeded:
      return "is that rank alive, and do packets of this size reach it?";
    case DeviceOutcome::flushed:
      return "an earlier request failed, or the connection was closed";
  }
  return "";
}

}  // namespace sgl
