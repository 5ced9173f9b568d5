// The reference of the batch: Lua compiled to WebAssembly, as its users call it.
import { LuaFactory } from 'wasmoon';

/** A handler (parameter: input) in wasmoon. Without proxies an object arrives as a table, which is its faster way, too. */
export async function wasmoonHandler(body: string): Promise<{ call(json: string): string; close(): void }> {
  const engine = await new LuaFactory().createEngine({ enableProxy: false });
  const handler = (await engine.doString(`return function(input) ${body} end`)) as (input: unknown) => string;
  return { call: (json) => handler(JSON.parse(json)), close: () => engine.global.close() };
}
