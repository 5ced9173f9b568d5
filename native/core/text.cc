#include "core/text.h"

#include <cstdint>

namespace panto {
namespace {

// What one lead byte allows (Unicode 15, table 3-7): how many continuation bytes, and the range of the first
// of them.
struct Lead {
  int continuation_bytes;
  uint8_t first_low;
  uint8_t first_high;
};

Lead classify(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {-1, 0, 0};
}

struct Step {
  size_t length;  // bytes to pass over
  bool valid;
};

Step next_sequence(std::string_view bytes, size_t at) {
  auto byte = static_cast<uint8_t>(bytes[at]);
  if (byte < 0x80) return {1, true};
  Lead lead = classify(byte);
  if (lead.continuation_bytes < 0) return {1, false};
  for (int i = 1; i <= lead.continuation_bytes; i++) {
    if (at + i >= bytes.size()) return {static_cast<size_t>(i), false};
    auto next = static_cast<uint8_t>(bytes[at + i]);
    uint8_t low = i == 1 ? lead.first_low : 0x80;
    uint8_t high = i == 1 ? lead.first_high : 0xBF;
    if (next < low || next > high) return {static_cast<size_t>(i), false};
  }
  return {static_cast<size_t>(lead.continuation_bytes) + 1, true};
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    Step step = next_sequence(bytes, at);
    if (!step.valid) return false;
    at += step.length;
  }
  return true;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    Step step = next_sequence(bytes, at);
    if (step.valid) {
      out.append(bytes, at, step.length);
    } else {
      out.append("\xEF\xBF\xBD");
    }
    at += step.length;
  }
  return out;
}

}  // namespace panto
