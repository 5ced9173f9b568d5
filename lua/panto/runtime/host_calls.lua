-- Questions to the TypeScript side. The task that asks waits for the answer; lib/lua/host-calls.ts answers.

---@return { ask: (fun(kind: string, arguments: any): any), reply: fun(answer: table) }
return function(core)
  local last_id = 0
  -- question -> resume of the task that asked
  local open = {}

  local function close(id)
    if open[id] then
      open[id] = nil
      core.asking(-1)
    end
  end

  local function ask(kind, arguments)
    last_id = last_id + 1
    local id = last_id
    local answer = core.await(function(resume)
      open[id] = resume
      core.asking(1)
      core.post("ask", { id = id, kind = kind, arguments = arguments })
      return function()
        close(id)
        core.post("withdraw", { id = id })
      end
    end)
    if answer.error then
      error(answer.error, 0)
    end
    return answer.value
  end

  -- Control function: { id, value } or { id, error }.
  local function reply(answer)
    local resume = open[answer.id]
    close(answer.id)
    if resume then
      resume(answer)
    end
  end

  return { ask = ask, reply = reply }
end
