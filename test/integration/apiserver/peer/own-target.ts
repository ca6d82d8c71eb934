/** The complete product as the target of cases, without a socket, over a store in memory. */
import type { Test } from 'tap';
import type { Dialect } from '#apimachinery/dialect.js';
import { startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import type { WireAnswer } from '#test/integration/apiserver/peer/answers.js';
import type { Step } from '#test/integration/apiserver/peer/case.js';
import { admin, credentialsFor } from '#test/integration/apiserver/peer/credentials.js';
import type { Target } from '#test/integration/apiserver/peer/run-cases.js';

export async function ownTarget(t: Pick<Test, 'teardown'>, dialect: Dialect): Promise<Target> {
  const server = await startCompleteServer(t, { dialect, argv: await credentialsFor(t, dialect) });
  return {
    async send({ method, path, contentType, accept, body = '' }: Step): Promise<WireAnswer> {
      const response = await server.handler({
        method,
        url: path,
        headers: {
          authorization: `Bearer ${admin.token}`,
          'user-agent': 'peer-tests',
          ...(contentType === undefined || contentType === '' ? {} : { 'content-type': contentType }),
          ...(accept === undefined ? {} : { accept }),
        },
        body: Buffer.from(body),
        remoteAddress: '127.0.0.1',
        signal: new AbortController().signal,
      });
      const parts: Buffer[] = [];
      const { headers, body: answered } = response;
      if (Buffer.isBuffer(answered)) parts.push(answered);
      else if (answered !== undefined) for await (const part of answered) parts.push(part);
      return {
        status: response.status,
        contentType: String(headers['content-type'] ?? ''),
        warnings: [headers['warning'] ?? []].flat().join('\n'),
        // For HEAD, the connection sends only the headers.
        body: method === 'HEAD' ? Buffer.alloc(0) : Buffer.concat(parts),
      };
    },
  };
}
