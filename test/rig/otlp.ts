/** A collector on loopback that takes traces as OTLP over HTTP, in JSON. */
import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

/** Answers with these, then with 200. */
export async function receiver(...answers: readonly number[]) {
  const spans: SentSpan[] = [];
  const left = [...answers];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const status = left.shift() ?? 200;
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString());
    if (status === 200) spans.push(...resourceSpans[0].scopeSpans[0].spans);
    response.writeHead(status).end('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { spans, url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}` };
}
