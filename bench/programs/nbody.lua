-- Float arithmetic and field access: planets that pull at one another.
local sqrt = math.sqrt

local function new_bodies()
  local bodies = {}
  for i = 1, 5 do
    bodies[i] = {
      x = i * 1.3,
      y = (i * 7 % 5) - 2.1,
      z = (i * 3 % 4) * 0.7,
      vx = 0.01 * i,
      vy = -0.02 * i,
      vz = 0.005 * i,
      mass = i == 1 and 39.5 or 0.01 / i,
    }
  end
  return bodies
end

local function advance(bodies, dt)
  for i = 1, #bodies do
    local a = bodies[i]
    for j = i + 1, #bodies do
      local b = bodies[j]
      local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
      local square = dx * dx + dy * dy + dz * dz
      local pull = dt / (square * sqrt(square))
      a.vx = a.vx - dx * b.mass * pull
      a.vy = a.vy - dy * b.mass * pull
      a.vz = a.vz - dz * b.mass * pull
      b.vx = b.vx + dx * a.mass * pull
      b.vy = b.vy + dy * a.mass * pull
      b.vz = b.vz + dz * a.mass * pull
    end
  end
  for _, body in ipairs(bodies) do
    body.x = body.x + dt * body.vx
    body.y = body.y + dt * body.vy
    body.z = body.z + dt * body.vz
  end
end

return function(size)
  local bodies = new_bodies()
  for _ = 1, size do
    advance(bodies, 0.001)
  end
  return bodies[1].x
end
