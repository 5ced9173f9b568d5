// UTF-8 at the border, and the queue between the threads.
#include "core/text.h"

#include <thread>

#include "check.h"
#include "core/messages.h"

namespace panto::test {
namespace {

#define REPLACED "\xEF\xBF\xBD"

TEST("text: valid UTF-8 stays as it is") {
  std::string all;
  for (uint32_t point = 0; point <= 0x10FFFF; point += point < 0x1000 ? 1 : 61) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    if (point < 0x80) {
      all += static_cast<char>(point);
    } else if (point < 0x800) {
      all += static_cast<char>(0xC0 | point >> 6);
      all += static_cast<char>(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
      all += static_cast<char>(0xE0 | point >> 12);
      all += static_cast<char>(0x80 | (point >> 6 & 0x3F));
      all += static_cast<char>(0x80 | (point & 0x3F));
    } else {
      all += static_cast<char>(0xF0 | point >> 18);
      all += static_cast<char>(0x80 | (point >> 12 & 0x3F));
      all += static_cast<char>(0x80 | (point >> 6 & 0x3F));
      all += static_cast<char>(0x80 | (point & 0x3F));
    }
  }
  CHECK(is_valid_utf8(all));
  CHECK(to_valid_utf8(all) == all);
}

// The examples of the WHATWG Encoding Standard's decoder, and of Unicode 15, table 3-8 to 3-11.
TEST("text: each maximal invalid sequence becomes one U+FFFD") {
  CHECK_EQUAL(to_valid_utf8("a\xffz"), "a" REPLACED "z");
  CHECK_EQUAL(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
              REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED "A");
  CHECK_EQUAL(to_valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
              REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED "A");
  CHECK_EQUAL(to_valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
              REPLACED REPLACED REPLACED REPLACED REPLACED "A" REPLACED REPLACED "B");
  CHECK_EQUAL(to_valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), REPLACED REPLACED REPLACED REPLACED "A");
  CHECK_EQUAL(to_valid_utf8("end \xF0\x9F\x98"), "end " REPLACED);
}

TEST("text: whatever the bytes are, the outcome is valid and stays so") {
  uint64_t random = settings().seed;
  for (int round = 0; round < 20000; round++) {
    std::string bytes;
    for (int i = 0; i < 12; i++) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      // Mostly bytes of the kinds that matter.
      static const unsigned char kinds[] = {0x41, 0x80, 0xBF, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0x9F, 0xA0};
      bytes += static_cast<char>(kinds[(random >> 33) % sizeof kinds]);
    }
    std::string valid = to_valid_utf8(bytes);
    CHECK(is_valid_utf8(valid));
    CHECK(to_valid_utf8(valid) == valid);
    CHECK_EQUAL(is_valid_utf8(bytes), valid == bytes);
  }
}

TEST("mailbox: nothing is lost or reordered between threads, and each filling wakes once") {
  constexpr int kItems = 50000;
  Mailbox<int> box;
  int wakes = 0;
  std::thread writer([&] {
    for (int i = 0; i < kItems; i++) wakes += box.push(i) ? 1 : 0;
  });
  int next = 0;
  int fillings = 0;
  while (next < kItems) {
    std::vector<int> items = box.drain();
    fillings += items.empty() ? 0 : 1;
    for (int item : items) CHECK_EQUAL(item, next++);
    if (items.empty()) std::this_thread::yield();
  }
  writer.join();
  CHECK_EQUAL(wakes, fillings);
}

}  // namespace
}  // namespace panto::test
