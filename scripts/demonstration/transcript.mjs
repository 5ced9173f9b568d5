// Shows the events of a run to a person, as they come.
const WIDTH = 100;

/** @param {(line: string) => void} print */
export function createTranscript(print) {
  let text = '';
  const inputs = new Map();
  return {
    onEvent(event) {
      if (event.type === 'delta' && event.event.type === 'text') {
        text += event.event.delta;
      } else if (event.type === 'message' && event.message.role === 'user') {
        print(`> ${event.message.content}`);
      } else if (event.type === 'message' && event.message.role === 'assistant') {
        print(`\n${text}`);
        text = '';
      } else if (event.type === 'tool_call') {
        inputs.set(event.id, JSON.stringify(event.input));
      } else if (event.type === 'tool_result') {
        const ms = Math.round(event.ended_ms - event.started_ms);
        print(clip(`  ${event.is_error ? '✗' : '✓'} ${event.name} ${inputs.get(event.id)} (${ms} ms)`));
        print(clip(`      ${firstLines(event.content)}`));
      } else if (event.type === 'notice') {
        print(`panto: ${event.level}: ${event.message}`);
      }
    },
  };
}

function firstLines(content) {
  return String(content)
    .trim()
    .split(/\s*\n\s*/)
    .slice(0, 4)
    .join(' ⏎ ');
}

function clip(line) {
  return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line;
}
