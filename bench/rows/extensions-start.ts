// What extensions cost a person who starts panto.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { interleave } from '../measure.js';
import { emptyNode, type Home, panto, timeNode, withHome } from '../processes.js';
import type { Row } from '../row.js';

const count = 50;

/** An extension of ordinary size: two tools with schemas, a command, a helper, and luv. */
function extension(index: number): string {
  const tool = (name: string) => `
    ext.register_tool {
      name = "${name}_${index}",
      description = "Counts what matches in a text, ${name} of extension ${index}.",
      schema = {
        type = "object",
        properties = {
          text = { type = "string", description = "The text to look at" },
          pattern = { type = "string", description = "A Lua pattern" },
          limit = { type = "integer", minimum = 0 },
        },
        required = { "text", "pattern" },
      },
      handler = function(input)
        return tostring(count(input.text, input.pattern, input.limit or math.huge))
      end,
    }`;
  return `local uv = require "luv"

local function count(text, pattern, limit)
  local found = 0
  for _ in text:gmatch(pattern) do
    if found >= limit then break end
    found = found + 1
  end
  return found
end

return {
  name = "bench_${index}",
  description = "Generated extension ${index}",
  activate = function(ext)
    local started = uv.now()${tool('first')}${tool('second')}
    ext.register_command {
      name = "uptime_${index}",
      description = "How long extension ${index} is active",
      handler = function() return tostring(uv.now() - started) end,
    }
  end,
}
`;
}

/** How many extensions panto says that it has loaded. */
function countLoaded(home: Home, config: string): number {
  const env = { ...home.env, XDG_CONFIG_HOME: config };
  const list = execFileSync(process.execPath, [panto, 'ext', 'list'], { cwd: home.cwd, env, encoding: 'utf8' });
  return list.split('\n').filter((line) => /^bench_\d+ .*\bloaded\b/.test(line)).length;
}

/** The configuration folder of a user who has these extensions. */
function writeConfig(home: Home, name: string, extensions: number): string {
  const config = join(home.dir, name);
  mkdirSync(join(config, 'panto/extensions'), { recursive: true });
  for (let i = 1; i <= extensions; i++) {
    writeFileSync(join(config, 'panto/extensions', `bench_${i}.lua`), extension(i));
  }
  return config;
}

export const extensionsStart: Row = {
  name: 'extensions-start',
  measures: 'What 50 extensions add to panto -p with a scripted model, from its start to its end.',
  subject: '50 extensions, less none',
  reference: 'node -e 0',
  unit: 'ms',
  limit: { of: 'ratio', bound: 'at most', value: 0.5 },
  run: (options) =>
    withHome(async (home) => {
      const script = join(home.dir, 'script.json');
      writeFileSync(script, JSON.stringify({ turns: Array.from({ length: 2 }, () => ({ text: 'Done.' })) }));
      const prompt = (config: string) => () =>
        timeNode({ ...home, env: { ...home.env, XDG_CONFIG_HOME: config } }, [
          ...[panto, '-p', 'hello', '--model', `scripted:${script}`],
        ]);
      const configs = { many: writeConfig(home, 'many', count), none: writeConfig(home, 'none', 0) };
      const loaded = countLoaded(home, configs.many);
      if (loaded !== count) throw new Error(`${loaded} of ${count} extensions were loaded`);
      const figures = await interleave(
        {
          many: prompt(configs.many),
          none: prompt(configs.none),
          reference: () => timeNode(home, emptyNode),
        },
        options,
      );
      const { many, none, reference } = figures;
      return {
        subject: many.map((taken, round) => taken - none[round]!),
        reference,
        others: { 'with 50 extensions': many, 'with none': none },
      };
    }),
};
