import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net';
import { type ConnectionOptions, connect, createServer } from 'node:tls';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { type CertificatesByNameOptions, serveCertificatesByName } from '#daemon/serving/certificates-by-name.js';
import { pairOf, type SniCertificate } from '#daemon/serving/serving-certificate.js';
import type { KeyPair } from '#pki/keys.js';
import { createSelfSigned } from '#pki/self-signed.js';

const keyTypes: Readonly<Record<string, () => KeyPair>> = {
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
};

async function certificate(type: string, { name, explicit = false }: { name: string; explicit?: boolean }) {
  const keys = keyTypes[type]?.();
  if (keys === undefined) throw new Error(type);
  const issued = await createSelfSigned({ commonName: name, names: [name], ips: [], now: realClock.now(), keys });
  const pair = { cert: issued.certificate, key: issued.privateKey };
  return { ...pair, names: [name], explicit } satisfies SniCertificate;
}

type Settings = Partial<CertificatesByNameOptions> & { readonly own: SniCertificate };

/** A TLS server that says nothing. */
async function serve(t: Test, { own, ...options }: Settings): Promise<number> {
  const settings = { minVersion: 'TLSv1.2', ALPNProtocols: ['h2', 'http/1.1'] } as const;
  const server = createServer({ ...settings, cert: own.cert, key: own.key });
  server.on('tlsClientError', () => undefined);
  serveCertificatesByName(server, {
    hasNames: () => true,
    pairFor: () => undefined,
    settings: () => settings,
    handshakeMs: 30_000,
    clock: realClock,
    ...options,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** The common name of the certificate that a client is shown. */
async function served(port: number, options: ConnectionOptions): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
  await once(socket, 'secureConnect');
  const name = String(socket.getPeerCertificate().subject.CN).replace(/@.*/, '');
  socket.destroy();
  return name;
}

const rsa = ['rsa_pss_rsae_sha256', 'rsa_pkcs1_sha256'];
const ecdsa = ['ecdsa_secp256r1_sha256', 'ecdsa_secp384r1_sha384', 'ed25519'];
const preferences: Readonly<Record<string, ConnectionOptions>> = {
  "the client's defaults": {},
  'a client that prefers RSA': {
    sigalgs: [...rsa, ...ecdsa].join(':'),
    ciphers: 'TLS_AES_256_GCM_SHA384:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256',
  },
  'a client that prefers ECDSA': {
    sigalgs: [...ecdsa, ...rsa].join(':'),
    ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256',
  },
};

t.test('the certificate of the name is served, whatever the types of keys', async (t) => {
  const types = Object.keys(keyTypes);
  const [owns, others] = await Promise.all([
    Promise.all(types.map((type) => certificate(type, { name: 'own.test' }))),
    Promise.all(types.map((type) => certificate(type, { name: 'named.test' }))),
  ]);
  for (const [i, own] of owns.entries()) {
    for (const [j, named] of others.entries()) {
      const port = await serve(t, { own, pairFor: (greeting) => pairOf([named], greeting) });
      for (const [preference, client] of Object.entries(preferences)) {
        for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
          const ask = (servername: string) =>
            served(port, { ...client, servername, minVersion: version, maxVersion: version });
          const names = await Promise.all([ask('named.test'), ask('other.test'), ask('')]);
          t.same(names, ['named.test', 'own.test', 'own.test'], `${types[i]}, ${types[j]}, ${preference}, ${version}`);
        }
      }
    }
  }
});

t.test('a client that names no server gets the certificate of the address', async (t) => {
  const [own, named] = [await certificate('P-256', { name: 'own.test' }), await certificate('RSA', { name: 'ip' })];
  const port = await serve(t, { own, pairFor: (greeting) => pairOf([{ ...named, names: ['127.0.0.1'] }], greeting) });
  t.equal(await served(port, { servername: '' }), 'ip');
  t.equal(await served(port, { servername: 'x.test' }), 'own.test');
});

t.test('a replaced certificate serves new connections, also with other settings', async (t) => {
  const own = await certificate('P-256', { name: 'own.test' });
  let named = await certificate('RSA', { name: 'first' });
  let protocols = ['h2'];
  const port = await serve(t, {
    own,
    pairFor: () => named,
    settings: () => ({ ALPNProtocols: protocols }),
  });
  const protocol = async () => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1', 'h2'] });
    await once(socket, 'secureConnect');
    socket.destroy();
    return socket.alpnProtocol;
  };
  t.equal(await served(port, { servername: 'a.test' }), 'first');
  t.equal(await protocol(), 'h2');
  named = await certificate('Ed25519', { name: 'second' });
  protocols = ['http/1.1'];
  t.equal(await served(port, { servername: 'a.test' }), 'second');
  t.equal(await protocol(), 'http/1.1');
});

t.test('a client that sends no ClientHello is disconnected in time', async (t) => {
  const clock = new VirtualClock();
  const own = await certificate('P-256', { name: 'own.test' });
  const port = await serve(t, { own, clock });
  const socket = connectTcp(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(Buffer.from([22, 3, 1]));
  socket.resume();
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  while (clock.pendingTimers === 0) await new Promise(setImmediate);
  await clock.advance(30_001);
  await closed;
  const early = connectTcp(port, '127.0.0.1');
  early.resume();
  early.end(Buffer.from([22, 3]));
  await once(early, 'close');
  t.pass('and one that ends early');
});

t.test('a ClientHello may arrive byte by byte', async (t) => {
  const [own, named] = [await certificate('P-256', { name: 'own.test' }), await certificate('RSA', { name: 'b.test' })];
  const port = await serve(t, { own, pairFor: (greeting) => pairOf([named], greeting) });
  const relay = createTcpServer((client) => {
    const server = connectTcp({ host: '127.0.0.1', port, noDelay: true });
    client.on('data', async (bytes: Buffer) => {
      client.pause();
      for (const byte of bytes) {
        server.write(Buffer.from([byte]));
        await new Promise(setImmediate);
      }
      client.resume();
    });
    server.pipe(client);
    for (const socket of [client, server]) socket.on('error', () => undefined);
    client.on('close', () => server.destroy());
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.teardown(() => relay.close());
  const slow = (relay.address() as AddressInfo).port;
  t.equal(await served(slow, { servername: 'b.test' }), 'b.test');
  t.equal(await served(slow, { servername: 'c.test' }), 'own.test');
});

t.test('handshakes that fail are reported by the server of all names', async (t) => {
  const [own, named] = [await certificate('P-256', { name: 'own.test' }), await certificate('RSA', { name: 'b.test' })];
  const server = createServer({ cert: own.cert, key: own.key });
  serveCertificatesByName(server, {
    hasNames: () => true,
    pairFor: () => named,
    settings: () => ({}),
    handshakeMs: 30_000,
    clock: realClock,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const failed = once(server, 'tlsClientError');
  const socket = connect({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    servername: 'b.test',
    sigalgs: 'ecdsa_secp256r1_sha256',
    rejectUnauthorized: false,
  });
  socket.on('error', () => undefined);
  const [error] = (await failed) as [Error];
  t.match(error.message, /no suitable|shared/, 'the client cannot verify the key of the name');
});
