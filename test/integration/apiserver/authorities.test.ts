/** CA bundles and the serving certificate are replaced while a server runs. */
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';

const now = Date.now();
const issue = (authority: KeyCertificate) =>
  issueCertificate(authority, {
    ...{ subject: { commonName: 'a', organizations: [dialect.groups.masters] }, usages: ['client', 'server'], now },
    ips: ['127.0.0.1'],
  });

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Over a new connection; rejects if `ca` has not issued the server's certificate. */
function ask(port: number, path: string, ca: string, pair: KeyCertificate | undefined): Promise<Answer> {
  const client = pair === undefined ? {} : { cert: pair.certificate, key: pair.privateKey };
  const options = { port, host: '127.0.0.1', path, ca, agent: false, ...client };
  return new Promise((resolve, reject) => {
    request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end();
  });
}

t.test('a replaced authority', async (t) => {
  const { pki, argv } = await clusterCredentials(t, dialect, 'token,user,1\n');
  const server = await startCompleteServer(t, { dialect, argv, listens: true });
  const port = server.address?.port ?? 0;
  const old = pki.authority;
  const next = await createAuthority({ commonName: 'next', now });
  const [before, after] = [await issue(old), await issue(next)];
  const { namespaces } = dialect;
  const path = `/api/v1/namespaces/${namespaces.system}/configmaps/extension-apiserver-authentication`;
  const statuses = async (ca: string) => {
    const answers = await Promise.all([before, after].map((pair) => ask(port, path, ca, pair)));
    return answers.map(({ status }) => status);
  };
  const until = async (ca: string, expected: readonly number[]) => {
    const deadline = realClock.now() + 60_000;
    for (;;) {
      const seen = await statuses(ca).catch(() => undefined);
      if (seen?.join() === expected.join() || realClock.now() > deadline) return t.same(seen, expected);
      await realClock.sleep(50);
    }
  };
  t.same(await statuses(old.certificate), [200, 401]);

  const both = old.certificate + next.certificate;
  await writeFile(old.certificateFile ?? '', both);
  await until(old.certificate, [200, 200]);
  const published = async () => JSON.parse((await ask(port, path, both, after)).text).data['client-ca-file'];
  for (let tries = 0; (await published()) !== both && tries < 100; tries++) await realClock.sleep(50);
  t.equal(await published(), both, 'both authorities are published for extension API servers');

  // The key first: meanwhile the mismatched pair must not be served.
  const serving = await issue(next);
  await writeFile(pki.apiServer.privateKeyFile ?? '', serving.privateKey);
  t.same(await statuses(old.certificate), [200, 200]);
  await writeFile(pki.apiServer.certificateFile ?? '', serving.certificate);
  await until(next.certificate, [200, 200]);
  await writeFile(old.certificateFile ?? '', next.certificate);
  await until(next.certificate, [401, 200]);
});

t.test('AlwaysAllow admits no anonymous requests', async (t) => {
  const { pki, argv } = await clusterCredentials(t, dialect, 'token,user,1\n');
  const statuses = async (...more: readonly string[]) => {
    const server = await startCompleteServer(t, { dialect, argv: [...argv, ...more], listens: true });
    const port = server.address?.port ?? 0;
    const paths = ['/healthz', '/api/v1/namespaces'];
    const { certificate } = pki.authority;
    const answers = await Promise.all(paths.map((path) => ask(port, path, certificate, undefined)));
    return answers.map(({ status }) => status);
  };
  t.same(await statuses(), [200, 403]);
  t.same(await statuses('--authorization-mode=AlwaysAllow'), [401, 401]);
});
