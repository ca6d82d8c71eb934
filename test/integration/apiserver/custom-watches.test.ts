/** Like in 1.24, watches of custom resources end when the served state of their definition changes, and at no other time. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Revision } from '#storage/store.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { definition } from '#test/integration/apiserver/recorded/step.js';
import { type Answer, call } from '#test/integration/apiserver/server.js';

const group = 'watched.example.com';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const objects = `/apis/${group}/v1/namespaces/default/birds`;
const token = 'watched';

/** Responds with a delay, like a remote store. */
class SlowStore extends MemoryStore {
  override async currentRevision(): Promise<Revision> {
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    return super.currentRevision();
  }
}

t.test('a watch lasts as long as the schema of its objects', async (t) => {
  const { argv } = await clusterCredentials(t, kubernetesDialect, `${token},admin,1,"system:masters"\n`);
  const off = ['--disable-admission-plugins', 'ServiceAccount'];
  const store = new SlowStore({ clock: realClock });
  const { server } = await startCompleteServer(t, { dialect: kubernetesDialect, argv: [...argv, ...off], store });
  const ask = (method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> =>
    call(server, method, path, {
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      ...(body === undefined ? {} : { body }),
    });
  const change = (body: object) => ask('PATCH', `${definitions}/birds.${group}`, body, 'application/merge-patch+json');
  await ask('POST', definitions, definition(group, 'birds', 'Bird', [{ schema: { type: 'object' } }]));
  while ((await ask('GET', objects)).status !== 200) await new Promise(setImmediate);
  const watching = ask('GET', `${objects}?watch=1&resourceVersion=0&timeoutSeconds=600`);
  await change({ metadata: { labels: { a: 'b' } } });
  const bird = (name: string) => ({ apiVersion: `${group}/v1`, kind: 'Bird', metadata: { name } });
  await ask('POST', objects, bird('one'));
  await change({ spec: { names: { shortNames: ['bd'] } } });
  const { status, text } = await watching;
  t.equal(status, 200);
  t.match(text, /^\{"type":"ADDED",.*"name":"one"/, 'the watch outlives an irrelevant change');
  t.notMatch(text, /"type":"ERROR"/);
  const next = ask('GET', `${objects}?watch=1&resourceVersion=0&timeoutSeconds=1`);
  t.match((await next).text, /"name":"one"/);

  // Watches opened meanwhile start, and some end at once.
  let over = false;
  const changes = (async () => {
    for (let i = 0; i < 20; i++) {
      const openAPIV3Schema = { type: 'object', properties: { [`p${i}`]: { type: 'string' } } };
      await change({ spec: { versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }] } });
    }
    over = true;
  })();
  const opened: Promise<Answer>[] = [];
  while (!over) {
    if (opened.length < 400) opened.push(ask('GET', `${objects}?watch=1&timeoutSeconds=1`));
    await new Promise(setImmediate);
  }
  await changes;
  const answers = await Promise.all(opened);
  t.same([...new Set(answers.map(({ status }) => status))], [200]);
  t.notOk(answers.some(({ text }) => text.includes('"type":"ERROR"')));
});
