import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import {
  clusterInfoKey,
  clusterInfoSignature,
  clusterInfoSignaturePrefix,
} from '#api/core/v1/configmap/cluster-info.js';
import { newBootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { discoverCluster } from '#cluster/join/discover.js';
import { createSelfSigned } from '#pki/self-signed.js';

t.test('a hostile server of a machine that joins', async (t) => {
  const options = { commonName: 'hostile', names: ['localhost'], ips: ['127.0.0.1'], now: realClock.now() };
  const { certificate, privateKey } = await createSelfSigned(options);
  let answer: (response: ServerResponse) => void = () => undefined;
  const server = createServer({ cert: certificate, key: privateKey }, (_request, response) => answer(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const token = newBootstrapToken();
  const discover = () =>
    discoverCluster({ server: url, token, pin: `sha256:${'0'.repeat(64)}`, clock: realClock, waitMs: 0 });
  const text = (body: string) => (response: ServerResponse) => response.end(body);
  const endless = (response: ServerResponse) => {
    const part = Buffer.alloc(64 * 1024, ' ');
    const more = () => {
      while (!response.destroyed && response.write(part));
    };
    response.on('drain', more);
    more();
  };
  const rows: readonly [name: string, answer: (response: ServerResponse) => void, message: RegExp][] = [
    ['a document without end', endless, /its cluster info is larger than 262144 bytes/],
    ['a page', text('<html></html>'), /is no JSON/],
    ['a deep document', text('['.repeat(100_000) + ']'.repeat(100_000)), /has no data/],
    ['nothing', text('null'), /has no data/],
    ['values that are no text', text('{"data":{"a":1}}'), /has no data/],
    ['a status that is none', (response) => response.writeHead(503).end(), /has no cluster info \(.*: 503, .*: 503\)/],
    ['a connection that ends', (response) => response.destroy(), /cannot reach the API server/],
    ['no signature', text('{"data":{}}'), /has no signature of token/],
  ];
  for (const [name, each, message] of rows) {
    answer = each;
    await t.rejects(discover(), { name: 'DiscoveryError', message }, name);
  }
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const signed = (info: string, signature: string) => (response: ServerResponse) => {
      if (response.req.url?.includes(`/${dialect.namespaces.public}/`) !== true) return response.writeHead(404).end();
      const key = `${clusterInfoSignaturePrefix(dialect)}${token.id}`;
      return response.end(JSON.stringify({ data: { [clusterInfoKey(dialect)]: info, [key]: signature } }));
    };
    const other = clusterInfoSignature('{}', { ...token, secret: 'x'.repeat(16) });
    answer = signed('{}', other);
    await t.rejects(discover(), { message: /does not match the token/ }, `${dialect.shortName}: another token`);
    const authority = Buffer.from(certificate).toString('base64');
    const info = JSON.stringify({ clusters: [{ name: '', cluster: { 'certificate-authority-data': authority } }] });
    answer = signed(info, clusterInfoSignature(info, token));
    await t.rejects(discover(), { message: /does not match --ca-hash/ }, `${dialect.shortName}: another authority`);
  }
});
