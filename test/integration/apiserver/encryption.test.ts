/** Encryption at rest over HTTP, on a real etcd whose raw bytes are checked. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';
import { type Answer, call, runServer, type StartOptions } from '#test/integration/apiserver/server.js';

const secrets = '/api/v1/namespaces/default/secrets';
const configMaps = '/api/v1/namespaces/default/configmaps';
const password = 'correct-horse-battery-staple';
const encoded = Buffer.from(password).toString('base64');
const secret = (name: string, namespace = 'default') => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  data: { password: encoded },
});
const keyOf = (letter: string) => ({ name: letter, secret: Buffer.alloc(32, letter).toString('base64') });
const provider = (type: string, ...letters: string[]) => ({ [type]: { keys: letters.map(keyOf) } });
const encrypting = (...providers: object[]): string =>
  JSON.stringify({
    apiVersion: kubernetesDialect.apiServerConfigVersion,
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers }],
  });
const identity = { identity: {} };

t.test('a real etcd', { skip: existsSync('/usr/bin/etcd') ? false : 'no etcd on this machine' }, async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const raw = connect(etcd);
  t.teardown(() => raw.close());
  const range = { start: '/registry/', end: prefixEnd('/registry/') };
  const stored = async (key: string) => {
    const { kvs } = await raw.range({ start: `/registry/${key}`, end: `/registry/${key}\0` });
    if (kvs[0] === undefined) throw new Error(`no ${key}`);
    return kvs[0];
  };
  /** Overwrites a stored value, like a failing disk or a manual change. */
  const corrupt = async (key: string, change: (bytes: Buffer) => Buffer) => {
    const { value, modRevision } = await stored(key);
    await raw.update(`/registry/${key}`, change(Buffer.from(value)), modRevision);
  };
  /** Runs `work` with a server of this configuration. */
  const serving = async (
    options: StartOptions,
    work: (ask: (method: string, path: string, body?: unknown) => Promise<Answer>) => Promise<void>,
  ) => {
    const store = connect(etcd);
    const { server, stop } = await runServer({ ...options, store });
    try {
      await work((method, path, body) => call(server, method, path, { body }));
    } finally {
      await stop();
      await store.close();
    }
  };

  await t.test('etcd contains no plain text of a secret', async (t) => {
    for (const [type, dialect] of [
      ['aescbc', kubernetesDialect],
      ['aesgcm', kubernetesDialect],
      ['secretbox', kubernetesDialect],
      ['aesgcm', orchDialect],
    ] as const) {
      const domain = dialect.apiDomain;
      const encryption = encrypting(provider(type, 'a')).replace('k8s.io', domain);
      await serving({ encryption, dialect }, async (ask) => {
        const name = `${type}-${dialect.name}`;
        t.equal((await ask('POST', secrets, secret(name))).status, 201);
        t.equal(
          (await ask('POST', configMaps, { ...secret(name), kind: 'ConfigMap', data: { plain: 'x' } })).status,
          201,
        );
        const { value } = await stored(`secrets/default/${name}`);
        const prefix = `${domain.split('.')[0]}:enc:${type}:v1:a:`;
        t.equal(value.subarray(0, prefix.length).toString('latin1'), prefix);
        t.equal((await ask('GET', `${secrets}/${name}`)).json.data.password, encoded);
        t.equal(
          (await stored(`configmaps/default/${name}`)).value[0],
          '{'.charCodeAt(0),
          'others are stored as they are',
        );
        await ask('DELETE', `${secrets}/${name}`);
      });
    }
    for (const { key, value } of (await raw.range(range)).kvs) {
      t.notOk(value.includes(password) || value.includes(encoded), key);
    }
  });

  await t.test('keys are rotated', async (t) => {
    const prefixOf = async (name: string) =>
      (await stored(`secrets/default/${name}`)).value.toString('latin1').split(':', 5).join(':');
    await serving({}, async (ask) => {
      await ask('POST', secrets, secret('plain'));
    });
    await serving({ encryption: encrypting(provider('aescbc', 'a'), identity) }, async (ask) => {
      await ask('POST', secrets, secret('old'));
      t.equal((await ask('GET', `${secrets}/plain`)).json.data.password, encoded, 'what was stored before is read');
    });
    t.equal(await prefixOf('old'), 'k8s:enc:aescbc:v1:a');
    // Every server can read the new key before one writes with it.
    await serving({ encryption: encrypting(provider('aescbc', 'a', 'b'), identity) }, async (ask) => {
      const list = await ask('GET', secrets);
      t.same(
        list.json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
        ['old', 'plain'],
      );
    });
    await serving(
      { encryption: encrypting(provider('secretbox', 'c'), provider('aescbc', 'a', 'b'), identity) },
      async (ask) => {
        for (const name of ['old', 'plain']) {
          const before = (await ask('GET', `${secrets}/${name}`)).json;
          const dry = await ask('PUT', `${secrets}/${name}?dryRun=All`, before);
          t.same([dry.status, dry.json.metadata.resourceVersion], [200, before.metadata.resourceVersion]);
          const after = (await ask('PUT', `${secrets}/${name}`, before)).json;
          t.equal(await prefixOf(name), 'k8s:enc:secretbox:v1:c', 'an update without changes encrypts again');
          t.not(after.metadata.resourceVersion, before.metadata.resourceVersion);
          const again = (await ask('PUT', `${secrets}/${name}`, after)).json;
          t.equal(again.metadata.resourceVersion, after.metadata.resourceVersion, 'a second one writes nothing');
        }
      },
    );
    await serving({ encryption: encrypting(identity, provider('secretbox', 'c')) }, async (ask) => {
      const before = (await ask('GET', `${secrets}/old`)).json;
      await ask('PUT', `${secrets}/old`, before);
      t.equal((await stored('secrets/default/old')).value[0], '{'.charCodeAt(0), 'encryption is turned off');
    });
    await serving(
      { encryption: encrypting(provider('aesgcm', 'd'), provider('secretbox', 'c'), identity) },
      async (ask) => {
        for (const name of ['old', 'plain']) {
          await ask('PUT', `${secrets}/${name}`, (await ask('GET', `${secrets}/${name}`)).json);
          t.equal(await prefixOf(name), 'k8s:enc:aesgcm:v1:d');
          await ask('DELETE', `${secrets}/${name}`);
        }
      },
    );
  });

  await t.test('an unreadable object is reported, and affects no others', async (t) => {
    const changes: Record<string, (bytes: Buffer) => Buffer> = {
      'a changed byte': (bytes) => {
        bytes[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1;
        return bytes;
      },
      'a lost end': (bytes) => bytes.subarray(0, bytes.length - 17),
      'a foreign key': () => Buffer.from('k8s:enc:aesgcm:v1:other:whatever'),
      'another value': () => Buffer.from('whatever'),
    };
    for (const type of ['aescbc', 'aesgcm', 'secretbox']) {
      for (const [what, change] of Object.entries(changes)) {
        const encryption = encrypting(provider(type, 'a'), identity);
        await serving({ encryption }, async (ask) => {
          await ask('POST', secrets, secret('bad'));
          await ask('POST', secrets, secret('good'));
          await ask('POST', '/api/v1/namespaces/other/secrets', secret('good', 'other'));
        });
        await corrupt('secrets/default/bad', change);
        await serving({ encryption }, async (ask) => {
          const label = `${type}, ${what}`;
          const refused = async (answer: Promise<Answer>, request: string) => {
            const { status, json, text } = await answer;
            t.match(
              [status, json],
              [
                500,
                {
                  kind: 'Status',
                  reason: 'InternalError',
                  message: /unable to transform key "\/registry\/secrets\/default\/bad": /,
                },
              ],
              `${label}: ${request}`,
            );
            t.notMatch(text, new RegExp(`${password}|${encoded}|whatever|${keyOf('a').secret}`));
          };
          for (const query of ['', '?resourceVersion=0', '?limit=1']) {
            await refused(ask('GET', secrets + query), `list ${query}`);
          }
          await refused(ask('GET', '/api/v1/secrets'), 'list of all');
          await refused(ask('GET', `${secrets}?labelSelector=a%3Db`), 'list by label');
          await refused(ask('GET', `${secrets}/bad`), 'get');
          await refused(ask('GET', `${secrets}/bad?resourceVersion=0`), 'get of any version');
          await refused(ask('PUT', `${secrets}/bad`, secret('bad')), 'update');
          await refused(ask('DELETE', `${secrets}/bad`), 'delete');
          await refused(ask('DELETE', secrets), 'delete of all');
          t.equal((await ask('POST', secrets, secret('bad'))).status, 409, `${label}: it exists`);
          t.equal((await ask('GET', `${secrets}/good`)).status, 200, `${label}: others are read`);
          t.equal((await ask('GET', '/api/v1/namespaces/other/secrets')).json.items.length, 1);
          const watch = await ask('GET', `${secrets}?watch=1&timeoutSeconds=1`);
          t.match(watch.text, /"type":"ERROR".*unable to transform key/, `${label}: watch`);
          const { modRevision } = await stored('secrets/default/bad');
          await raw.delete('/registry/secrets/default/bad', modRevision);
          for (const path of [`${secrets}/good`, '/api/v1/namespaces/other/secrets/good']) await ask('DELETE', path);
          t.equal((await ask('GET', secrets)).status, 200, `${label}: all is well without it`);
        });
      }
    }
  });

  await t.test('a watch ends when an object becomes unreadable', async (t) => {
    const encryption = encrypting(provider('aesgcm', 'a'));
    await serving({ encryption }, async (ask) => {
      const from = (await ask('GET', secrets)).json.metadata.resourceVersion;
      const watching = ask('GET', `${secrets}?watch=1&resourceVersion=${from}&timeoutSeconds=20`);
      await ask('POST', secrets, secret('first'));
      await corrupt('secrets/default/first', (bytes) => bytes.subarray(0, 50));
      const lines = (await watching).text.trim().split('\n');
      t.same(
        lines.map((line) => JSON.parse(line).type),
        ['ADDED', 'ERROR'],
      );
      t.match(JSON.parse(lines[1] ?? '').object, { kind: 'Status', code: 500, reason: 'InternalError' });
    });
  });
});

function connect(etcd: TestEtcd): EtcdStore {
  return new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
}
