-- panto.async: waiting inside a task. The primitives are native; see docs/concurrency.md.

---@return panto.async
return function(core)
  return {
    await = core.await,
    sleep = core.sleep,
    is_cancelled = core.is_cancel,
  }
end
