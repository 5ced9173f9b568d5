// The web server of scripts/demo: pages that take their time, on the loopback address only.
import { createServer } from 'node:http';

/** @returns {Promise<{ url: string, close(): void }>} GET /page/N answers after 150 to 300 ms */
export async function startSite() {
  const server = createServer((request, response) => {
    const number = Number(/^\/page\/(\d+)$/.exec(request.url)?.[1]);
    if (!number) response.writeHead(404).end('no such page');
    else setTimeout(() => response.end(`page ${number}`), 150 + ((number * 53) % 150));
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}
