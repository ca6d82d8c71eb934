import { createServer as createPlain, type Server } from 'node:net';
import { connect, createServer } from 'node:tls';
import t, { type Test } from 'tap';
import { reasonOf } from '#apiserver/service-routing/dial-failure.js';

async function reasonOfHandshake(t: Test, server: Server): Promise<string> {
  t.teardown(() => server.close());
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  const error = await new Promise((resolve) => socket.once('error', resolve));
  return reasonOf(error, 'there:443');
}

t.test('a failed TLS handshake has a readable message', async (t) => {
  // The server has no certificate yet.
  t.match(await reasonOfHandshake(t, createServer()), /^remote error: tls: handshake failure$/);
  const plain = createPlain((socket) => socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  t.equal(await reasonOfHandshake(t, plain), 'http: server gave HTTP response to HTTPS client');
  const text =
    'write EPROTO 80:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:../a.c:1601:SSL\n';
  t.equal(reasonOf(new Error(text), 'there:443'), 'remote error: tls: internal error');
  t.equal(
    reasonOf(new Error('80:error:1:SSL routines:f:no ciphers available:a.c:1:'), ''),
    'tls: no ciphers available',
  );
});

t.test('an invalid certificate has the message of 1.24', async (t) => {
  const of = (code: string, more: object = {}) => reasonOf(Object.assign(new Error('text'), { code, ...more }), '');
  const prefix = 'tls: failed to verify certificate: x509: ';
  t.equal(of('DEPTH_ZERO_SELF_SIGNED_CERT'), `${prefix}certificate signed by unknown authority`);
  t.equal(of('CERT_HAS_EXPIRED'), `${prefix}certificate has expired or is not yet valid`);
  const names = (host: string, subjectaltname?: string) =>
    of('ERR_TLS_CERT_ALTNAME_INVALID', { host, cert: { subjectaltname } });
  const mixed = 'DNS:a.example.com, DNS:"b,c.example.com", IP Address:10.0.0.1, IP Address:0:0:0:0:0:0:0:1';
  for (const [host, given, expected] of [
    ['d.svc', mixed, 'certificate is valid for a.example.com, b,c.example.com, not d.svc'],
    ['10.0.0.2', mixed, 'certificate is valid for 10.0.0.1, ::1, not 10.0.0.2'],
    ['10.0.0.2', 'DNS:a', "cannot validate certificate for 10.0.0.2 because it doesn't contain any IP SANs"],
    ['d.svc', 'IP Address:10.0.0.1', 'certificate is not valid for any names, but wanted to match d.svc'],
    ['d.svc', undefined, 'certificate is not valid for any names, but wanted to match d.svc'],
    ['d.svc', 'DNS:"a', 'certificate is valid for "a, not d.svc'],
  ] as const)
    t.equal(names(host, given), `${prefix}${expected}`);
  const many = Array.from({ length: 100 }, (_, i) => `DNS:n${i}`).join(', ');
  t.equal(names('d.svc', many), `${prefix}certificate is valid for 100 names, but none matched d.svc`);
});
