// The test library of panto-core-test: tests register themselves, main.cc runs each in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace panto::test {

// From the command line.
struct Settings {
  double seconds = 5;  // how long stress and fuzz go on
  uint64_t seed = 1;
  std::string corpus;  // folder of JSON files that the fuzz mutates, too; may be empty
};
const Settings& settings();

// Waits and limits that are real time are this many times longer than on a plain build: sanitizers slow everything down.
int patience();

struct Test {
  std::string name;  // "group: a sentence about behaviour"
  std::function<void()> body;
};
std::vector<Test>& tests();

struct Registration {
  Registration(std::string name, std::function<void()> body) {
    tests().push_back(Test{std::move(name), std::move(body)});
  }
};

// Ends the test as failed.
[[noreturn]] void fail(const char* file, int line, const std::string& message);
// A failure that lets the test go on.
void note_failure(const char* file, int line, const std::string& message);
// A test that cannot run here says why.
void skip(const std::string& reason);

template <typename A, typename B>
std::string compare(const char* expression, const A& actual, const B& expected) {
  if (actual == expected) return {};
  std::ostringstream out;
  out << expression << "\n    is       " << actual << "\n    expected " << expected;
  return out.str();
}

}  // namespace panto::test

#define PANTO_JOIN2(a, b) a##b
#define PANTO_JOIN(a, b) PANTO_JOIN2(a, b)

#define TEST(name)                                                                                          \
  static void PANTO_JOIN(test_, __LINE__)();                                                                \
  static const panto::test::Registration PANTO_JOIN(register_, __LINE__)(name, PANTO_JOIN(test_, __LINE__)); \
  static void PANTO_JOIN(test_, __LINE__)()

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) panto::test::note_failure(__FILE__, __LINE__, #condition " is false"); \
  } while (false)

#define CHECK_EQUAL(actual, expected)                                                    \
  do {                                                                                   \
    std::string difference = panto::test::compare(#actual, (actual), (expected));        \
    if (!difference.empty()) panto::test::note_failure(__FILE__, __LINE__, difference); \
  } while (false)
