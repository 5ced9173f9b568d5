std = "lua54"
max_line_length = 120
max_comment_line_length = 140
read_globals = { "panto" }
self = false
-- The runtime's own files replace parts of the standard library.
files["lua/panto/runtime"] = {
  globals = { "panto", "require", "print", "warn", "collectgarbage", "os", "io", "debug", "package" },
}
-- Shared by the chunks of the native tests.
files["native/test"] = { allow_defined_top = true, ignore = { "111", "112", "113", "122", "131" } }
