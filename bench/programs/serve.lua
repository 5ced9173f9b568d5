-- Runs a program again for each line of the standard input and prints the processor time that it took, in seconds.
-- Arguments: the program's file, its size.
local program = assert(loadfile(arg[1]))()
local size = tonumber(arg[2])
io.stdout:setvbuf("line")
for _ in io.lines() do
  collectgarbage()
  local begin = os.clock()
  program(size)
  print(os.clock() - begin)
end
