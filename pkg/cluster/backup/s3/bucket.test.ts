/** With a public S3 server, versitygw, where hack/build-s3.sh has built it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { RemoteBackups } from '#cluster/backup/remote-backups.js';
import { Bucket, BucketError } from '#cluster/backup/s3/bucket.js';
import { textOf, textsOf } from '#cluster/backup/s3/xml.js';
import { findProgram } from '#cluster/machine/preflight.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { freePort } from '#test/free-port.js';

t.setTimeout(60_000);

const tools = join(import.meta.dirname, '../../../../../.tools/bin');
const program = findProgram('versitygw', `${process.env['PATH']}:${tools}`);
const credentials = { accessKeyId: 'user', secretAccessKey: 'a secret' };
const fast = { ...realClock, sleep: async () => {} };

async function startGateway(t: Test): Promise<{ endpoint: string; folder: string }> {
  const folder = t.testdir({ data: { backups: {} }, files: {} });
  const port = await freePort();
  const { accessKeyId: access, secretAccessKey: secret } = credentials;
  const args = ['--access', access, '--secret', secret, '--port', `127.0.0.1:${port}`, 'posix', join(folder, 'data')];
  const gateway: ChildProcess = spawn(program ?? '', args, { stdio: 'ignore' });
  t.teardown(async () => {
    gateway.kill();
    await once(gateway, 'exit');
  });
  const endpoint = `http://127.0.0.1:${port}`;
  for (;;) {
    const isUp = await fetch(endpoint).then(
      () => true,
      () => false,
    );
    if (isUp) return { endpoint, folder };
    if (gateway.exitCode !== null) throw new Error(`versitygw ended with ${gateway.exitCode}`);
    await realClock.sleep(20);
  }
}

t.test('a bucket of a real server', { skip: program === undefined && 'no versitygw (hack/build-s3.sh)' }, async (t) => {
  const { endpoint, folder } = await startGateway(t);
  const options = {
    endpoint: new URL(endpoint),
    region: 'us-east-1',
    bucket: 'backups',
    credentials,
    clock: realClock,
  };
  const bucket = new Bucket({ ...options, partBytes: 5 * 1024 * 1024 });
  const file = (name: string, content: string | Buffer) => {
    const path = join(folder, 'files', name);
    writeFileSync(path, content);
    return path;
  };

  await t.test('files come back as they went', async (t) => {
    const large = randomBytes(12 * 1024 * 1024 + 7);
    await bucket.put("a b/c+d'(é).db", file('small', 'hello'));
    await bucket.put('large', file('large', large));
    await bucket.put('empty', file('empty', ''));
    t.same(await bucket.list(''), ["a b/c+d'(é).db", 'empty', 'large']);
    t.same(await bucket.list('a b/'), ["a b/c+d'(é).db"]);
    const back = join(folder, 'files', 'back');
    await bucket.get("a b/c+d'(é).db", back, 100);
    t.equal(readFileSync(back, 'utf8'), 'hello');
    await bucket.get('large', back, large.length);
    const hash = (content: Buffer) => createHash('sha256').update(content).digest('hex');
    t.equal(hash(readFileSync(back)), hash(large), 'also one of several parts');
    await bucket.get('empty', back, 0);
    t.equal(readFileSync(back).length, 0);
    await t.rejects(bucket.get('large', back, 1000), /large has more than 1000 bytes/);
    await bucket.remove('large');
    await bucket.remove('large');
    t.same(await bucket.list('l'), []);
  });

  await t.test('refusals have the words of the store', async (t) => {
    const missing = { status: 404, message: /NoSuchKey/ };
    await t.rejects(bucket.get('none', join(folder, 'files', 'none'), 1), missing);
    await t.rejects(new Bucket({ ...options, bucket: 'other' }).list(''), { status: 404, message: /NoSuchBucket/ });
    const wrong = new Bucket({ ...options, credentials: { ...credentials, secretAccessKey: 'b' } });
    await t.rejects(wrong.list(''), { status: 403, message: /SignatureDoesNotMatch/ });
  });

  await t.test('backups', async (t) => {
    const env = { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey };
    const values = { 's3-endpoint': endpoint, 's3-region': undefined };
    const remote = new RemoteBackups('s3://backups/team-a/', values, { env, clock: realClock });
    const folderOf = (name: string) => {
      const path = join(folder, 'files', name);
      mkdirSync(join(path, 'pki'), { recursive: true });
      const content: Record<string, string> = { 'backup.json': '{}', 'etcd.db': name, 'pki/ca.crt': 'x' };
      const sums = Object.entries(content).map(([at, text]) => {
        writeFileSync(join(path, at), text);
        return `${createHash('sha256').update(text).digest('hex')}  ${at}\n`;
      });
      writeFileSync(join(path, 'SHA256SUMS'), sums.join(''));
      return path;
    };
    const names = ['01', '02', '03'].map((day) => `orch-202601${day}T000000Z`);
    for (const name of names) t.equal(await remote.store(folderOf(name), name), `s3://backups/team-a/${name}`);
    await bucket.put('team-b/orch-20250101T000000Z/SHA256SUMS', file('sums', ''));
    await bucket.put('team-a/orch-20270101T000000Z/etcd.db', file('part', ''));
    t.same(await remote.names(), names, 'those of others, and incomplete ones, are not among them');
    const fetched = await remote.fetch(names[1] ?? '', join(folder, 'files', 'fetched'));
    t.equal(readFileSync(join(fetched, 'pki/ca.crt'), 'utf8'), 'x');
    await bucket.put(`team-a/${names[2]}/etcd.db`, file('changed', 'other'));
    const into = join(folder, 'files', 'again');
    await t.rejects(remote.fetch(names[2] ?? '', into), SetupError, 'a changed file is noticed');
    t.notOk(existsSync(join(into, names[2] ?? '')));
    await t.rejects(remote.fetch('orch-20270101T000000Z', into), /there is no backup s3:/);
    t.same(await remote.prune(2), [names[0]]);
    t.same(await remote.names(), names.slice(1));
    t.same(await bucket.list(`team-a/${names[0]}/`), []);
  });
});

t.test('a store that fails for a moment is asked again', async (t) => {
  const answers = [503, 500, 200, 403];
  const server = createServer((request, answer) => {
    request.resume();
    answer.writeHead(answers.shift() ?? 500).end('<Error><Code>SlowDown</Code><Message>a &amp; b</Message></Error>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const bucket = new Bucket({ endpoint, region: 'r', bucket: 'b', credentials, clock: fast });
  await bucket.remove('a');
  await t.rejects(bucket.remove('a'), { status: 403, message: /SlowDown: a & b/ }, 'but not after a refusal');
  await t.rejects(bucket.remove('a'), { status: 500, message: /500/ }, 'and not for ever');
  server.close();
  server.closeAllConnections();
  await t.rejects(bucket.remove('a'), BucketError);
});

t.test('addresses and credentials', async (t) => {
  const values = { 's3-endpoint': undefined, 's3-region': undefined };
  const env = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
  const of = (address: string, more: object = {}, environment: NodeJS.ProcessEnv = env) =>
    new RemoteBackups(address, { ...values, ...more }, { env: environment, clock: realClock });
  for (const address of ['s3://', 's3://UPPER', 's3://a', 'file:///a'])
    t.throws(() => of(address), /expected s3:/, address);
  t.throws(() => of('s3://bucket', { 's3-endpoint': 'minio:9000' }), /--s3-endpoint: expected https:/);
  t.throws(() => of('s3://bucket', {}, {}), /AWS_ACCESS_KEY_ID/);
  t.ok(of('s3://bucket/with/prefix/'));
});

t.test('elements of XML', async (t) => {
  t.same(textsOf('<a><Key>x&lt;&#65;&#x42;&other;</Key></a><Key>y</Key><Key>', 'Key'), ['x<AB&other;', 'y']);
  t.equal(textOf('', 'Key'), undefined);
});
